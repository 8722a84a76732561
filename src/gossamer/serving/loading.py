"""From an artifact's directory to a model that answers, and whether the directory has been replaced since."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gossamer.core.protocols import Explainer, Forecaster, ItemGraph, ItemSpace, Recommender, Transformer
from gossamer.data.interactions import Interactions
from gossamer.persistence import JSON, Artifact, read_artifact
from gossamer.persistence.config import CONFIG_FILE
from gossamer.serving.names import Names, vocabulary_of

Identity = tuple[int, int, int]

# What can be asked of a model, and the protocols that say whether it can be.
QUESTIONS: dict[str, tuple[type, ...]] = {
    "recommend": (Recommender,),
    "encode": (Transformer,),
    "similar": (ItemGraph, ItemSpace),
    "explain": (Explainer,),
    "next": (Forecaster,),
}


@dataclass(frozen=True, eq=False)  # equal to itself only: to compare arrays for every question would be a waste
class LoadedModel:
    """A model as it is served: `name` is its directory's, `identity` tells a replaced artifact from the same one.

    `histories` are those of the users of its training data, over its own items, where they were asked for.
    """

    name: str
    path: Path
    artifact: Artifact
    identity: Identity | None = None
    histories: Interactions | None = None

    @property
    def estimator(self) -> Any:
        """The fitted model."""
        return self.artifact.estimator

    @property
    def config(self) -> dict[str, JSON]:
        """What config.json says: class, arguments, provenance, metrics."""
        return self.artifact.config

    @property
    def kind(self) -> str:
        """The name of the model's class."""
        return type(self.estimator).__name__

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """What the model answers, as its methods say."""
        return tuple(name for name, faces in QUESTIONS.items() if isinstance(self.estimator, faces))

    @cached_property
    def names(self) -> Names | None:
        """Its items, words or terms."""
        vocabulary = vocabulary_of(self.estimator)
        return None if vocabulary is None else Names(vocabulary)

    @cached_property
    def users(self) -> Names | None:
        """The users of `histories`."""
        return None if self.histories is None else Names(self.histories.users)

    @cached_property
    def own_users(self) -> Names | None:
        """The users that the model itself remembers, as few do."""
        found = self.estimator.learned_vocabularies().get("users")
        return None if found is None else Names(found)

    @cached_property
    def titles(self) -> list[Any] | None:
        """What people call the items, where the training data say so."""
        features = None if self.histories is None else self.histories.item_features
        return None if features is None or "title" not in features.columns else features["title"].to_list()

    @cached_property
    def vectors(self) -> Float[np.ndarray, "M D"]:
        """The vectors of items, made once: a compressed table would make them anew for every question."""
        return np.asarray(self.estimator.item_vectors())

    @cached_property
    def norms(self) -> Float[np.ndarray, " M"]:
        """The lengths of the vectors."""
        return np.asarray(np.linalg.norm(self.vectors, axis=1))


def load_model(path: str | os.PathLike[str], *, with_users: bool = False) -> LoadedModel:
    """Load the artifact at `path`, or raise an ArtifactError that says what is wrong with it.

    `with_users` opens the data that a recommender was trained on, too.
    """
    # Through no link: a link called `current` is what people want to ask for, wherever it points to.
    absolute = Path(os.path.abspath(path))
    # Before reading: where it is replaced meanwhile, the next look finds another identity and loads again.
    identity = identity_of(absolute)
    artifact = read_artifact(absolute, mapped=True)
    histories = _histories(artifact) if with_users else None
    return LoadedModel(absolute.name, absolute, artifact, identity, histories)


def identity_of(path: Path) -> Identity | None:
    """Return what changes when the artifact at `path` is replaced; None while there is none."""
    try:
        status = (path / CONFIG_FILE).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_dev


def _histories(artifact: Artifact) -> Interactions | None:
    """Return what the users of the training data have, over the model's items; None for models of other things."""
    if not isinstance(artifact.estimator, Recommender):
        return None
    from gossamer.runner.provenance import open_origin  # late: it knows every data set, and a server starts without

    _, data = open_origin(artifact.config)
    vocabulary = vocabulary_of(artifact.estimator)
    if not isinstance(data, Interactions) or vocabulary is None:
        return None
    if data.items == vocabulary:
        return data
    known = data.items.find(vocabulary.ids)
    return data.take_items(known) if (known >= 0).all() else data.aligned_to(vocabulary)
