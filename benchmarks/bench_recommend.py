"""How many users per second get their 100 best of 20,108 items from ALS with 128 factors?

Two questions in one run. *New users*: factors are solved from the history first (gossamer always does; irspack's
`get_score_cold_user`, implicit's `recalculate_user=True`). *Known users*: implicit also keeps factors of the users it
was trained on and can skip that step; it is listed as "implicit (stored users)" for whoever needs no other users.
Items the user has are left out in all cases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from measuring import run_benchmark
from scipy.sparse import csr_matrix

from gossamer.data import Interactions

FACTORS, USERS, TOP = 128, 20_000, 100
ML20M = {"num_users": 136_677, "num_items": 20_108, "nnz": 8_300_000}


def speed(answer: Callable[[], object]) -> Callable[[], dict[str, float]]:
    def timed() -> dict[str, float]:
        import time

        began = time.perf_counter()
        answer()
        return {"users_per_second": USERS / (time.perf_counter() - began)}

    return timed


def gossamer(data: Interactions) -> Callable[[], dict[str, float]]:
    from gossamer.models.linear import ALS

    model = ALS(num_factors=FACTORS, epochs=1).fit(data)
    model.recommend(data[:10], TOP)
    return speed(lambda: model.recommend(data[:USERS], TOP))


def _implicit(data: Interactions, *, stored: bool) -> Callable[[], dict[str, float]]:
    from threadpoolctl import threadpool_limits

    from gossamer.runner.peers import ImplicitALS

    model = ImplicitALS(factors=FACTORS, iterations=1, alpha=10.0).fit(data).model_
    users = np.arange(min(USERS, len(data)))
    history = csr_matrix(data[:USERS].matrix())  # implicit refuses csr_array

    def answer() -> None:
        with threadpool_limits(1, user_api="blas"):
            model.recommend(users, history, N=TOP, recalculate_user=not stored)

    model.recommend(users[:10], history[:10], N=TOP)
    return speed(answer)


def implicit(data: Interactions) -> Callable[[], dict[str, float]]:
    return _implicit(data, stored=False)


def implicit_stored(data: Interactions) -> Callable[[], dict[str, float]]:
    return _implicit(data, stored=True)


def irspack(data: Interactions) -> Callable[[], dict[str, float]]:
    from gossamer.runner.peers import IrspackIALS

    model = IrspackIALS(n_components=FACTORS, train_epochs=1, alpha0=0.1).fit(data)
    model.recommend(data[:10], TOP)
    # irspack returns whole rows of scores; the adapter's blocks and our top-n make a list of them, as its users must.
    return speed(lambda: model.recommend(data[:USERS], TOP))


if __name__ == "__main__":
    contenders = {
        "gossamer": gossamer,
        "implicit": implicit,
        "irspack": irspack,
        "implicit (stored users)": implicit_stored,
    }
    run_benchmark("recommend", "Top 100 of 20,108 items for 20,000 users, ALS, 128 factors", ML20M, contenders)
