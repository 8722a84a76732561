"""Doctests as blocks of code on the API pages: Markdown takes `>>>` for quotations and `[[0], [1]]` for links."""

from __future__ import annotations

import re
from typing import Any

import griffe

# A doctest ends at a blank line, as doctest itself has it.
DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class DoctestsAsCode(griffe.Extension):
    """Fences the doctests of every docstring."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute when it has been read."""
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
