from __future__ import annotations

from pathlib import Path

import pytest
from reading_samples import as_rows, write

from gossamer.data import Vocabulary
from gossamer.data.readers import read_interactions


def test_adjacency_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "train.txt", "0 5 7\n1\n2 7\n\n3 5\n")
    data = read_interactions(path, format="adjacency")
    assert as_rows(data) == {(0, 5), (0, 7), (2, 7), (3, 5)}
    known = Vocabulary([5])
    with pytest.raises(ValueError, match=r"train.txt, line 1: item must be one of the 1 known item ids, got '7'"):
        read_interactions(path, format="adjacency", item_ids=known)
    with pytest.raises(ValueError, match=r"train.txt must end in .csv"):
        read_interactions(path)
