from __future__ import annotations

import pytest

from gossamer.core.processes import process_count, process_rank


def test_the_number_of_processes_is_that_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (process_count(), process_rank()) == (1, 0)
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "2")
    assert (process_count(), process_rank()) == (1, 0), "others than torchrun set these as well"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some")
    assert (process_count(), process_rank()) == (3, 2)
