"""Implicit ALS: factors of users and items that explain who took what, and weakly who did not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float32
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.item_ranker import ItemRanker, values_of
from gossamer.models.linear.least_squares import best_products, blas_on_one_thread, frequency_penalty, improve_rows
from gossamer.models.linear.step import ImplicitSweep, whole_data
from gossamer.persistence import JSON, check_array

NUM_ENDS = 5
# Conjugate gradients stop by themselves at single precision; a row of D unknowns needs far fewer than D steps for it.
FOLD_IN_STEPS = 50


class ALS(ItemRanker):
    """Weighted matrix factorisation by alternating least squares (Hu, Koren and Volinsky 2008; Rendle et al. 2021).

    Minimises Σ_{observed} w (1 − x_u·y_i)² + α Σ_{all} (x_u·y_i)² + Σ_u λ_u ‖x_u‖² + Σ_i λ_i ‖y_i‖², where α is
    `unobserved_weight` and λ_u = `regularization` · (|I_u| + α M)^`reg_exponent`. w is 1, or the rating if `weighted`.
    In the notation of Hu et al. this is confidence 1 + w/α, so α = 0.1 stands where others write alpha = 10.

    `solver` is "cg" (`cg_steps` steps of conjugate gradient from the last sweep's factors) or "cholesky" (exact, slower
    with many factors). With validation data, the epoch with the best NDCG@100 is kept and training stops after
    `patience` epochs without a better one. Users are not stored: their factors are solved from the history, to
    single precision, when items are recommended, which is the same for users of the training data and for new ones.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "num_factors": Integer(8, 256, log=True),
            "unobserved_weight": Real(0.005, 1, log=True),
            "regularization": Real(0.0001, 1, log=True),
        },
    )
    gram_: np.ndarray | None = None  # of the items' factors, once they stand still

    def __init__(
        self,
        *,
        num_factors: int = 64,
        unobserved_weight: float = 0.1,
        regularization: float = 0.01,
        reg_exponent: float = 1.0,
        epochs: int = 16,
        solver: str = "cg",
        cg_steps: int = 3,
        patience: int | None = None,
        weighted: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.num_factors = num_factors
        self.unobserved_weight = unobserved_weight
        self.regularization = regularization
        self.reg_exponent = reg_exponent
        self.epochs = epochs
        self.solver = solver
        self.cg_steps = cg_steps
        self.patience = patience
        self.weighted = weighted
        self.random_state = random_state

    def fit(
        self,
        data: Interactions,
        validation: HeldOut | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Sweep `epochs` times over users and items; a run that finds its `checkpoint` goes on from there."""
        from gossamer.training.loop import fit as train

        self._check_arguments()
        matrix = values_of(data, self.weighted)
        step = ImplicitSweep(
            matrix,
            num_factors=self.num_factors,
            unobserved_weight=self.unobserved_weight,
            regularization=self.regularization,
            reg_exponent=self.reg_exponent,
            cg_steps=self.cg_steps if self.solver == "cg" else None,
            generator=numpy_generator(self.random_state),
        )
        self._remember_items(data, matrix)
        self.item_factors_ = step.item_factors  # the step works in place, so validation sees the present sweep

        def validate() -> dict[str, float]:
            assert validation is not None
            self.gram_ = None
            return self.evaluate(validation)

        history = train(
            step,
            whole_data(),
            epochs=self.epochs,
            validate=None if validation is None else validate,
            monitor="loss" if validation is None else "ndcg@100",
            mode="min" if validation is None else "max",
            patience=None if validation is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description="ALS",
        )
        self.gram_ = None
        self.history_: JSON = history.as_dict()
        return self

    def _check_arguments(self) -> None:
        check_int("num_factors", self.num_factors, at_least=1)
        check_real("unobserved_weight", self.unobserved_weight, above=0)
        check_real("regularization", self.regularization, above=0)
        check_real("reg_exponent", self.reg_exponent, at_least=0)
        check_int("epochs", self.epochs, at_least=1)
        check_choice("solver", self.solver, ["cg", "cholesky"])
        check_int("cg_steps", self.cg_steps, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)

    def fold_in(self, history: Interactions) -> Float32[np.ndarray, "B D"]:
        """Return the factors of users, known or new, that fit `history` best, given the items'."""
        check_is_fitted(self, "items_")
        matrix = values_of(history.aligned_to(self.items_), self.weighted, "history")
        penalty = frequency_penalty(matrix, self.unobserved_weight, self.regularization, self.reg_exponent)
        factors = np.zeros((len(history), self.item_factors_.shape[1]), dtype=np.float32)
        if self.gram_ is None:  # made once: for a single user it would be nearly all of the work
            with blas_on_one_thread():
                self.gram_ = self.item_factors_.T @ self.item_factors_
        improve_rows(matrix, self.item_factors_, penalty, self.unobserved_weight, FOLD_IN_STEPS, factors, self.gram_)
        return factors

    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        return best_products(self.fold_in(history), self.item_factors_, n, seen)

    def item_vectors(self) -> Float32[np.ndarray, "M D"]:
        """Return the items' factors."""
        check_is_fitted(self, "items_")
        return self.item_factors_

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return the items at both ends of the n directions in which the items differ most."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        with blas_on_one_thread():
            centred = self.item_factors_ - self.item_factors_.mean(axis=0)
            variances, directions = np.linalg.eigh(centred.T @ centred)
        table = []
        for rank in range(min(n, len(variances))):
            position = centred @ directions[:, -1 - rank]
            order = np.argsort(position, kind="stable")
            table.append(
                {
                    "direction": rank + 1,
                    "share of variance": float(variances[-1 - rank] / max(variances.sum(), 1e-12)),
                    "one end": ", ".join(str(self.items_[item]) for item in order[:NUM_ENDS]),
                    "other end": ", ".join(str(self.items_[item]) for item in order[: -1 - NUM_ENDS : -1]),
                }
            )
        return {"directions in which items differ": table}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return popularity and the items' factors; users are folded in."""
        return super().learned_arrays() | {"item_factors": self.item_factors_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history."""
        check_is_fitted(self, "history_")
        return {"history": self.history_}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        super().restore(arrays, vocabularies, metadata)
        self._check_arguments()
        shape = (len(self.items_), self.num_factors)
        self.item_factors_ = check_array(arrays, "item_factors", np.float32, shape)
        self.gram_ = None
        self.history_ = metadata["history"]
