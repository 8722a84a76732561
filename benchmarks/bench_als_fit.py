"""How long do five iterations of implicit ALS with 64 factors take on a matrix of ML-20M's shape?

Three conjugate gradient steps per row everywhere, which is what implicit and irspack do by default.
"""

from __future__ import annotations

from collections.abc import Callable

from measuring import run_benchmark

from gossamer.data import Interactions

FACTORS, ITERATIONS = 64, 5
ML20M = {"num_users": 136_677, "num_items": 20_108, "nnz": 8_300_000}


def gossamer(data: Interactions) -> Callable[[], None]:
    from gossamer.models.linear import ALS

    ALS(num_factors=FACTORS, epochs=1).fit(data[:50])  # compile
    return lambda: ALS(num_factors=FACTORS, epochs=ITERATIONS).fit(data) and None


def implicit(data: Interactions) -> Callable[[], None]:
    from gossamer.runner.peers import ImplicitALS

    ImplicitALS(factors=FACTORS, iterations=1).fit(data[:50])
    return lambda: ImplicitALS(factors=FACTORS, iterations=ITERATIONS, alpha=10.0).fit(data) and None


def irspack(data: Interactions) -> Callable[[], None]:
    from gossamer.runner.peers import IrspackIALS

    IrspackIALS(n_components=FACTORS, train_epochs=1).fit(data[:50])
    return lambda: IrspackIALS(n_components=FACTORS, train_epochs=ITERATIONS, alpha0=0.1).fit(data) and None


if __name__ == "__main__":
    contenders = {"gossamer": gossamer, "implicit": implicit, "irspack": irspack}
    run_benchmark("als-fit", "ALS, 64 factors, 5 iterations, 3 CG steps: fit time", ML20M, contenders)
