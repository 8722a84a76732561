"""How long does EASE take, and how much memory, with ML-20M's 20,108 items? implicit has no EASE; irspack has."""

from __future__ import annotations

from collections.abc import Callable

from measuring import run_benchmark

from gossamer.data import Interactions

ML20M = {"num_users": 136_677, "num_items": 20_108, "nnz": 8_300_000}


def gossamer(data: Interactions) -> Callable[[], None]:
    from gossamer.models.linear import EASE

    EASE().fit(data[:50])  # compile
    return lambda: EASE(regularization=500.0).fit(data) and None


def irspack(data: Interactions) -> Callable[[], None]:
    from gossamer.runner.peers import IrspackEASE

    return lambda: IrspackEASE(reg=500.0).fit(data) and None


if __name__ == "__main__":
    run_benchmark("ease-fit", "EASE, 20,108 items: fit time", ML20M, {"gossamer": gossamer, "irspack": irspack})
