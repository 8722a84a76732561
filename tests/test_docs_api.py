"""The API reference is whole: every room, every estimator and everything at the package's door is on a page."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

import gossamer
from gossamer.models import catalogue

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "api").rglob("*.md"))
DOCUMENTED = {name for page in PAGES for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)}
# The command line has a page for people (docs/cli.md), and `--help`.
WITHOUT_PAGE = {"cli"}


def is_documented(thing: object) -> bool:
    """Say whether a class or function is on a page: itself, its module, or a package above it that offers it."""
    module, name = thing.__module__, thing.__qualname__
    packages = [package for package in DOCUMENTED if module.startswith(f"{package}.")]
    offered = any(name in getattr(importlib.import_module(package), "__all__", ()) for package in packages)
    return module in DOCUMENTED or f"{module}.{name}" in DOCUMENTED or offered


def test_every_estimator_is_in_the_reference():
    missing = {name: model.__module__ for name, model in catalogue.available().items() if not is_documented(model)}
    assert missing == {}, "add these modules to docs/api/models.md"


def test_every_room_has_a_page():
    rooms = {folder.name for folder in Path(gossamer.__file__).parent.iterdir() if (folder / "__init__.py").is_file()}
    assert rooms - {page.stem for page in PAGES} == WITHOUT_PAGE


def test_what_the_package_offers_is_in_the_reference():
    offered = [getattr(gossamer, name) for name in gossamer.__all__]
    assert [thing for thing in offered if hasattr(thing, "__qualname__") and not is_documented(thing)] == []


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_what_the_reference_names_exists(name):
    try:
        found = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a class or function: its module is what can be looked up
        module, _, attribute = name.rpartition(".")
        found = hasattr(importlib.import_module(module), attribute)
    assert found


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    docs = ROOT / "docs"
    pages = [str(page.relative_to(docs)) for page in docs.rglob("*.md")]
    assert [page for page in sorted(pages) if f": {page}\n" not in nav] == []
