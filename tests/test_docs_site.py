"""The site is built without a warning where the docs extra is installed; the drawing of the house has every room."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import gossamer

ROOT = Path(__file__).parent.parent
SOURCE = Path(gossamer.__file__).parent
HAS_MKDOCS = all(importlib.util.find_spec(name) for name in ("mkdocs", "mkdocstrings"))


@pytest.mark.slow
@pytest.mark.skipif(not HAS_MKDOCS, reason="mkdocs is not installed: pip install 'gossamer[docs]'")
def test_the_site_is_built_strictly(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "families" / "linear" / "index.html").is_file()


def test_the_drawing_has_every_room_and_family():
    drawn = ElementTree.parse(ROOT / "docs" / "images" / "house.svg")
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    packages = [path.parent for home in (SOURCE, SOURCE / "models") for path in home.glob("*/__init__.py")]
    assert {package.name for package in packages} <= texts
