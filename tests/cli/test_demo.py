"""`gossamer demo`: from nothing to a report, on data that every Python has."""

from __future__ import annotations

from pathlib import Path

from command_line import Gossamer


def test_the_demo_compares_recommends_and_reports(gossamer: Gossamer) -> None:
    done = gossamer("demo", "--out", "shown")
    assert done.code == 0, done.err
    for expected in ("popularity", "item-knn", "ease", "als", "json.decoder", "http.server", "zipfile", "ndcg@100"):
        assert expected in done.out
    assert "report: shown/report.html" in done.out
    page = Path("shown/report.html").read_text(encoding="utf-8")
    assert "Recommending names to Python modules" in page
    assert "zipfile" in page
