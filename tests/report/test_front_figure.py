from __future__ import annotations

from gossamer.report.front_figure import draw_front


def test_the_front_says_what_it_shows(read_page):
    drawing = draw_front("mse <b>", [(100, 0.5), (200, 0.7), (400, 0.25)], [(100, 0.5), (400, 0.25)])
    assert drawing.alt == (
        "mse <b> against bytes of 3 trials; none is better and smaller than 0.5000 at 100, 0.2500 at 400."
    )
    assert ">bytes stored</text>" in drawing.svg
    assert "<b>" not in drawing.svg
    read_page(drawing.svg)


def test_one_size_is_drawn_too(read_page):
    drawing = draw_front("ndcg@100", [(100, 0.5), (100, 0.4)], [(100, 0.5)])
    read_page(drawing.svg)
    assert drawing.svg.count("<circle") >= 2 or drawing.svg.count("<path") >= 2
