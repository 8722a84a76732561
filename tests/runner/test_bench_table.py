from __future__ import annotations

import json

from gossamer.runner.bench_table import bench_table

RECORD = {
    "question": "How fast?",
    "ours": {"seconds": 2.0, "added_bytes": 3e6},
    "peers": {"other": {"seconds": 3.0, "added_bytes": 6e6}},
    "ratios": {"other": {"seconds": 1.5, "added_bytes": 2.0}},
    "repeats": 3,
    "machine": {"cores": 2},
    "versions": {"implicit": "1.0", "irspack": "2.0"},
    "commit": "0123456789abcdef",
    "dirty": False,
}


def test_ours_peers_and_ratios_stand_side_by_side(tmp_path):
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(RECORD))
    table = bench_table(path).splitlines()
    assert table[2] == "| gossamer | 2 | 3 MB |  |  |"
    assert table[3] == "| other | 3 | 6 MB | 1.50 | 2.00 |"
    assert table[-1] == "How fast?; median of 3 on 2 cores; implicit 1.0, irspack 2.0; commit 0123456789."


def test_what_was_not_run_is_said(tmp_path):
    assert bench_table(tmp_path / "fit.json") == "Not run yet: `make bench` writes fit.json."


def test_what_was_reached_stands_beside_what_it_cost(tmp_path):
    path = tmp_path / "fit.json"
    sides = {"ours": {"seconds": 2.0, "added_bytes": 3e6, "bound": -583.80175}}
    sides["peers"] = {"other": {"seconds": 3.0, "added_bytes": 6e6, "bound": -1584.0}}
    path.write_text(json.dumps({**RECORD, **sides}))
    table = bench_table(path).splitlines()
    assert table[0].endswith("| time ÷ ours | memory ÷ ours | bound |")
    assert table[2] == "| gossamer | 2 | 3 MB |  |  | -583.802 |"
    assert table[3] == "| other | 3 | 6 MB | 1.50 | 2.00 | -1,584 |"


def test_a_record_may_have_columns_and_packages_of_its_own(tmp_path):
    path = tmp_path / "step.json"
    columns = {"step_seconds": "step", "held_bytes": "held", "values": "values"}
    measured = {"step_seconds": 0.004, "held_bytes": 5e7, "values": 115_200, "added_bytes": 1.0}
    own = {"columns": columns, "packages": ["torch"], "versions": {"torch": "2.13"}}
    sides = {"ours": measured, "peers": {"other": measured}, "ratios": {"other": {"step_seconds": 1.0}}}
    path.write_text(json.dumps({**RECORD, **own, **sides}))
    table = bench_table(path).splitlines()
    assert table[0] == "| contender | step | held | values | step ÷ ours | held ÷ ours | values ÷ ours |"
    assert table[3] == "| other | 0.004 | 50 MB | 115,200 | 1.00 |  |  |"
    assert "; torch 2.13; " in table[-1]


def test_who_asked_a_server_is_named(tmp_path):
    path = tmp_path / "serving.json"
    path.write_text(json.dumps({**RECORD, "client": {"name": "wrk 4.1.0", "settings": "-t1"}}))
    assert "irspack 2.0; asked by wrk 4.1.0; commit" in bench_table(path).splitlines()[-1]
