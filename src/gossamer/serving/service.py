"""Questions to saved models, in Python: which items, which code, what is near, why, and what comes next."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gossamer.persistence import ArtifactError
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import Identity, LoadedModel, identity_of, load_model

logger = logging.getLogger(__name__)


class Service:
    """The models of one or more artifacts, by the names of their directories.

    Nothing is written and no model is changed: many callers may ask at once, from one thread or a few.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        if not paths:
            raise ValueError("paths must name at least one artifact, got none")
        loaded: dict[str, LoadedModel] = {}
        for path in paths:
            model = load_model(path)
            if model.name in loaded:
                raise ValueError(
                    f"artifacts must have different names to be served together, got {model.name!r} twice: "
                    f"{loaded[model.name].path} and {model.path}"
                )
            loaded[model.name] = model
        self._models = loaded
        self._refused: dict[str, Identity] = {}

    @property
    def models(self) -> Mapping[str, LoadedModel]:
        """The models as they are served now, by name."""
        return MappingProxyType(self._models)

    def find(self, name: str | None = None) -> LoadedModel:
        """Return the model called `name`, or the only one there is."""
        if name is None:
            if len(self._models) > 1:
                raise CannotAnswer(f"model must be given, one of {', '.join(sorted(self._models))}")
            return next(iter(self._models.values()))
        if name not in self._models:
            raise NotFound(f"model must be one of {', '.join(sorted(self._models))}, got {name!r:.120}")
        return self._models[name]

    def load_replaced(self) -> list[LoadedModel]:
        """Load the artifacts that were replaced since they were loaded; a broken one is logged and left out."""
        fresh = []
        for name, model in self._models.items():
            identity = identity_of(model.path)
            if identity is None or identity in (model.identity, self._refused.get(name)):
                continue
            try:
                fresh.append(load_model(model.path))
            except ArtifactError as error:
                self._refused[name] = identity  # said once, not every second
                logger.error("%s was replaced by what cannot be served, the old one stays: %s", name, error)
        return fresh

    def adopt(self, fresh: Sequence[LoadedModel]) -> None:
        """Answer by these models from now on; questions that are being answered end with the old ones."""
        self._models = {**self._models, **{model.name: model for model in fresh}}
        for model in fresh:
            logger.info("%s was replaced and is served anew", model.name)
