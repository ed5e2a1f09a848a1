"""One self-contained HTML page: no network, no scripts, light and dark, readable on a phone."""

from collections.abc import Sequence
from html import escape

from settwister.files import PAGE_OF_OURS
from settwister.report.style import STYLE


def page(title: str, body: str) -> str:
    """A whole document around some sections."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{PAGE_OF_OURS.decode()}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )


def html_table(header: Sequence[str], body: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table; cells are HTML already. The first ``words`` columns hold words and stand to the left."""
    style = [' class="words"' if i < words else "" for i in range(len(header))]
    head = "".join(f'<th scope="col"{s}>{escape(cell)}</th>' for s, cell in zip(style, header, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{s}>{cell}</td>" for s, cell in zip(style, line, strict=True)) + "</tr>" for line in body
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
