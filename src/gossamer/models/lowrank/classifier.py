"""CompressedClassifier: a network, trained here or elsewhere, compressed to a budget, as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from gossamer.core.checks import check_bool, check_choice, check_int
from gossamer.core.randomness import derive_seed
from gossamer.core.remembering import content_hash, remembered
from gossamer.core.search_space import Choice, Real, SearchSpace
from gossamer.data.arrays import LabelledArrays
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.lowrank.answers import distance_to_answers
from gossamer.models.lowrank.classifier_networks import (
    PREPARED,
    check_weights,
    drop_counters_,
    load_pretrained_,
    make_network,
)
from gossamer.models.lowrank.classifier_training import train_classifier
from gossamer.models.lowrank.compressed_network import CompressedNetwork
from gossamer.models.lowrank.fine_tuning import steady_rate
from gossamer.models.lowrank.finishing import fold_norms
from gossamer.models.lowrank.folding import LATER
from gossamer.models.lowrank.images import AUGMENTATIONS, Preparation, augment
from gossamer.models.lowrank.matrices import SCHEMES
from gossamer.models.lowrank.pruning import PRUNE, prune
from gossamer.models.stored_network import check_widths, network_arrays, seeded_weights
from gossamer.persistence import JSON, check_array, check_names

ANSWERS_KEPT = 10_000  # batches, of a few kilobytes each
ROWS_AT_ONCE = 64  # few enough for a layer's responses to stay in the cache


class CompressedClassifier(ClassifierMixin, CompressedNetwork):
    """A classifier compressed by `compress` to `macs`, `params`, `bytes` and `milliseconds`, those that are given.

    `network` is "resnet20", "resnet32", "resnet56" or "nin" for images of 3 channels, or "mlp" with `hidden_dims` for
    anything. `weights` names a data set of trained weights, such as "cifar10-resnet20"; with None the network is
    trained first, for `epochs` at `learning_rate`. Then it is split (`keep`, `only`, `allocator`, `scheme`, `fitted`,
    `refit`, `recalibrate`: see `compress`, and `prune` for scheme "prune"; `budget_of` is the `of` of `Budget`), with
    `measured_rounds`, `iterations` and `polish` of the search on batches of `search_rows`, and fine-tuned for
    `fine_tune_epochs` at `fine_tune_rate`. Milliseconds are those of `timed_rows` inputs, or of a batch of the search
    where it is None; with `fold` batch norms become part of the layers before them, after any fine-tuning. Without any
    budget the network stays whole, as a row to compare with. Images are augmented wherever the network learns or its
    statistics are taken: "full" flips and shifts them, "flip" and "none" do less, for networks that were trained so.
    Search and fine-tuning have for their `guide` the whole network's own "answers" to them, or the "loss" of the
    classes that they should have; a `fine_tune_rate` of None is 0.1 with the former and 0.01 with the latter, or what
    `steady_rate` bounds it to.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "accuracy",
        {
            "hidden_dims": Choice(([32], [64], [128])),
            "params": Real(0.1, 0.9),
            "learning_rate": Real(0.01, 0.5, log=True),
        },
    )

    def __init__(
        self,
        *,
        network: str = "mlp",
        weights: str | None = None,
        hidden_dims: Sequence[int] = (64,),
        macs: float | None = None,
        params: float | None = None,
        bytes: float | None = None,
        milliseconds: float | None = None,
        budget_of: str = "model",
        keep: Sequence[str] | None = None,
        only: Sequence[str] | None = None,
        allocator: str = "cobla",
        scheme: str = "spatial",
        fitted: bool = True,
        refit: bool | None = None,
        recalibrate: bool = True,
        measured_rounds: int = 0,
        iterations: int = 20,
        polish: int = 60,
        exact_gradients: bool = False,
        search_rows: int = 128,
        timed_rows: int | None = None,
        fold: bool = False,
        augmentation: str = "full",
        guide: str = "answers",
        calibration_batches: int = 8,
        fine_tune_epochs: int = 0,
        fine_tune_rate: float | None = None,
        epochs: int = 20,
        learning_rate: float = 0.1,
        batch_size: int = 128,
        random_state: int | None = 0,
    ) -> None:
        self.network = network
        self.weights = weights
        self.hidden_dims = hidden_dims
        self.macs = macs
        self.params = params
        self.bytes = bytes
        self.milliseconds = milliseconds
        self.budget_of = budget_of
        self.keep = keep
        self.only = only
        self.allocator = allocator
        self.scheme = scheme
        self.fitted = fitted
        self.refit = refit
        self.recalibrate = recalibrate
        self.measured_rounds = measured_rounds
        self.iterations = iterations
        self.polish = polish
        self.exact_gradients = exact_gradients
        self.search_rows = search_rows
        self.timed_rows = timed_rows
        self.fold = fold
        self.augmentation = augmentation
        self.guide = guide
        self.calibration_batches = calibration_batches
        self.fine_tune_epochs = fine_tune_epochs
        self.fine_tune_rate = fine_tune_rate
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state

    def _check_arguments(self) -> None:
        check_choice("network", self.network, PREPARED)
        check_weights(self.weights)
        check_widths("hidden_dims", self.hidden_dims)
        check_choice("scheme", self.scheme, (*SCHEMES, PRUNE))
        check_choice("augmentation", self.augmentation, AUGMENTATIONS)
        for name in ("recalibrate", "fold"):
            check_bool(name, getattr(self, name))
        if self.timed_rows is not None:
            check_int("timed_rows", self.timed_rows, at_least=1)
        self._check_compression()

    def fit(self, data: LabelledArrays, validation: LabelledArrays | None = None) -> Self:
        """Train where there are no weights, compress, and fine-tune; `validation` is not looked at."""
        del validation
        self._check_arguments()
        inputs, targets = _read(data)
        names = data.target_names or [str(number) for number in range(int(targets.max()) + 1)]
        self.classes_ = Vocabulary([str(name) for name in names])
        self.shape_ = tuple(inputs.shape[1:])
        self.preparation_ = Preparation.fit(PREPARED[self.network], inputs)
        self.seed_ = self._new_seed()
        with seeded_weights(self.random_state):
            network = make_network(self.network, self.shape_, len(self.classes_), self.hidden_dims)
        if self.weights is None:
            self._train(network, inputs, targets, self.epochs, self.learning_rate, "training")
        else:
            load_pretrained_(network, self.network, self.weights)
        self._finish(network, data)
        return self

    def _search_batches(self, data: LabelledArrays) -> Iterable[tuple[Tensor, Tensor]]:
        inputs, targets = _read(data)
        self._check_shape(inputs)
        return _AugmentedBatches(self, inputs, targets)

    def _timed_inputs(self, data: LabelledArrays) -> tuple[Tensor, ...] | None:
        return None if self.timed_rows is None else (self.preparation_(data.inputs[: self.timed_rows]),)

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(output, target)

    def _fine_tune(self, network: nn.Module, data: LabelledArrays) -> None:
        inputs, targets = _read(data)
        whole = self.network_ if self.guide == "answers" else None
        self._train(network, inputs, targets, self.fine_tune_epochs, self.fine_tune_rate, "fine-tuning", whole)

    def _options(self) -> dict[str, Any]:
        split = {} if self.scheme == PRUNE else {**super()._options(), "scheme": self.scheme}
        return {**split, "recalibrate": self.recalibrate, "fold": LATER if self.fold else False}

    def _answering(self, network: nn.Module) -> nn.Module:
        if not self.fold:
            return network
        return fold_norms(network, example=torch.zeros(2, *self.shape_))  # its shape is all that matters

    def _compressor(self) -> Callable[..., nn.Module]:
        return prune if self.scheme == PRUNE else super()._compressor()

    def _prepare_stored(self, network: nn.Module) -> None:
        drop_counters_(network)

    def _check_shape(self, inputs: np.ndarray) -> None:
        if tuple(inputs.shape[1:]) != self.shape_:
            raise ValueError(f"data must have inputs of shape {self.shape_}, got {tuple(inputs.shape[1:])}")

    def _train(
        self,
        network: nn.Module,
        inputs: np.ndarray,
        targets: np.ndarray,
        epochs: int,
        rate: float | None,
        description: str,
        whole: nn.Module | None = None,
    ) -> None:
        """Train a network by the classes of its inputs, or by the answers of the `whole` one."""
        rng = np.random.default_rng(derive_seed(self.seed_, description))
        criterion = functional.cross_entropy if whole is None else distance_to_answers
        identity = None if whole is None else content_hash(dict(whole.state_dict()))

        def collate(rows: np.ndarray) -> tuple[Tensor, Tensor]:
            batch, classes = self._batch(inputs[rows], targets[rows], rng)
            return batch, classes if whole is None else _answers(whole, identity, batch)

        batch_size = min(self.batch_size, len(inputs))
        if rate is None:
            first, classes = self._batch(inputs[:batch_size], targets[:batch_size], np.random.default_rng(self.seed_))
            target = classes if whole is None else _answers(whole, identity, first)
            rate = steady_rate(network, ((first,), target), criterion)
        seed = derive_seed(self.seed_, description, "order")
        train_classifier(
            network,
            collate,
            len(inputs),
            epochs=epochs,
            learning_rate=rate,
            batch_size=batch_size,
            random_state=seed,
            description=description,
            criterion=criterion,
        )

    def _batch(self, inputs: np.ndarray, targets: np.ndarray, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        raw = augment(inputs, rng, self.augmentation) if inputs.ndim == 4 else inputs
        return self.preparation_(raw), torch.from_numpy(targets.astype(np.int64))

    @torch.no_grad()
    def predict_proba(self, data: LabelledArrays | np.ndarray) -> Float[np.ndarray, "N K"]:
        """Return the probability of every class."""
        check_is_fitted(self, "network_")
        inputs = data.inputs if isinstance(data, LabelledArrays) else np.asarray(data)
        self._check_shape(inputs)
        pieces = [
            torch.softmax(self.network_(self.preparation_(inputs[start : start + ROWS_AT_ONCE])), dim=1)
            for start in range(0, len(inputs), ROWS_AT_ONCE)
        ]
        return torch.cat(pieces).numpy()

    def predict(self, data: LabelledArrays | np.ndarray) -> Int[np.ndarray, " N"]:
        """Return the number of the likeliest class."""
        classes: np.ndarray = self.predict_proba(data).argmax(axis=1)
        return classes

    def evaluate(self, data: LabelledArrays) -> dict[str, float]:
        """Return accuracy, and what the network costs as a share of the whole one, and in milliseconds per batch."""
        check_is_fitted(self, "network_")
        inputs, targets = _read(data)
        return {"accuracy": float((self.predict(inputs) == targets).mean()), **self._costs()}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the network's weights and the preparation of inputs."""
        check_is_fitted(self, "network_")
        whitening = self.preparation_.whitening
        found = {"mean": self.preparation_.mean, "scale": self.preparation_.scale, **network_arrays(self.network_)}
        return found if whitening is None else {**found, "whitening": whitening}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the names of the classes."""
        return {"classes": self.classes_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the shape of inputs and the compression report."""
        check_is_fitted(self, "network_")
        return {"shape": list(self.shape_), **self._stored_report()}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"classes"}, "vocabularies")
        self._check_arguments()
        self.classes_ = vocabularies["classes"]
        self.shape_ = check_widths("shape", metadata["shape"], at_least=1)
        kind, size = PREPARED[self.network], int(np.prod(self.shape_))
        mean, scale = (check_array(arrays, name, np.float32, (size,)) for name in ("mean", "scale"))
        whitening = check_array(arrays, "whitening", np.float32, (size, size)) if kind == "whitened" else None
        self.preparation_ = Preparation(kind, mean, scale, whitening)
        network = make_network(self.network, self.shape_, len(self.classes_), self.hidden_dims)
        self._take_back(network, arrays, metadata)


class _AugmentedBatches:
    """Training batches for the search, drawn anew and augmented for as long as they are asked for."""

    def __init__(self, estimator: CompressedClassifier, inputs: np.ndarray, targets: np.ndarray) -> None:
        self.estimator, self.inputs, self.targets = estimator, inputs, targets

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        estimator = self.estimator
        rng = np.random.default_rng(derive_seed(estimator.seed_, "search batches"))
        size = min(estimator.search_rows, len(self.inputs))
        while True:
            rows = rng.choice(len(self.inputs), size, replace=False)
            yield estimator._batch(self.inputs[rows], self.targets[rows], rng)


@torch.no_grad()
def _answers(whole: nn.Module, identity: str | None, batch: Tensor) -> Tensor:
    """Return what the whole network answers; budgets and allocators are tuned on the same batches with one seed."""
    answers: Tensor = remembered("answers", [identity, batch], lambda: whole(batch), capacity=ANSWERS_KEPT)
    return answers


def _read(data: object) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(data, LabelledArrays):
        raise ValueError(f"data must be LabelledArrays, got {type(data).__name__}")
    if data.targets is None or data.targets.ndim != 1:
        shape = None if data.targets is None else data.targets.shape
        raise ValueError(f"data must be LabelledArrays with one class per row, got targets of shape {shape}")
    return data.inputs, data.targets
