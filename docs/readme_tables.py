"""Writes the two tables of README.md from the run files in results/: ``make docs``."""

import runpy
from pathlib import Path

from settwister.files import new_file

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- {}: written by make docs -->", "<!-- as far as here -->"
#: the pages whose summaries stand in the README
PAGES = ("nodes", "results")


def text() -> str:
    """README.md with its tables as they are now."""
    page = README.read_text(encoding="utf-8")
    for name in PAGES:
        summary = runpy.run_path(str(Path(__file__).parent / f"{name}_page.py"))["summary"]()
        before, rest = page.split(begin := BEGIN.format(name))
        page = f"{before}{begin}\n\n{summary}\n\n{END}{rest.split(END, 1)[1]}"
    return page


if __name__ == "__main__":
    with new_file(README) as staging:
        staging.write_text(text(), encoding="utf-8")
