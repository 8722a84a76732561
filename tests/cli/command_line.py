"""What the tests of all verbs share: the outcome of a command, and the columns of their file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Done(NamedTuple):
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str


Gossamer = Callable[..., Done]

COLUMNS = ("--columns", "user=userId", "--columns", "item=movieId", "--columns", "rating=stars")
