"""Text that a script writes into a page of the documentation, between marks that carry its name."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from gossamer.core.atomic import replacing_file

PAGE_WIDTH = 132


def write_between(page: Path, name: str, text: str) -> None:
    """Put text between `<!-- written: name -->` and `<!-- /written -->` of a page."""
    marks = re.compile(rf"(<!-- written: {re.escape(name)} -->\n).*?(<!-- /written -->)", re.DOTALL)
    after, found = marks.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page.read_text(encoding="utf-8"))
    if found != 1:
        raise SystemExit(f"{page} must have one <!-- written: {name} --> … <!-- /written -->, got {found}")
    with replacing_file(page) as temporary:
        temporary.write_text(after, encoding="utf-8")
    print(f"wrote {name} into {page}")


def in_lines(text: str) -> str:
    """Break a paragraph into lines as wide as the pages'."""
    return textwrap.fill(text, PAGE_WIDTH)
