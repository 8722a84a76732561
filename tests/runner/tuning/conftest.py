"""A model whose every epoch is known in advance, so that what a search does with it is known, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.data.batching import Batches
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.models import catalogue
from gossamer.runner.provenance import open_for
from gossamer.runner.specs import DataSpec
from gossamer.runner.tuning.spaces import merge_space
from gossamer.runner.tuning.tune import Tuning
from gossamer.training import fit


class _Nothing:
    """A step that learns nothing."""

    def setup(self, fabric: Any) -> None:
        pass

    def __call__(self, batch: Any, weight: float) -> dict[str, float]:
        return {"loss": 1.0}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass


class Climber(BaseEstimator):
    """Has the error (level − 3)² in every epoch, and stores `size` numbers; a negative shape is an error."""

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "error", {"level": Real(0, 10), "size": Integer(1, 100), "shape": Choice(([1], [2]))}, fixed={"patience": 2}
    )
    before_fit: ClassVar[Callable[[Any], None]] = lambda _: None
    num_fitted_epochs: ClassVar[int] = 0

    def __init__(
        self, *, level: float = 5.0, size: int = 10, shape: Any = (1,), patience: int | None = None, epochs: int = 4
    ) -> None:
        self.level = level
        self.size = size
        self.shape = shape
        self.patience = patience
        self.epochs = epochs

    def fit(self, data: Interactions, validation: HeldOut | None = None) -> Self:
        type(self).before_fit(self)
        if self.shape[0] < 0:
            raise ValueError(f"shape must be positive, got {self.shape}")

        def validate() -> dict[str, float]:
            type(self).num_fitted_epochs += 1
            return self.evaluate(validation)

        batches = Batches(lambda rows: rows.tolist(), 2, 2)
        fit(_Nothing(), batches, epochs=self.epochs, validate=validate, monitor="error")
        return self

    def evaluate(self, data: HeldOut | None) -> dict[str, float]:
        return {"error": (self.level - 3) ** 2}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        return {"numbers": np.zeros(self.size, dtype=np.float32)}


@pytest.fixture
def climber(monkeypatch: pytest.MonkeyPatch) -> type[Climber]:
    """Put the model into the catalogue, as `climber`."""
    models = catalogue.available() | {"climber": Climber}
    monkeypatch.setattr(catalogue, "available", lambda: models)
    monkeypatch.setattr(Climber, "before_fit", lambda _: None)
    monkeypatch.setattr(Climber, "num_fitted_epochs", 0)
    return Climber


@pytest.fixture
def tuning_of(climber: type[Climber], blocks_file: Path) -> Callable[..., tuple[Tuning, Any]]:
    """Return a maker of a search of the model, with the split it is run on."""

    def make(settings: dict[str, Any] | None = None, tried: dict[str, Any] | None = None, **said: Any) -> Any:
        origin, split = open_for("climber", DataSpec(str(blocks_file)), "users")
        space = merge_space("climber", settings or {}, tried or {})
        return Tuning(origin, space, said.pop("metric", space.metric), **said), split

    return make
