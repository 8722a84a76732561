"""What benchmarks/ has written into pages from records is what it would write now: none is edited, none forgotten."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOWRANK, COMMUNITY = "docs/families/lowrank.md", "docs/families/community.md"
LEADS = ("cobla-cifar-resnet20-spatial", "cobla-answers-fitted-30", "pos-cvx-fitted-30", "test_accuracy")


@pytest.mark.parametrize(
    ("script", "page", "words"),
    [
        ("write_budget_leads", LOWRANK, ("{page}",)),
        ("write_budget_matrix", LOWRANK, ("{page}", "{matrices}")),
        ("write_seed_spread", LOWRANK, (*LEADS, "{page}")),
        ("write_seed_spread", COMMUNITY, ("bihgnn-ml1m", "bihgnn", "graphsage", "ndcg@100", "{page}")),
    ],
)
def test_pages_are_in_step_with_records(script, page, words, tmp_path, monkeypatch):
    copy = Path(shutil.copy(ROOT / page, tmp_path / "page.md"))
    before = copy.read_text()
    matrices = re.findall(r"<!-- written: (.+)-matrix -->", before)
    said = [part for word in words for part in (matrices if word == "{matrices}" else [word.format(page=copy)])]
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr("sys.argv", [script, *said])
    importlib.import_module(script).main()
    assert copy.read_text() == before, f"run python benchmarks/{script}.py for {page} again"


@pytest.mark.parametrize(("script", "table"), [("bench_compressed_time", "in_table"), ("bench_search_guide", "table")])
def test_tables_of_benchmarks_are_those_of_their_records(script, table, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    module = importlib.import_module(script)
    record = json.loads((ROOT / "results" / "bench" / f"{module.NAME}.json").read_text())
    assert getattr(module, table)(record) in (ROOT / LOWRANK).read_text()
