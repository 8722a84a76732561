"""SparseCountRegressor: how often each class appears in an observation (section IV-C of the paper)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.search_space import Choice, Real, SearchSpace
from gossamer.core.topk import batch_rows
from gossamer.data.arrays import LabelledArrays
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.discrete.count_regressor_network import (
    ConvEncoder,
    DenseEncoder,
    count_nll,
    image_side,
    mean_counts,
)
from gossamer.models.discrete.label_data import Scaler, read_inputs
from gossamer.models.discrete.shared import SharedLatent
from gossamer.models.stored_network import check_widths, network_arrays, restore_network, seeded_weights
from gossamer.persistence import JSON, Persistent, check_array, check_names

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

ENCODERS = ("mlp", "conv")
WARM_UP = 0.1  # share of all updates in which the learning rate rises


def rate_share(update: int, num_updates: int) -> float:
    """Return the share of the learning rate at an update: a straight line up, then half a cosine down to 0.

    >>> [round(rate_share(update, 20), 2) for update in (0, 1, 2, 11, 20)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    """
    rising = max(1, round(WARM_UP * num_updates))
    if update < rising:
        return (update + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (update - rising) / max(1, num_updates - rising)))


class SparseCountRegressor(RegressorMixin, Persistent, BaseEstimator):
    """Predicts how often each of K classes appears, at most `max_active` things in all (Xu et al. 2021).

    An observation's counts are z = Σ_l ω_l z_l of L₀ = `max_active` gated draws (None: the greatest total of the
    training counts), so exactly multinomial: λ(x)·π_k(x) is the probability that a draw falls on class k. The `encoder`
    is an "mlp" with `hidden_dims` on standardised columns, or "conv" with `channels` on grey images, whose evidence is
    added up over all places and so knows no layout. Trained by the exact likelihood, without sampling. `predict`
    returns the expected counts L₀·λ·π, `predict_counts` whole numbers whose sum never exceeds `max_active`.

    With validation data the epoch with the lowest squared error is kept, and training stops after `patience` epochs
    without a lower one. Observations in which nothing appears are rows like others: all gates closed.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "mse",
        {
            "hidden_dims": Choice(([64, 32], [128, 64], [256, 128])),
            "dropout": Real(0, 0.5),
            "learning_rate": Real(0.0005, 0.01, log=True),
            "weight_decay": Real(1e-6, 1e-2, log=True),
        },
        fixed={"patience": 5},
    )

    def __init__(
        self,
        *,
        encoder: str = "mlp",
        max_active: int | None = None,
        hidden_dims: Sequence[int] = (256, 128),
        channels: Sequence[int] = (16, 32, 64, 64),
        dropout: float = 0.0,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-4,
        batch_size: int = 50,
        epochs: int = 15,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.encoder = encoder
        self.max_active = max_active
        self.hidden_dims = hidden_dims
        self.channels = channels
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: LabelledArrays | Share[LabelledArrays],
        y: Any = None,
        *,
        validation: LabelledArrays | Share[LabelledArrays] | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Learn from LabelledArrays with counts as targets, or from `data` and a table `y` of counts.

        LabelledArrays in the place of `y` are validation data; a run that finds its `checkpoint` goes on from there.
        Shares have the same classes on every process.
        """
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        if isinstance(y, LabelledArrays | Share):
            y, validation = None, validation or y
        held, sharing = rows_of(data)
        shape = np.shape(held.inputs if isinstance(held, LabelledArrays) else held)[1:]
        inputs = read_inputs(self, _flat(held), reset=True)
        counts, self.classes_names_ = _read_counts(held, y, len(inputs))
        sharing.check_same("classes", self.classes_names_)
        self.image_shape_ = image_side(shape) if self.encoder == "conv" else None
        self.max_active_ = self._limit(counts, sharing)
        self.scaler_ = self._fit_scaler(inputs, sharing)
        self.network_ = self._make_network(counts.shape[1])
        self._train(inputs, counts, sharing, validation, checkpoint, log)
        return self

    def _train(
        self,
        inputs: Float[np.ndarray, "N D"],
        counts: Int[np.ndarray, "N K"],
        sharing: Sharing,
        validation: LabelledArrays | Share[LabelledArrays] | None,
        checkpoint: Path | None,
        log: Path | None,
    ) -> None:
        from gossamer.training.devices import process_count
        from gossamer.training.loop import fit as train
        from gossamer.training.sharing import rows_of
        from gossamer.training.step import GradientStep

        x, y = torch.from_numpy(self.scaler_(inputs)), torch.from_numpy(counts.astype(np.float32))

        def loss(module: nn.Module, rows: Tensor, generator: torch.Generator) -> Tensor:
            del generator  # nothing is drawn
            return count_nll(module(x[rows]), y[rows], self.max_active_).mean()

        batches = sharing.batches(torch.from_numpy, len(x), self.batch_size, self.random_state)
        watched, watching = rows_of(validation)
        optimiser = torch.optim.AdamW(self.network_.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        total = self.epochs * batches.count(process_count())
        # Down to nothing: the last epochs polish, and the rate at the start matters less.
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: rate_share(update, total))
        history = train(
            GradientStep(self.network_, loss, optimiser, scheduler=scheduler, random_state=self.random_state),
            batches,
            epochs=self.epochs,
            validate=None if watched is None else lambda: watching.measure(self._valid_mse, watched, len(watched)),
            monitor="loss" if watched is None else "valid_mse",
            patience=None if watched is None else self.patience,
            checkpoint=checkpoint,
            log=log,
            description="counts",
        )
        self.network_.eval()
        self.history_: JSON = history.as_dict()

    def _valid_mse(self, validation: LabelledArrays) -> dict[str, float]:
        return {"valid_mse": self.evaluate(validation)["mse"]}

    def predict(self, data: Any) -> Float[np.ndarray, "N K"]:
        """Return the expected count of every class."""
        blocks = [mean_counts(encoded, self.max_active_).numpy() for encoded in self._encoded(data)]
        return np.concatenate(blocks).astype(np.float64)

    def predict_counts(self, data: Any) -> Int[np.ndarray, "N K"]:
        """Return whole counts, near the likeliest ones, of which no row has more than `max_active_` in all."""
        encoded = self._encoded(data)
        latent = SharedLatent(len(self.classes_names_), self.max_active_)
        return np.concatenate([latent.likeliest(block).numpy() for block in encoded]).astype(np.int64)

    def evaluate(self, data: LabelledArrays) -> dict[str, float]:
        """Return the mean squared error of expected and of whole counts, and the share of rows that are all right."""
        check_is_fitted(self, "max_active_")
        if not isinstance(data, LabelledArrays) or data.targets is None:
            raise ValueError(f"data must be LabelledArrays with counts, got {type(data).__name__}")
        truth = check_count_table("counts", data.targets)
        whole = self.predict_counts(data)
        return {
            "mse": float(np.square(self.predict(data) - truth).mean()),
            "mse_whole": float(np.square(whole - truth).mean()),
            "exact": float((whole == truth).all(axis=1).mean()),
        }

    @torch.no_grad()
    def _encoded(self, data: Any) -> list[Tensor]:
        check_is_fitted(self, "max_active_")
        inputs = self._rows(data)
        size = max(1, batch_rows(32 * inputs.shape[1]))
        self.network_.eval()
        starts = range(0, len(inputs), size)
        return [self.network_(self._scaled(inputs[start : start + size])) for start in starts]

    def _rows(self, data: Any) -> Float[np.ndarray, "N D"]:
        return read_inputs(self, _flat(data), reset=False)

    def _scaled(self, inputs: Float[np.ndarray, "N D"]) -> Tensor:
        """Return rows as the network takes them."""
        return torch.from_numpy(self.scaler_(inputs))

    def _check_arguments(self) -> None:
        check_choice("encoder", self.encoder, ENCODERS)
        if self.max_active is not None:
            check_int("max_active", self.max_active, at_least=1)
        check_widths("hidden_dims", self.hidden_dims)
        check_widths("channels", self.channels, at_least=1)
        check_real("dropout", self.dropout, at_least=0, below=1)
        check_real("learning_rate", self.learning_rate, above=0)
        check_real("weight_decay", self.weight_decay, at_least=0)
        check_int("batch_size", self.batch_size, at_least=1)
        check_int("epochs", self.epochs, at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        if self.random_state is not None:
            check_int("random_state", self.random_state, at_least=0)

    def _limit(self, counts: Int[np.ndarray, "N K"], sharing: Sharing) -> int:
        greatest = max(1, int(sharing.max(counts.sum(axis=1).max(keepdims=True))[0]))
        if self.max_active is not None and self.max_active < greatest:
            raise ValueError(f"max_active must be at least {greatest}, the greatest total, got {self.max_active}")
        return greatest if self.max_active is None else int(self.max_active)

    def _fit_scaler(self, inputs: Float[np.ndarray, "N D"], sharing: Sharing) -> Scaler:
        if self.encoder == "mlp":
            return Scaler.fit(inputs, sharing)
        # Of images one mean and one spread: a filter is the same at every place, so must be what it sees.
        mean = float(sharing.mean_array(inputs.mean(keepdims=True), len(inputs))[0, 0])
        variance = sharing.mean_array(np.square(inputs - mean).mean(keepdims=True), len(inputs))
        spread = float(np.sqrt(variance[0, 0])) or 1.0
        width = inputs.shape[1]
        return Scaler(np.full(width, mean), np.full(width, spread))

    def _make_network(self, num_classes: int) -> nn.Module:
        with seeded_weights(self.random_state):
            if self.encoder == "mlp":
                return DenseEncoder(self.n_features_in_, tuple(self.hidden_dims), num_classes, dropout=self.dropout)
            assert self.image_shape_ is not None
            return ConvEncoder(self.image_shape_, tuple(self.channels), num_classes, dropout=self.dropout)

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return means and scales of columns, and the network."""
        check_is_fitted(self, "max_active_")
        return {"mean": self.scaler_.mean, "scale": self.scaler_.scale, **network_arrays(self.network_)}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the names of the classes."""
        return {"classes": self.classes_names_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the limit on counts, the shape of images and the training history."""
        check_is_fitted(self, "history_")
        shape: JSON = None if self.image_shape_ is None else list(self.image_shape_)
        return {"max_active": self.max_active_, "image_shape": shape, "history": self.history_}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_names(vocabularies, {"classes"}, "vocabularies")
        self._check_arguments()
        self.classes_names_ = vocabularies["classes"]
        mean = check_array(arrays, "mean", np.float64, (None,))
        self.scaler_ = Scaler(mean, check_array(arrays, "scale", np.float64, mean.shape))
        self.n_features_in_ = len(mean)
        shape = metadata["image_shape"]
        self.image_shape_ = None if shape is None else image_side(shape)  # type: ignore[arg-type]
        if self.image_shape_ is not None and self.image_shape_[0] * self.image_shape_[1] != len(mean):
            raise ValueError(f"array 'mean' must have one number per pixel of {shape} images, got {len(mean)}")
        self.network_ = self._make_network(len(self.classes_names_))
        restore_network(self.network_, arrays)
        self.max_active_ = check_int("max_active", metadata["max_active"], at_least=1)
        self.history_ = metadata["history"]

    def __sklearn_tags__(self) -> Any:
        """Say that counts come as a table."""
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = True
        return tags


def check_count_table(name: str, y: Any) -> Int[np.ndarray, "N K"]:
    """Return a table of whole numbers >= 0, or say where there is something else."""
    table = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if table.ndim != 2 or table.shape[1] == 0 or table.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a table of counts with a column per class, got shape {table.shape}")
    is_bad = ~np.isfinite(table) | (table < 0) | (table != np.rint(table))
    if is_bad.any():
        row, column = np.argwhere(is_bad)[0]
        raise ValueError(f"{name} must hold whole numbers >= 0, got {table[row, column]} in row {row}, column {column}")
    return table.astype(np.int64)


def _read_counts(data: Any, y: Any, num_rows: int) -> tuple[Int[np.ndarray, "N K"], Vocabulary]:
    names = None
    if isinstance(data, LabelledArrays):
        y, names = data.targets, data.target_names
    if y is None:
        raise ValueError("data must come with counts, got none: requires y to be passed, but the target y is None")
    counts = check_count_table("y" if not isinstance(data, LabelledArrays) else "counts", y)
    if len(counts) != num_rows:
        raise ValueError(f"y must have one row of counts for each of {num_rows} rows of data, got {len(counts)}")
    return counts, Vocabulary.numbered(counts.shape[1]) if names is None else Vocabulary(list(names))


def _flat(data: Any) -> Any:
    """Return an array of images as rows; anything else as it is."""
    if isinstance(data, np.ndarray) and data.ndim > 2:
        return data.reshape(len(data), -1)
    return data
