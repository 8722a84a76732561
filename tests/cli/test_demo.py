"""`gossamer demo`: from nothing to a table, a report and saved models, on data that every Python has."""

from __future__ import annotations

from pathlib import Path

from command_line import Gossamer

from gossamer import load


def test_the_demo_compares_compresses_recommends_saves_and_reports(gossamer: Gossamer) -> None:
    done = gossamer("demo", "--out", "shown", "--no-serve")
    assert done.code == 0, done.err
    for expected in ("popularity", "ease", "count-recommender", "anchor-recommender", "count-vae", "json.decoder"):
        assert expected in done.out
    for expected in ("zipfile", "ndcg@100", "ms per query", "sparse-discrete-vae-half"):
        assert expected in done.out
    assert "report: shown/report.html; models: shown/models" in done.out
    page = Path("shown/report.html").read_text(encoding="utf-8")
    assert "standard library" in page
    assert "zipfile" in page
    assert "sparse-discrete-vae-half" in page
    whole, half = (load(f"shown/models/sparse-discrete-vae{end}") for end in ("", "-half"))
    sizes = [sum(array.size for array in model.learned_arrays().values()) for model in (whole, half)]
    assert sizes[1] < 0.52 * sizes[0]
