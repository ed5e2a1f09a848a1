"""What the documentation shows runs, and what it links to is there."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(code, str(page), "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", ["results", "nodes"])
def test_results_are_what_the_run_files_say(name: str) -> None:
    space: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / f"{name}_page.py"))
    assert (ROOT / "docs" / f"{name}.md").read_text() == space["text"](), "run make docs"


def test_the_tables_of_the_readme_are_what_the_run_files_say() -> None:
    space: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "readme_tables.py"))
    assert (ROOT / "README.md").read_text() == space["text"](), "run make docs"


def test_the_architecture_names_every_part() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    package = ROOT / "src" / "settwister"
    parts = [path.name for path in package.glob("*.py") if not path.name.startswith("__")]
    parts += [f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"]
    missing = [part for part in parts if f"`{part}`" not in text and part != "_version.py"]
    assert not missing
