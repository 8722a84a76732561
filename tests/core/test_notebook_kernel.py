"""Bars, plots and tables in a real Jupyter kernel, where nbclient and ipykernel are installed."""

from __future__ import annotations

import pytest

CELLS = (
    "import numpy as np, gossamer\n"
    "from gossamer.data import Interactions\n"
    "from gossamer.models.linear import ALS\n"
    "rng = np.random.default_rng(0)\n"
    "data = Interactions.from_pairs(rng.integers(0, 30, 200), rng.integers(0, 20, 200))\n"
    "silent = ALS(num_factors=2, epochs=2).fit(data)",
    "gossamer.switch_progress()",
    "model = ALS(num_factors=2, epochs=2).fit(data)",
    "gossamer.plots.training_curves(model)",
    "model",
)


@pytest.mark.slow
def test_bars_and_figures_in_a_real_kernel():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    shown: list[tuple[int, str]] = []

    class Listening(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if "data" in msg["content"]:
                shown.append((cell_index, msg["content"]["data"].get("text/html", "")))
            return super().process_message(msg, cell, cell_index)

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    Listening(notebook, timeout=600, kernel_name="python3").execute()
    assert not [text for cell, text in shown if cell < 2], "a library is silent unless asked"
    bars = [text for cell, text in shown if cell == 2]
    assert any("<progress" in text for text in bars)
    assert bars[-1] == "", "a bar leaves nothing behind"
    assert "<svg" in dict(shown)[3]
    assert "<table" in dict(shown)[4]
    assert [output.output_type for cell in notebook.cells for output in cell.outputs if "error" in output] == []
