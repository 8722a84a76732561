"""The wheel: what is in it, what is not, and that it works where no checkout is."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MISSING = [name for name in ("build", "hatchling") if importlib.util.find_spec(name) is None]
SMOKE = """
import sys
sys.path.insert(0, sys.argv[1])
import gossamer
from gossamer.models.linear import EASE
data = gossamer.datasets.load("stdlib-usage")[:200]
EASE(regularization=50).fit(data).save(sys.argv[2])
best = gossamer.load(sys.argv[2]).recommend(data[:3], n=4).items
from gossamer.report import Report, Section, Text, render
assert "<html" in render(Report("smoke", "smoke", [Section("smoke", [Text("smoke")])]))
print(gossamer.__file__, best.shape)
from gossamer.cli.app import main
main(["recommend", "--help"])
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"no {' and '.join(MISSING)}; pip install 'gossamer[release]'"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from the checkout with the tools that are installed, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "gossamer").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packaged = {name for name in names if name.startswith("gossamer/")}
    assert packaged == source
    assert {"gossamer/py.typed", "gossamer/report/templates/page.html", "gossamer/report/templates/style.css"} <= names
    assert "gossamer/serving/explorer/static/index.html" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"gossamer"}  # no tests, no data, no results


def test_the_metadata_say_what_is_needed(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    lines = archive.read(name).decode().splitlines()
    assert "Requires-Python: >=3.11" in lines
    assert "License-Expression: Apache-2.0" in lines
    extras = {line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")}
    assert {"tune", "export", "bench", "test"} <= extras
    (entry,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "gossamer = gossamer.cli.app:main" in archive.read(entry).decode()


def test_it_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    # -I: neither the current folder nor PYTHONPATH, where a checkout could hide.
    command = [sys.executable, "-I", "-c", SMOKE, str(unpacked), str(tmp_path / "model")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    first, *shown = done.stdout.splitlines()
    assert first == f"{unpacked / 'gossamer' / '__init__.py'} (3, 4)"
    assert "gossamer recommend" in "\n".join(shown)  # the command line, whose help needs no training
