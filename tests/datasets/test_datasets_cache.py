from __future__ import annotations

from pathlib import Path

from gossamer.datasets.cache import cache_directory, data_directory, search_directories


def test_the_first_variable_that_is_set_names_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GOSSAMER_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_directory() == tmp_path / ".cache" / "gossamer"
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/gossamer")
    monkeypatch.setenv("GOSSAMER_CACHE", "~/mine")
    assert cache_directory() == tmp_path / "mine"


def test_the_users_own_directory_is_searched_first(monkeypatch, tmp_path):
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GOSSAMER_DATA", raising=False)
    assert data_directory() is None
    assert search_directories() == [tmp_path / "cache"]
    monkeypatch.setenv("GOSSAMER_DATA", str(tmp_path / "data"))
    assert search_directories() == [tmp_path / "data", tmp_path / "cache"]
