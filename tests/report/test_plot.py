"""Drawings as one matplotlib figure: its parts, what a notebook shows of it, and what is refused."""

from __future__ import annotations

import re

import matplotlib
import pytest
from matplotlib.figure import Figure

from gossamer.report.blocks import Drawing
from gossamer.report.plot import Plot, plot_drawings
from gossamer.report.svg import INK, draw_svg


def drawing(title: str, height: float = 200) -> Drawing:
    return Drawing(title, draw_svg(lambda axes: axes.plot([0, 1], [0, 1]), height), f"{title} rises.")


def test_one_figure_with_a_row_per_drawing():
    plot = plot_drawings([drawing("<b>", 100), drawing("two", 300)])
    assert isinstance(plot, Figure)
    assert [axes.get_title(loc="left") for axes in plot.axes] == ["<b>", "two"]
    assert plot.get_figheight() == pytest.approx(400 / 72)
    assert plot.alt == "<b> rises. two rises."
    assert plot.get_facecolor() == (1, 1, 1, 1)


def test_a_notebook_shows_the_figure_as_it_is_now(read_page):
    plot = plot_drawings([drawing("<b>")])
    shown = plot._repr_html_()
    read_page(shown)
    assert "<b>" not in shown
    assert 'aria-label="&lt;b&gt; rises."' in shown
    assert "currentColor" in shown
    assert INK not in shown
    plot.axes[0].set_xlabel("hours of sun")
    assert "hours of sun" in plot._repr_html_()


def test_two_figures_share_no_ids_and_leave_the_settings_alone():
    before = dict(matplotlib.rcParams)
    shown = [plot_drawings([drawing(title)])._repr_html_() for title in ("one", "two")]
    ids = [set(re.findall(r'id="([^"]*)"', text)) for text in shown]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert dict(matplotlib.rcParams) == before


def test_a_figure_is_saved_like_any_other(tmp_path):
    plot = plot_drawings([drawing("one")])
    plot.savefig(tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 1000
    assert isinstance(plot, Plot)


def test_what_was_not_painted_here_is_refused():
    with pytest.raises(ValueError, match="svg must be drawn by gossamer to be had as a figure, got a str"):
        plot_drawings([Drawing("a", "<svg></svg>", "b")])
    with pytest.raises(ValueError, match="drawings must have at least one to make a figure, got none"):
        plot_drawings([])
