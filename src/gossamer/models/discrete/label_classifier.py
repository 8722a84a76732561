"""SparseLabelClassifier: labels as gated draws, at most `max_active` of them (section III-C of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.base import clone
from torch import Tensor

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.core.search_space import Choice, Real, SearchSpace
from gossamer.data.arrays import LabelledArrays
from gossamer.data.share import Share
from gossamer.models.discrete.label_data import Scaler, read_inputs
from gossamer.models.discrete.label_functional import LIKELIHOODS, RELAXED
from gossamer.models.discrete.label_model import LabelModel, check_threshold
from gossamer.models.discrete.label_network import LabelNetwork, MemberLinear, take_apart_
from gossamer.models.discrete.label_thresholds import choose_thresholds
from gossamer.models.discrete.label_training import (
    LabelObjective,
    draw_folds,
    left_out_probs,
    member_probs,
    train_members,
)
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.stored_network import PREFIX, check_widths, network_arrays, restore_network, seeded_weights
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

VARIANTS = ("discriminative", "generative", "conditional")
DRAWS = ("relaxed", "straight-through")
STOPS = ("loss", "objective")
BY_CV = "cv"
TEMPERATURES = tuple(round(2.5 + 0.1 * step, 1) for step in range(11))  # the paper's
FIRST_TEMPERATURE = 3.0  # while the number of draws is chosen: what the paper ended with on all its data


class SparseLabelClassifier(LabelModel):
    """A multi-label classifier that never gives a row more than `max_active` labels (Xu et al. 2021).

    Labels are what `max_active` = L₀ draws hit, each open with probability λ(x) and then on label k with probability
    π_k(x), both by one network with `hidden_dims`, `dropout` and `input_dropout`. Hence exactly, without sampling,
    P(y_k = 1) = 1 − (1 − λπ_k)^L₀. `variant` "discriminative" is that alone. "generative" also decodes x from the draws
    and pays `generative_weight` · (½‖x − g(z)‖² + KL); in "conditional" draws may fall on `num_latent` unobserved
    features besides the labels.

    The paper does not print its likelihood of labels. `likelihood` "draws" is P(z = y) for its z = Σ ω z, "marginals"
    the product of the P(y_k) above, "relaxed" the cross-entropy with Gumbel-softmax draws at `temperature`. Draws for
    the decoder are "relaxed" or "straight-through" (`draws`); only relaxed draws have a temperature.

    Cross-validation with `num_folds` folds, `num_repeats` times, inside the training data chooses what is "cv":
    `max_active` (its candidates: the greatest number of labels of a row, and twice that; or a list of your own), then
    `temperature` (2.5 … 3.5, or a list), and `threshold`, one for all labels out of 0.05 … 0.5 ("cv-per-label": one
    each, 0.01 … 0.5), all for the `objective` "micro_f1", "macro_f1" or "mean_f1". The model is the mean of all folds'
    networks, at the epoch at which the rows left out cost least (`stop_by` "loss") or score best ("objective").
    `candidates` are further settings to choose among in the same way: dicts of arguments that replace those given here.

    Rows without labels are kept and mean that no gate is open. Columns are standardised, constant ones count as 0, and
    with `squash` asinh bends in their long tails.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "micro_f1",
        {
            "hidden_dims": Choice(([32], [64], [128])),
            "dropout": Real(0, 0.7),
            "input_dropout": Real(0, 0.5),
            "weight_decay": Real(0.01, 10, log=True),
            "learning_rate": Real(0.001, 0.05, log=True),
        },
    )

    def __init__(
        self,
        *,
        variant: str = "discriminative",
        max_active: int | str | Sequence[int] = BY_CV,
        temperature: float | str | Sequence[float] = BY_CV,
        threshold: float | str = BY_CV,
        objective: str = "micro_f1",
        likelihood: str = "draws",
        draws: str = "relaxed",
        generative_weight: float = 0.01,
        num_latent: int = 16,
        hidden_dims: Sequence[int] = (64,),
        dropout: float = 0.5,
        input_dropout: float = 0.3,
        squash: bool = True,
        weight_decay: float = 1.0,
        learning_rate: float = 0.01,
        batch_size: int = 1024,
        epochs: int = 150,
        patience: int | None = 20,
        stop_by: str = "loss",
        num_folds: int = 5,
        num_repeats: int = 3,
        candidates: Sequence[Mapping[str, Any]] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.variant = variant
        self.max_active = max_active
        self.temperature = temperature
        self.threshold = threshold
        self.objective = objective
        self.likelihood = likelihood
        self.draws = draws
        self.generative_weight = generative_weight
        self.num_latent = num_latent
        self.hidden_dims = hidden_dims
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.squash = squash
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.stop_by = stop_by
        self.num_folds = num_folds
        self.num_repeats = num_repeats
        self.candidates = candidates
        self.random_state = random_state

    def _check_arguments(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        _check_candidates("max_active", self.max_active, "an integer >= 1", lambda v: check_int("", v, at_least=1))
        _check_candidates("temperature", self.temperature, "a number > 0", lambda v: check_real("", v, above=0))
        check_threshold(self.threshold, self.objective)
        check_choice("likelihood", self.likelihood, (*LIKELIHOODS, RELAXED))
        check_choice("draws", self.draws, DRAWS)
        check_real("generative_weight", self.generative_weight, at_least=0)
        check_int("num_latent", self.num_latent, at_least=1)
        check_widths("hidden_dims", self.hidden_dims)
        check_real("dropout", self.dropout, at_least=0, below=1)
        check_real("input_dropout", self.input_dropout, at_least=0, below=1)
        check_bool("squash", self.squash)
        check_real("weight_decay", self.weight_decay, at_least=0)
        check_real("learning_rate", self.learning_rate, above=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        check_choice("stop_by", self.stop_by, STOPS)
        check_int("num_folds", self.num_folds, at_least=2)
        check_int("num_repeats", self.num_repeats, at_least=1)
        if self.random_state is not None:
            check_int("random_state", self.random_state, at_least=0)
        if self.candidates is not None:
            for settings in _check_settings(self.candidates, self.get_params(deep=False)):
                self._with(settings)._check_arguments()

    def _with(self, settings: Mapping[str, Any]) -> SparseLabelClassifier:
        """Return this classifier with other settings, and nothing learned."""
        other: SparseLabelClassifier = clone(self)
        other.set_params(**{**settings, "candidates": None})
        return other

    def fit(
        self,
        data: LabelledArrays | Share[LabelledArrays],
        y: Any = None,
        *,
        validation: LabelledArrays | Share[LabelledArrays] | None = None,
    ) -> Self:
        """Learn from LabelledArrays, or from a table `data` and a 0/1 table `y` of labels; see `LabelModel.fit`.

        Shares have the same labels on every process. Each divides its own rows into folds; thresholds are chosen by the
        probabilities of all rows, which every process is given.
        """
        from gossamer.training.sharing import rows_of

        del validation
        held, sharing = rows_of(data)
        inputs, labels = self._read(held, None if isinstance(y, Share) else y)
        sharing.check_same("labels", self.labels_)
        self.scaler_ = Scaler.fit(inputs, sharing)
        self._learn(self.scaler_(inputs), labels, sharing)
        return self

    def _learn(
        self, inputs: Float[np.ndarray, "N D"], labels: Int[np.ndarray, "N K"], sharing: Sharing | None = None
    ) -> None:
        from gossamer.training.sharing import Sharing

        shared = Sharing(is_divided=False) if sharing is None else sharing
        trials = []
        for settings in self.candidates or [{}]:
            trials += self._with(settings)._search(inputs, labels, dict(settings), shared)
        best = max(trials, key=lambda trial: trial["score"])  # among equals the first
        self.max_active_, self.temperature_ = best["max_active"], best["temperature"]
        self.network_, self.thresholds_ = best["network"], best["thresholds"]
        self.history_: JSON = best["history"]
        self.settings_: dict[str, Any] = best["settings"]
        kept = ("max_active", "temperature", "settings", "score")
        self.trials_: JSON = [{name: trial[name] for name in kept} for trial in trials]

    def _search(
        self,
        inputs: Float[np.ndarray, "N D"],
        labels: Int[np.ndarray, "N K"],
        settings: dict[str, Any],
        sharing: Sharing,
    ) -> list[dict[str, Any]]:
        """Try the numbers of draws, then the temperatures with the best of them."""
        inputs = self._squashed(inputs)
        limits, temperatures = self._limits(labels, sharing), self._temperatures()
        fewest = -int(sharing.max(np.array([-len(inputs)]))[0])  # a fold of every process must have a row
        left_out = draw_folds(len(inputs), min(self.num_folds, fewest), self.num_repeats, self.random_state)
        middle = FIRST_TEMPERATURE if FIRST_TEMPERATURE in temperatures else temperatures[len(temperatures) // 2]
        trials = [self._try(limit, middle, inputs, labels, left_out, sharing) for limit in limits]
        best = max(trials, key=lambda trial: trial["score"])
        trials += [
            self._try(best["max_active"], temperature, inputs, labels, left_out, sharing)
            for temperature in temperatures
            if temperature != middle
        ]
        return [{**trial, "settings": settings} for trial in trials]

    def _try(
        self,
        max_active: int,
        temperature: float,
        inputs: Float[np.ndarray, "N D"],
        labels: Int[np.ndarray, "N K"],
        left_out: Bool[np.ndarray, "M N"],
        sharing: Sharing,
    ) -> dict[str, Any]:
        """Train all folds with these settings and judge them by the rows they left out."""
        network = self._make_network(len(left_out), inputs.shape[1], labels.shape[1])
        objective = self._objective(max_active, temperature, labels.shape[1])
        _start_at_base_rates(network, labels, max_active, sharing)
        truth = sharing.gather(labels)

        def score(probs: np.ndarray) -> float:
            everybody = sharing.gather(probs)
            return choose_thresholds(everybody, truth, max_active, how=self.threshold, objective=self.objective)[1]

        history = train_members(
            network,
            objective,
            inputs,
            labels,
            left_out,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            batch_size=self.batch_size,
            epochs=self.epochs,
            patience=self.patience,
            random_state=self.random_state,
            score=score if self.stop_by == "objective" else None,
            sharing=sharing,
        )
        probs = sharing.gather(left_out_probs(network, objective, inputs, left_out))
        thresholds, value = choose_thresholds(probs, truth, max_active, how=self.threshold, objective=self.objective)
        return {
            "max_active": max_active,
            "temperature": temperature,
            "network": network,
            "history": history,
            "thresholds": thresholds,
            "score": value,
        }

    def _probs(self, inputs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        chosen = self._with(self.settings_)
        objective = chosen._objective(self.max_active_, self.temperature_, len(self.labels_))
        each = member_probs(self.network_, objective, torch.from_numpy(chosen._squashed(inputs)))
        return each.mean(dim=0).numpy().astype(np.float64)

    def _network_inputs(self, data: Any) -> Float[Tensor, "N D"]:
        """Return rows as the network takes them."""
        scaled = self.scaler_(read_inputs(self, data, reset=False))
        return torch.from_numpy(self._with(self.settings_)._squashed(scaled))

    def _squashed(self, inputs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        squashed: np.ndarray = np.ascontiguousarray(np.arcsinh(inputs) if self.squash else inputs)
        return squashed

    def _limits(self, labels: Int[np.ndarray, "N K"], sharing: Sharing) -> list[int]:
        num_labels = labels.shape[1]
        if self.max_active == BY_CV:
            greatest = max(1, int(sharing.max(labels.sum(axis=1).max(keepdims=True))[0]))
            return sorted({min(num_labels, limit) for limit in (greatest, 2 * greatest)})
        given = self.max_active if isinstance(self.max_active, Sequence) else [self.max_active]
        limits = [check_int("max_active", limit, at_least=1) for limit in given]
        if max(limits) > num_labels:
            raise ValueError(f"max_active must be at most {num_labels}, the number of labels, got {max(limits)}")
        return limits

    def _temperatures(self) -> list[float]:
        relaxes = self.likelihood == RELAXED or (self.variant != "discriminative" and self.draws == "relaxed")
        if self.temperature == BY_CV:
            return list(TEMPERATURES) if relaxes else [1.0]
        given = self.temperature if isinstance(self.temperature, Sequence) else [self.temperature]
        return [float(value) for value in given] if relaxes else [float(given[0])]

    @property
    def _num_unobserved(self) -> int:
        return self.num_latent if self.variant == "conditional" else 0

    def _make_network(self, num_members: int, input_dim: int, num_labels: int) -> LabelNetwork:
        with seeded_weights(self.random_state):
            return LabelNetwork(
                num_members,
                input_dim,
                num_labels,
                hidden_dims=tuple(self.hidden_dims),
                num_latent=self._num_unobserved,
                decode=self.variant != "discriminative",
                dropout=self.dropout,
                input_dropout=self.input_dropout,
            )

    def _objective(self, max_active: int, temperature: float, num_labels: int) -> LabelObjective:
        latent = SharedLatent(num_labels + self._num_unobserved, max_active)
        return LabelObjective(num_labels, latent, self.likelihood, self.draws, temperature, self.generative_weight)

    def _own_arrays(self) -> dict[str, np.ndarray]:
        return network_arrays(self.network_)

    def _own_metadata(self) -> dict[str, JSON]:
        return {
            "temperature": self.temperature_,
            "settings": self.settings_,
            "num_members": self.network_.num_members,
            "trials": self.trials_,
            "history": self.history_,
        }

    def _restore_own(self, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, JSON]) -> None:
        self.temperature_ = check_real("temperature", metadata["temperature"], above=0)
        num_members = check_int("num_members", metadata["num_members"], at_least=1)
        (self.settings_,) = _check_settings([metadata["settings"]], self.get_params(deep=False))
        chosen = self._with(self.settings_)
        chosen._check_arguments()
        self.network_ = chosen._make_network(num_members, self.n_features_in_, len(self.labels_))
        apart = {name.partition(".members.")[0].removeprefix(PREFIX) for name in arrays if ".members." in name}
        take_apart_(self.network_, apart)  # where members were split after training
        restore_network(self.network_, arrays)
        self.trials_, self.history_ = metadata["trials"], metadata["history"]


def _check_settings(candidates: Any, known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return candidates that are dicts of arguments which the classifier has."""
    if isinstance(candidates, str | Mapping) or not isinstance(candidates, Sequence) or not len(candidates):
        raise ValueError(f"candidates must be a list of dicts of arguments, got {candidates!r}")
    for settings in candidates:
        if not isinstance(settings, Mapping):
            raise ValueError(f"candidates must be dicts of arguments, got {settings!r}")
        unknown = sorted(set(settings) - (set(known) - {"candidates"}))
        if unknown:
            raise ValueError(f"candidates must have arguments of the classifier, got {unknown[0]!r}")
    return [dict(settings) for settings in candidates]


@torch.no_grad()
def _start_at_base_rates(
    network: LabelNetwork, labels: Int[np.ndarray, "N K"], max_active: int, sharing: Sharing
) -> None:
    """Let the last biases say how frequent each label is: decay pulls weights to zero, so that is where to begin."""
    num_labels = labels.shape[1]
    rates = (sharing.sum(labels.sum(axis=0)) + 0.5) / (sharing.num_rows(labels) + 1)
    last = network.encoder.layers[-1]
    assert isinstance(last, MemberLinear)
    bias = last.bias
    bias[:, 0, :num_labels] = torch.from_numpy(np.log(rates)).to(bias.dtype)
    bias[:, 0, num_labels:-1] = float(np.log(rates.mean()))
    opened = min(max(float(rates.sum()) / max_active, 0.05), 0.95)
    bias[:, 0, -1] = math.log(opened / (1 - opened))


def _check_candidates(name: str, value: Any, wanted: str, check: Callable[[object], object]) -> None:
    """Check a value, a list of values to choose from, or "cv"."""
    if isinstance(value, str) and value == BY_CV:
        return
    is_list = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    try:
        for candidate in value if is_list else [value]:
            check(candidate)
    except ValueError as error:
        raise ValueError(f"{name} must be {wanted}, a list of such, or {BY_CV!r}, got {value!r}") from error
