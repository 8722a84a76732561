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
DOCUMENTS = ("--columns", "text=body", "--columns", "label=topic")


def classifier_with(**settings: object) -> tuple[str, ...]:
    """Return the arguments of `fit` for a small model of documents."""
    small = {"embedding_dim": 8, "ratio": 2, "num_filters": 4, "max_length": 8, "epochs": 6, "batch_size": 16}
    chosen = small | {"learning_rate": 0.02} | settings
    return ("anchor-text-classifier", *(word for name in chosen for word in ("--set", f"{name}={chosen[name]}")))
