"""Every estimator keeps the contracts of gossamer.testing.contracts: a new model adds one Case."""

from __future__ import annotations

import pytest

from gossamer.models import catalogue
from gossamer.models.linear import ALS, EASE, SLIM, BiasedMF, ItemKNN, Popularity
from gossamer.testing.contracts import Case, Check, checks_for

CASES = [
    Case(Popularity(), is_personal=False),
    Case(ItemKNN(num_neighbours=5, weighting="bm25", shrinkage=0.5)),
    Case(EASE(regularization=1.0)),
    Case(SLIM(l1=0.1, l2=1.0)),
    Case(ALS(num_factors=3, epochs=5, patience=2)),
    Case(ALS(num_factors=3, epochs=5, solver="cholesky", weighted=True)),
    Case(BiasedMF(num_factors=2, epochs=5)),
]


@pytest.mark.parametrize(
    ("case", "check"),
    [
        pytest.param(case, check, id=f"{number}-{type(case.estimator).__name__}-{check.__name__}")
        for number, case in enumerate(CASES)
        for check in checks_for(case)
    ],
)
def test_contract(case: Case, check: Check):
    check(case)


def test_every_model_of_the_catalogue_has_a_case():
    assert {type(case.estimator) for case in CASES} == set(catalogue.available().values())
