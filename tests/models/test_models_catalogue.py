from __future__ import annotations

import sys
import types

import pytest

import gossamer.models
from gossamer.models import catalogue
from gossamer.models.linear import EASE


def test_models_are_found_by_name():
    assert {"popularity", "item-knn", "ease", "slim", "als", "biased-mf"} <= set(catalogue.available())
    assert catalogue.find("ease") is EASE


def test_an_unknown_name_lists_the_names_and_the_nearest_one():
    with pytest.raises(ValueError, match=r"^model must be one of als, .*, got 'eaze'; did you mean 'ease'\?$"):
        catalogue.find("eaze")


def test_two_families_may_not_share_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path):
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "__init__.py").touch()
    twin = types.ModuleType("gossamer.models.twin")
    twin.ESTIMATORS = {"ease": int}
    monkeypatch.setitem(sys.modules, "gossamer.models.twin", twin)
    monkeypatch.setattr(gossamer.models, "__path__", [*gossamer.models.__path__, str(tmp_path)])
    catalogue.available.cache_clear()
    with pytest.raises(RuntimeError, match="'ease' names both EASE and int"):
        catalogue.available()
    catalogue.available.cache_clear()
