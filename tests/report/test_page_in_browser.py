"""The page in headless Chromium: no error, no sideways scrolling on a phone, its own colours in the dark."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

from gossamer.report import Report, render

pytestmark = pytest.mark.browser

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=3000",
    "--dump-dom",
]
DARK = "--blink-settings=preferredColorScheme=0"
CONSOLE = re.compile(r"CONSOLE[:(].*")

# Chromium's window cannot be as narrow as a phone, a frame in it can.
MEASURE = """<!doctype html><iframe id="frame" style="width:{width}px;height:800px;border:0" srcdoc="{page}"></iframe>
<pre id="measured"></pre><script>
onload = () => {{
  const inside = frame.contentDocument, root = inside.documentElement, view = frame.contentWindow;
  const style = view.getComputedStyle(inside.body);
  const boxes = [...inside.querySelectorAll('.scroll')];
  measured.textContent = JSON.stringify({{
    innerWidth: view.innerWidth, scrollWidth: root.scrollWidth, background: style.backgroundColor, ink: style.color,
    axis: view.getComputedStyle(inside.querySelector('.drawings svg text')).fill,
    wideTables: boxes.filter(box => box.scrollWidth > box.clientWidth).length,
    smallestText: Math.min(...[...inside.querySelectorAll('.drawings svg text')].map(
      text => parseFloat(view.getComputedStyle(text).fontSize) * text.getScreenCTM().a)),
  }});
}};
</script>"""


def open_page(page: str, tmp_path: Path, *flags: str) -> tuple[str, list[str]]:
    """Return the page's elements after loading, and what the console said."""
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    command = ["chromium", *FLAGS, *flags, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    return done.stdout, CONSOLE.findall(done.stderr)


def measure(report: Report, width: int, tmp_path: Path, *flags: str) -> dict:
    opened = render(report).replace("<details>", "<details open>")
    dom, _ = open_page(MEASURE.format(width=width, page=html.escape(opened)), tmp_path, *flags)
    found = re.search(r'<pre id="measured">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found[1]))


def test_page_opens_without_a_word_on_the_console(report, tmp_path):
    dom, console = open_page(render(report), tmp_path)
    assert "How well it recommends" in dom
    assert console == []


def test_a_script_that_got_in_would_not_run(tmp_path):
    page = render(Report("t", "", [])).replace("</main>", "<script>document.title = 'ran'</script></main>")
    dom, console = open_page(page, tmp_path)
    assert "<title>t</title>" in dom
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_never_scrolls_sideways(report, width, tmp_path):
    measured = measure(report, width, tmp_path, f"--window-size={max(width, 500) + 40},900")
    assert measured["innerWidth"] == width
    assert measured["scrollWidth"] <= width
    assert measured["smallestText"] >= 9
    if width == 360:
        assert measured["wideTables"] > 0  # so the test has seen a table too wide for the page


def test_the_dark_page_has_dark_paper_and_light_ink_in_text_and_figures(report, tmp_path):
    (tmp_path / "light").mkdir()
    (tmp_path / "dark").mkdir()
    light = measure(report, 360, tmp_path / "light")
    dark = measure(report, 360, tmp_path / "dark", DARK)
    assert light["background"] == "rgb(252, 252, 250)"
    assert dark["background"] == "rgb(19, 23, 28)"
    assert light["axis"] == light["ink"] != dark["ink"] == dark["axis"]
