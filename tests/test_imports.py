"""What importing costs, counted in packages and not in seconds: a heavy one that slips in is named."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.version import __version__

HEAVY = {
    *("torch", "numpy", "scipy", "sklearn", "polars", "numba", "lightning_fabric", "matplotlib", "jinja2", "rich"),
    *("typer", "pandas", "pyarrow", "optuna", "sqlalchemy", "onnx", "onnxruntime", "transformers", "IPython"),
}
# scikit-learn is the estimators' parent, and brings pandas where that is installed.
OF_ESTIMATORS = {"torch", "numpy", "scipy", "sklearn", "polars", "numba", "pandas", "pyarrow"}
# Parts that take a third of a second each and serve one start, one search or one data set.
HEAVY_PARTS = {"sklearn.cluster", "sklearn.isotonic", "gossamer.datasets.catalogue", "gossamer.data.readers"}
ROOT = Path(__file__).parent.parent


def loaded_by(code: str) -> set[str]:
    command = f"{code}\nimport sys; print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(done.stdout.split("LOADED")[1].split()) & (HEAVY | HEAVY_PARTS)


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import gossamer", set()),
        ("import gossamer; gossamer.Interactions", {"numpy", "scipy", "polars", "numba"}),
        ("import gossamer; gossamer.load", {"numpy", "scipy", "polars", "numba"}),
        ("from gossamer.models.linear import EASE", OF_ESTIMATORS),
        ("from gossamer.models.catalogue import available; available()", OF_ESTIMATORS),
        ("from gossamer.cli.app import main\ntry: main(['--help'])\nexcept SystemExit: pass", {"rich", "typer"}),
    ],
    ids=["package", "container", "load", "estimator", "catalogue", "help"],
)
def test_nothing_heavy_is_imported_that_is_not_needed(code: str, allowed: set[str]) -> None:
    assert loaded_by(code) <= allowed


def test_the_changelog_keeps_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)", heading) for heading in headings[1:])
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {"Added", "Changed", "Fixed", "Removed", "Security"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_security_says_what_is_promised_and_whom_to_tell() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert all(f"**{word}" in text for word in ("What is promised", "What is not", "Reporting"))
