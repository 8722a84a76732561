"""How a search is told."""

from __future__ import annotations

from pathlib import Path

from gossamer.cli.trials import print_findings, print_trial, write_front
from gossamer.runner.tuning.front import Trial

FOUND = {
    "model": "ease",
    "metric": "ndcg@5",
    "data": {"name": "[red]x.csv"},
    "best": {"value": 0.5, "settings": {"l2": 3}},
    "front": [{"number": 1, "state": "complete", "value": 0.5, "bytes": 4000, "settings": {"l2": 3}}],
    "trials": [
        {"number": 0, "state": "failed", "settings": {"l2": -1}},
        {"number": 1, "state": "complete", "value": 0.5, "bytes": 4000, "settings": {"l2": 3}},
    ],
}


def test_every_end_of_a_trial_has_its_line(capsys) -> None:
    print_trial(Trial(0, "complete", {"l2": 1.5}, 0.25, 4000, 1.5))
    print_trial(Trial(1, "pruned", {"l2": 1.5}, 0.125))
    print_trial(Trial(2, "failed", {"l2": -1}, problem="l2 must be > 0"))
    assert capsys.readouterr().out.splitlines() == [
        "trial 0: 0.2500, 4,000 bytes, 1.5000 seconds  (l2=1.5)",
        "trial 1: given up at 0.1250  (l2=1.5)",
        "trial 2: failed: l2 must be > 0  (l2=-1)",
    ]


def test_a_setting_called_bytes_does_not_hide_the_size(capsys) -> None:
    front = [{**FOUND["front"][0], "settings": {"bytes": 0.25}}]
    print_findings(Path("study"), {**FOUND, "front": front})
    written = capsys.readouterr().out
    assert "4,000" in written
    assert "0.25" in written


def test_findings_end_with_the_next_step(capsys, tmp_path: Path) -> None:
    print_findings(Path("study"), FOUND)
    written = capsys.readouterr().out
    assert "[red]x.csv: no trial is better and smaller (1 complete, 0 pruned, 1 failed)" in written
    assert written.endswith("judge it on the test part with: gossamer reproduce study/study-best.toml\n")
    write_front(tmp_path / "front.svg", FOUND)
    assert (tmp_path / "front.svg").read_text().startswith("<svg xmlns")
