"""Modules of other libraries that nobody has to have, imported when they are needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def require(module: str, load: Callable[[str], Any] = importlib.import_module) -> Any:
    """Import a module of the bench extra, or say how to install it."""
    try:
        return load(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ImportError(f"{library} is not installed; install it with: pip install 'gossamer[bench]'") from error
