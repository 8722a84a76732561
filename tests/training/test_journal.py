from __future__ import annotations

import json
import math

from gossamer.training.journal import Journal


def test_rewind_drops_what_came_later_and_a_cut_line(tmp_path):
    journal = Journal(tmp_path / "a" / "log")
    journal.rewind(0, 0)
    for step in range(1, 7):
        journal.write("step", {"epoch": (step - 1) // 3, "step": step})
        if step % 3 == 0:
            journal.write("epoch", {"epoch": step // 3 - 1, "step": step})
    with journal.path.open("a") as file:
        file.write('{"kind": "step", "ep')
    journal.rewind(6, 1)  # a checkpoint after the last step of epoch 1 and before its end
    kept = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert [(line["kind"], line["step"]) for line in kept] == [
        ("step", 1),
        ("step", 2),
        ("step", 3),
        ("epoch", 3),
        ("step", 4),
        ("step", 5),
        ("step", 6),
    ]
    assert [path.name for path in journal.path.parent.iterdir()] == ["log"]


def test_values_that_are_not_finite_are_null(tmp_path):
    journal = Journal(tmp_path / "log")
    journal.write("step", {"loss": math.inf, "kl": math.nan, "mse": 1.5})
    journal.sync()
    assert json.loads(journal.path.read_text()) == {"kind": "step", "loss": None, "kl": None, "mse": 1.5}
