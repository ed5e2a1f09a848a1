"""One self-contained HTML page: no network, no scripts, light and dark, readable on a phone."""

from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark;
  --text: #1c1e21; --soft: #5f6670; --line: #d9dde3; --page: #ffffff; --shade: #f5f6f8;
  --c0: #0b62c4; --c1: #c2410c; --c2: #15803d; --c3: #7e22ce;
  --c4: #b8860b; --c5: #be185d; --c6: #0f766e; --c7: #525252; }
@media (prefers-color-scheme: dark) { :root {
  --text: #e6e8eb; --soft: #9aa3ad; --line: #3a4048; --page: #16181b; --shade: #202327;
  --c0: #6fb1ff; --c1: #ff9a66; --c2: #6fd08c; --c3: #c79bff;
  --c4: #e8c35a; --c5: #ff8fc0; --c6: #5fd3c6; --c7: #c4c4c4; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.15rem; margin-top: 2rem; }
p.note { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
.words { text-align: left; }
thead th { background: var(--shade); }
figure { margin: 1rem 0; }
figure { overflow-x: auto; }
svg { width: 100%; min-width: 30rem; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--line); }
svg polyline { fill: none; stroke-width: 1.8; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; padding: 0; margin: 0; }
ul.legend { font-size: 0.9rem; }
.key { display: inline-block; width: 1.4rem; height: 0.2rem; margin-right: 0.4rem; vertical-align: middle; }
""" + "\n".join(
    f"polyline.series-{i} {{ stroke: var(--c{i}); }} .key.series-{i} {{ background: var(--c{i}); }}" for i in range(8)
)


def page(title: str, body: str) -> str:
    """A whole document around some sections."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def html_table(header: Sequence[str], body: Sequence[Sequence[str]], words: int = 1) -> str:
    """A table; cells are HTML already. The first ``words`` columns hold words and stand to the left."""
    style = [' class="words"' if i < words else "" for i in range(len(header))]
    head = "".join(f"<th{s}>{escape(cell)}</th>" for s, cell in zip(style, header, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{s}>{cell}</td>" for s, cell in zip(style, line, strict=True)) + "</tr>" for line in body
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
