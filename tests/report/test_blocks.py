from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from gossamer.report.blocks import Facts, Figure, Fold, KeyNumbers, Section, Table, Text


@pytest.mark.parametrize(
    "block", [Text("a"), KeyNumbers({}), Facts({}), Table([]), Figure([]), Fold("a", []), Section("a", [])]
)
def test_blocks_cannot_be_changed(block):
    with pytest.raises(FrozenInstanceError):
        block.title = "other"
