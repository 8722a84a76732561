"""What a process of several does when one has failed; tests/cli/test_several.py runs two."""

from __future__ import annotations

from datetime import timedelta

import pytest
from torch.distributed import TCPStore

from gossamer.runner.together import Processes, is_first_to_fail, joined, wait_for_a_word


def test_a_process_that_is_alone_writes_waits_for_nobody_and_speaks_for_itself() -> None:
    with joined() as processes:
        assert processes == Processes()
        assert processes.is_first
        processes.wait()
    assert is_first_to_fail()


def test_the_first_to_fail_speaks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    known = {"TORCHELASTIC_RUN_ID": "some", "WORLD_SIZE": 2, "RANK": 1, "MASTER_ADDR": "127.0.0.1"}
    for name, value in {**known, "MASTER_PORT": store.port}.items():
        monkeypatch.setenv(name, str(value))
    assert [is_first_to_fail() for _ in range(3)] == [True, False, False]
    wait_for_a_word()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    monkeypatch.setattr("gossamer.runner.together.PATIENCE", timedelta(milliseconds=50))
    wait_for_a_word()  # in vain, but not for ever
    assert is_first_to_fail()


def test_another_error_than_a_lost_process_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr("gossamer.training.devices.make_fabric", lambda device: None)
    monkeypatch.setattr("torch.distributed.new_group", lambda **_: "all")
    with pytest.raises(ConnectionError, match="process 1 of 2 has lost the others"), joined():
        raise RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer")
    with joined() as processes:
        assert (processes.group, processes.is_first) == ("all", False)
    with pytest.raises(RuntimeError, match="mat1 and mat2"), joined():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
