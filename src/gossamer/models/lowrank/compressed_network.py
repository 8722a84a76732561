"""What estimators around a compressed network share: budgets, the call of `compress`, costs, and the way to disk."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.core.processes import process_count
from gossamer.core.randomness import derive_seed, numpy_generator
from gossamer.core.remembering import is_remembering, remembered
from gossamer.models.lowrank.admission import copy_of
from gossamer.models.lowrank.answers import Guide
from gossamer.models.lowrank.attempts import ALLOCATORS
from gossamer.models.lowrank.batches import BatchSource, counted_batch
from gossamer.models.lowrank.budget import COSTS, WHOLES, Budget
from gossamer.models.lowrank.compression import compress as compress_network
from gossamer.models.lowrank.report import CompressionReport
from gossamer.models.lowrank.search import SearchSettings
from gossamer.models.lowrank.storage import rebuilt_like_
from gossamer.models.lowrank.timing import time_models
from gossamer.models.stored_network import restore_network
from gossamer.persistence import JSON, Persistent

GUIDES = ("answers", "loss")
FINE_TUNING = ("fine_tune_epochs", "fine_tune_rate")  # settings of what follows the compression


class CompressedNetwork(Persistent, BaseEstimator, ABC):
    """A fitted network within a budget: `fit` leaves `network_`, `report_` (None while it is whole), `milliseconds_`.

    Settings that subclasses share: `macs`, `params`, `bytes`, `milliseconds` and `budget_of` are the `Budget`; `keep`,
    `only`, `allocator`, `fitted`, `refit`, `calibration_batches` are those of `compress`, `measured_rounds`,
    `iterations`, `polish` and `exact_gradients` those of its search, whose `guide` is the whole network's "answers"
    or the "loss".
    """

    network_: nn.Module
    report_: CompressionReport | None
    milliseconds_: float
    seed_: int

    @abstractmethod
    def _check_arguments(self) -> None:
        """Check all settings."""

    @abstractmethod
    def _search_batches(self, data: Any) -> Iterable[tuple[Any, Tensor]]:
        """Return training batches (inputs, target), as many as are asked for."""

    def _timed_inputs(self, data: Any) -> tuple[Any, ...] | None:
        """Return what the network is timed on; None is the first of the search's batches."""

    @abstractmethod
    def _loss(self, output: Any, target: Tensor) -> Tensor:
        """Return the mean loss of a batch."""

    def _guide(self) -> Guide | None:
        """Return what guides the search for masks: the loss, or None for the whole network's own answers."""
        return self._loss if self.guide == "loss" else None

    def _answering(self, network: nn.Module) -> nn.Module:
        """Return a network that will not be trained any more as it answers soonest."""
        return network

    @abstractmethod
    def _fine_tune(self, network: nn.Module, data: Any) -> None:
        """Train the compressed network for `fine_tune_epochs`."""

    def _options(self) -> dict[str, Any]:
        """Return what else `compress` is told."""
        return {"refit": self.refit}

    def _compressor(self) -> Callable[..., nn.Module]:
        """Return what compresses: `compress`, or a function that takes and returns the same."""
        return compress_network

    def _check_compression(self) -> None:
        for name in COSTS:
            if getattr(self, name) is not None:
                check_real(name, getattr(self, name), above=0)
        check_choice("budget_of", self.budget_of, WHOLES)
        check_choice("allocator", self.allocator, ALLOCATORS)
        check_choice("guide", self.guide, GUIDES)
        for name in ("keep", "only"):
            check_patterns(name, getattr(self, name))
        for name in ("fitted", "exact_gradients"):
            check_bool(name, getattr(self, name))
        if self.refit is not None:
            check_bool("refit", self.refit)
        for name in ("iterations", "search_rows", "calibration_batches", "epochs", "batch_size"):
            check_int(name, getattr(self, name), at_least=1)
        for name in ("measured_rounds", "polish", "fine_tune_epochs"):
            check_int(name, getattr(self, name), at_least=0)
        check_real("learning_rate", self.learning_rate, above=0)
        if self.fine_tune_rate is not None:
            check_real("fine_tune_rate", self.fine_tune_rate, above=0)
        if self.random_state is not None:
            check_int("random_state", self.random_state, at_least=0)
        if self.milliseconds is not None and process_count() > 1:  # each would measure its own, and compress otherwise
            raise ValueError(f"milliseconds must be None with several processes, got {self.milliseconds!r}")

    def _new_seed(self) -> int:
        return int(numpy_generator(self.random_state).integers(2**62))

    def _finish(self, network: nn.Module, data: Any) -> None:
        """Keep a trained network, compressed where there is a budget."""
        self.network_, self.report_ = network.eval(), None
        if any(getattr(self, name) is not None for name in COSTS):
            self.compress(data)
        else:
            batches = BatchSource(self._search_batches(data), needs_targets=True)
            self.milliseconds_ = time_models([network], counted_batch(batches, self._timed_inputs(data)))[0]
            self._prepare_stored(network)

    def compress(self, data: Any) -> Self:
        """Compress the fitted network to the budget of the settings, on batches of `data`, and fine-tune it.

        `fit` does so by itself. For a model that was fitted whole: set the budget with `set_params` and call this.
        """
        check_is_fitted(self, "network_")
        self._check_arguments()
        if self.report_ is not None:
            raise ValueError(
                "the network must be whole to be compressed, got one that is compressed already; "
                "compress the model it came from"
            )
        small = self._compressed(data)
        if self.fine_tune_epochs:
            self._fine_tune(small, data)
        small = self._answering(small)
        report: Any = small.compression_report
        self._prepare_stored(small)
        self.network_, self.report_, self.milliseconds_ = small.eval(), report, report.after["milliseconds"]
        return self

    def _compressed(self, data: Any) -> nn.Module:
        """Return the network within its budget; fits that differ in fine-tuning alone have copies of one."""
        if not is_remembering():
            return self._compress_anew(data)
        settings = {name: value for name, value in self.get_params().items() if name not in FINE_TUNING}
        network = [repr(self.network_), dict(self.network_.state_dict())]
        causes = [type(self).__name__, settings, self.seed_, network, data.fingerprint()]
        return copy_of(remembered("compressed", causes, lambda: self._compress_anew(data)))

    def _compress_anew(self, data: Any) -> nn.Module:
        budget = Budget(**{name: getattr(self, name) for name in COSTS}, of=self.budget_of)
        settings = SearchSettings(
            measured_rounds=self.measured_rounds,
            iterations=self.iterations,
            polish=self.polish,
            exact_gradients=self.exact_gradients,
            random_state=derive_seed(self.seed_, "search"),
        )
        return self._compressor()(
            self.network_,
            data=self._search_batches(data),
            budget=budget,
            loss=self._guide(),
            allocator=self.allocator,
            fitted=self.fitted,
            keep=self.keep or (),
            only=self.only,
            calibration_batches=self.calibration_batches,
            search=settings,
            example=self._timed_inputs(data),
            **self._options(),
        )

    def _costs(self) -> dict[str, float]:
        """Return what is left of the whole network's costs, and of those of the layers that may be split."""
        report = self.report_
        shares = {f"{name}_share": 1.0 if report is None else report.share(name) for name in COSTS}
        layers = {f"layers_{n}_share": 1.0 if report is None else report.layers_share(n) for n in ("macs", "params")}
        return {**shares, **layers, "milliseconds": self.milliseconds_}

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return where the budget went: the layers that cost most, dearest first."""
        check_is_fitted(self, "network_")
        if self.report_ is None:
            return {"layers": [{"layer": "model", "rank": "whole"}]}
        rows = sorted(self.report_.table()[:-1], key=lambda row: -row["macs"])
        return {"layers": rows[: check_int("n", n, at_least=1)]}

    def num_values(self) -> int:
        """Return how many parameters the network has."""
        return sum(parameter.numel() for parameter in self.network_.parameters())

    def num_bytes(self) -> int:
        """Return the bytes of the network, its statistics included."""
        return sum(tensor.nbytes for tensor in self.network_.state_dict().values())

    def _stored_report(self) -> dict[str, JSON]:
        """Return the report as JSON has it, lists for tuples, so that what is loaded equals what was saved."""
        report: JSON = None if self.report_ is None else json.loads(json.dumps(self.report_.as_json()))
        return {"report": report, "milliseconds": self.milliseconds_}

    def _take_back(self, network: nn.Module, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, JSON]) -> None:
        """Take report and weights from an artifact; `network` is whole, made anew, and split as the report says."""
        self.milliseconds_ = check_real("milliseconds", metadata["milliseconds"], at_least=0)
        stored: Any = metadata["report"]
        self.report_ = None if stored is None else CompressionReport.from_json(stored)
        if self.report_ is not None:
            network = rebuilt_like_(network, self.report_)
        self._prepare_stored(network)
        restore_network(network, arrays)
        self.network_, self.seed_ = network, self._new_seed()

    def _prepare_stored(self, network: nn.Module) -> None:
        """Take from a network what no artifact holds."""


def check_patterns(name: str, value: object) -> None:
    """Check a list of patterns of layers' names, or None.

    >>> check_patterns("keep", "head")
    Traceback (most recent call last):
    ValueError: keep must be a list of patterns of layers' names, got 'head'
    """
    if value is None:
        return
    if not isinstance(value, list | tuple) or not all(isinstance(pattern, str) for pattern in value):
        raise ValueError(f"{name} must be a list of patterns of layers' names, got {value!r}")
