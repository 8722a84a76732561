"""Data that processes have divided among them, as one process holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class Share(Generic[C_co]):
    """The rows that this process holds; those of all processes together are the data, and no row is held twice.

    A class of its own, so that a model that would take one process's rows for the data refuses them. `fit` of a model
    that takes shares, and its validation, is called by all processes together. Columns, such as the items of
    interactions, must be the same everywhere (`merge_ids`); a process without training rows is an error.

    >>> Share([4, 5]).rows
    [4, 5]
    """

    rows: C_co


class Gather(Protocol):
    """Returns what every process has given, in their order, on every process; all of them call it together."""

    def __call__(self, mine: T, /) -> list[T]:
        """Give `mine` to all and return everybody's."""
        ...


def alone(mine: T, /) -> list[T]:
    """Gather where there is one process only.

    >>> alone("mine")
    ['mine']
    """
    return [mine]
