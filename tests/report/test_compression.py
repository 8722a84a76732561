"""What the page says about a compressed table."""

from __future__ import annotations

import numpy as np

from gossamer.report.blocks import Figure, Table
from gossamer.report.compression import compression_section
from gossamer.report.page import Report, render
from gossamer.report.tables import show_table

SIZE = {"dense_values": 4000, "values": 200, "bytes": 1000, "ratio": 20.0}


def test_a_compressed_table_stands_beside_the_dense_one(read_page) -> None:
    section = compression_section({"ant": SIZE, "ease": {}}, {"ant": {"words": np.array([0, 1, 1, 3])}})
    assert section is not None
    table, figure = section.blocks
    assert isinstance(table, Table)
    written = [[cell.text for cell in row] for row in show_table(table).rows]
    assert written == [["ant, dense", "4,000", "15.6 KiB", "1.0 ×"], ["ant", "200", "1000 B", "20.0 ×"]]
    assert isinstance(figure, Figure)
    assert figure.drawings[0].title == "Words by entries per row"
    assert "from 0 to 3, median 1" in figure.drawings[0].alt
    read_page(render(Report("t", "", [section])))


def test_models_that_are_not_compressed_have_no_section() -> None:
    assert compression_section({"ease": {}}, {"ease": {}}) is None
    section = compression_section({"ant": SIZE}, {"ant": {}})
    assert section is not None
    assert len(section.blocks) == 1, "without entries there is nothing to draw"
