"""What README and docs show must run: every Python block of a page is executed, in order, in one namespace.

Commands are in test_docs_commands.py, the API reference in test_docs_api.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^ *```+ *(\S.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: str(page.relative_to(ROOT))
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a block may save a model
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), namespace)
    assert "__builtins__" in namespace


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_escapes(page):
    # "python" is run, "console" parsed, data are data; any other spelling would be shown and never tried.
    assert set(FENCE.findall(page.read_text())) <= {"python", "console", "json", "toml", "text"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


def test_files_that_the_walks_name_exist():
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", (ROOT / "docs" / "architecture.md").read_text()))
    places = (ROOT / "src" / "gossamer", ROOT)
    assert len(named) > 30
    assert [file for file in sorted(named) if not any((place / file).is_file() for place in places)] == []
