"""Examples in docstrings are promises: each one is run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import gossamer

MODULES = [
    module.name
    for module in pkgutil.walk_packages(gossamer.__path__, "gossamer.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
