"""Pages in a real browser: light and dark, on a desk and on a phone; nothing is cut off, overlaps or complains."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from settwister.experiments.page import table_page
from settwister.experiments.terms import Terms
from settwister.report import classifier_page
from test_report import made_up, rows_with_curves

DARK = "--blink-settings=preferredColorScheme=0"
PHONE = 390
LONG = ["Anticonstitutionnellement" * 3, "a class with a name of many words that goes on", "c", "8.1", "é & <ü>"]

# Added to a page in tests only: what it looks like, as JSON in the title of the window.
PROBE = """<script>
const report = { width: innerWidth, needed: document.documentElement.scrollWidth,
  dark: matchMedia("(prefers-color-scheme: dark)").matches, page: getComputedStyle(document.body).backgroundColor,
  overlapping: [], cut: [], smallest: 99 };
for (const svg of document.querySelectorAll("svg")) {
  const frame = svg.getBoundingClientRect();
  const scale = frame.width / svg.viewBox.baseVal.width;
  const words = [...svg.querySelectorAll("text")].map(node => ({ node, box: node.getBoundingClientRect() }));
  for (const { node, box } of words) {
    report.smallest = Math.min(report.smallest, scale * parseFloat(getComputedStyle(node).fontSize));
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
        box.bottom > frame.bottom + 1) report.cut.push(node.textContent);
  }
  // Leaning words are left out: the boxes around them overlap where they do not.
  const upright = words.filter(({ node }) => !/rotate\\(-[1-8]/.test(node.getAttribute("transform")));
  for (const [i, a] of upright.entries()) for (const b of upright.slice(i + 1))
    if (a.box.left < b.box.right - 1 && b.box.left < a.box.right - 1 &&
        a.box.top < b.box.bottom - 3 && b.box.top < a.box.bottom - 3)  // letters do not fill their lines
      report.overlapping.push(a.node.textContent + " | " + b.node.textContent);
}
parent.document.title = JSON.stringify(report);
</script>"""


@dataclass(frozen=True)
class Browser:
    """Chromium without a window, with a profile of its own."""

    program: str
    folder: Path

    def run(self, text: str, *options: str) -> subprocess.CompletedProcess[str]:
        file = self.folder / "page.html"
        file.write_text(text, encoding="utf-8")
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += ["--no-first-run", "--hide-scrollbars", "--enable-logging=stderr", *options]
        command += [f"--user-data-dir={self.folder / 'profile'}", file.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def look(self, text: str, *options: str) -> dict[str, Any]:
        """What the probe saw, and what the page wrote to the console."""
        done = self.run(text, "--dump-dom", *options)
        title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
        assert title is not None, done.stderr
        return json.loads(unescape(title[1])) | {"console": re.findall(r":CONSOLE.*", done.stderr)}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"none of {', '.join(names)} is installed")
    found = Browser(program, tmp_path_factory.mktemp("browser"))
    if "<p>it works" not in found.run("<p>it works</p>", "--dump-dom").stdout:
        pytest.skip(f"{program} is installed and does not run")
    return found


def probed(text: str) -> str:
    assert "</body>" in text
    return text.replace("</body>", f"{PROBE}</body>")


def on_a_phone(text: str) -> str:
    """A frame of a phone's width: browsers have no windows that narrow."""
    frame = f'<iframe style="border:0;width:{PHONE}px;height:9000px" srcdoc="{escape(probed(text))}"></iframe>'
    return f'<!doctype html><meta charset="utf-8"><title></title><body style="margin:0">{frame}</body>'


def fine(seen: dict[str, Any]) -> None:
    assert seen["needed"] <= seen["width"], "the page scrolls sideways"
    assert seen["overlapping"] == []
    assert seen["cut"] == []
    assert seen["smallest"] >= 9.5, "words too small to read"
    assert seen["console"] == []


def brightness(page_colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", page_colour)[:3])) / 3


def test_the_probe_sees_what_is_wrong(browser: Browser) -> None:
    text = "<text x='5' y='20'>one</text><text x='9' y='20'>two</text><text x='99' y='9'>three</text>"
    bad = f"<body><svg viewBox='0 0 100 50' width='100'>{text}</svg><p style='width:2000px'>wide</p>"
    seen = browser.look(f"{bad}<script>console.error('oh no')</script>{PROBE}</body>", "--window-size=1000,1500")
    assert seen["needed"] >= 2000
    assert seen["width"] == 1000
    assert seen["overlapping"] == ["one | two"]
    assert seen["cut"] == ["three"]
    assert "oh no" in seen["console"][0]


def test_a_classifier_in_light(browser: Browser) -> None:
    seen = browser.look(probed(classifier_page(made_up())), "--window-size=1000,5200")
    fine(seen)
    assert not seen["dark"]
    assert brightness(seen["page"]) > 200


def test_a_classifier_in_dark(browser: Browser) -> None:
    seen = browser.look(probed(classifier_page(made_up())), "--window-size=1000,5200", DARK)
    if not seen["dark"]:
        pytest.skip("this browser has no switch for dark pages")
    fine(seen)
    assert brightness(seen["page"]) < 60


@pytest.mark.parametrize(
    "text",
    [
        classifier_page(made_up()),
        classifier_page(made_up([f"class {i} of many" for i in range(40)])),
        classifier_page(made_up(LONG, test=25)),
        classifier_page(made_up(["0", "1"])),
        table_page(rows_with_curves(), Terms("quick")),
    ],
    ids=["seven classes", "forty classes", "long names and few nodes", "two classes", "a table of the paper"],
)
def test_pages_on_a_phone(browser: Browser, text: str) -> None:
    seen = browser.look(on_a_phone(text), "--window-size=600,9000")
    assert seen["width"] == PHONE
    fine(seen)


@pytest.mark.parametrize(("options", "dark"), [([], False), ([DARK], True)], ids=["light", "dark"])
def test_a_page_is_painted(browser: Browser, options: list[str], dark: bool) -> None:
    image = pytest.importorskip("matplotlib.image")
    picture = browser.folder / "picture.png"
    picture.unlink(missing_ok=True)
    done = browser.run(classifier_page(made_up()), f"--screenshot={picture}", "--window-size=1000,1400", *options)
    assert picture.is_file(), done.stderr
    pixels = image.imread(picture)[..., :3]
    assert pixels.shape == (1400, 1000, 3)
    corner, inside = pixels[2, 2].mean(), pixels[:, 100:900]
    if dark and corner > 0.5:
        pytest.skip("this browser has no switch for dark pages")
    assert (corner < 0.2) if dark else (corner > 0.9)
    assert 0.02 < (abs(inside - corner).max(-1) > 0.2).mean() < 0.5, "words and bars on an empty ground"
