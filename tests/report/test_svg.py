from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

import gossamer.report
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, short_label, write_svg

STYLE = (Path(gossamer.report.__file__).parent / "templates" / "style.css").read_text()


def paint(axes):
    axes.plot([1, 2, 3], [1, 3, 2], marker="o")
    axes.set_xlabel("<script>$x$ & 漢字")


def test_text_is_text_escaped_and_no_formula():
    assert ">&lt;script&gt;$x$ &amp; 漢字</text>" in draw_svg(paint)


def test_colours_and_fonts_come_from_the_page():
    svg = draw_svg(paint)
    assert INK not in svg
    assert "currentColor" in svg
    for foreign in ("font-family", "<style", "<metadata", "<!--", "<?xml", 'width="400', "xmlns", "#ffffff"):
        assert foreign not in svg


def test_drawing_is_the_same_every_time_and_leaves_no_trace(read_page):
    before = dict(matplotlib.rcParams)
    first = draw_svg(paint)
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30}):
        assert draw_svg(paint) == first
    assert dict(matplotlib.rcParams) == before
    read_page(first)


def test_labels_are_short_and_printable():
    assert short_label("x" * 100, 10) == "xxxxxxxxx…"
    assert short_label("a\nb\x00\ud800") == "a�b�?"


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def themes() -> list[dict[str, str]]:
    """Return the colours of the light and the dark page."""
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in (light, dark)]


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_contrast_meets_wcag_aa(theme):
    for text in ("ink", "muted", "accent", "good"):
        for paper in ("paper", "tint"):
            assert contrast(theme[text], theme[paper]) >= 4.5, (text, paper)
    for colour in SERIES_COLOURS:
        assert contrast(colour, theme["paper"]) >= 3, colour


# Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as seen without red or green cones.
PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)


@pytest.mark.parametrize("eye", [np.eye(3), PROTANOPIA, DEUTERANOPIA], ids=["typical", "protanopia", "deuteranopia"])
def test_series_are_told_apart_by_every_eye(eye):
    to_oklab = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6299]]
    to_lab = [[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    seen = [np.array(to_lab) @ np.cbrt(np.array(to_oklab) @ np.clip(eye @ linear(c), 0, 1)) for c in SERIES_COLOURS]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 0.1


def test_a_drawing_is_a_file_of_its_own(tmp_path):
    path = tmp_path / "new" / "a.svg"
    write_svg(draw_svg(lambda axes: axes.plot([1, 2])), path)
    assert ElementTree.fromstring(path.read_text(encoding="utf-8")).tag == "{http://www.w3.org/2000/svg}svg"
