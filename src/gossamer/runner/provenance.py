"""Where an artifact's data came from, written so that the same data and split can be opened again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gossamer.data.interactions import Split
from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """What a model was trained on, as its artifact remembers it."""

    model: str
    data: DataSpec
    split: SplitSpec
    fingerprint: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the provenance that goes into the artifact."""
        return {
            "model": self.model,
            "data": self.data.as_json(),
            "split": self.split.as_json(),
            "fingerprint": self.fingerprint,
        }


def read_origin(config: Mapping[str, Any]) -> Origin:
    """Return the origin from an artifact's config, or a ValueError where it was saved without one."""
    provenance = config.get("provenance") or {}
    try:
        return Origin(
            str(provenance["model"]),
            DataSpec.from_json(provenance["data"]),
            SplitSpec.from_json(provenance["split"]),
            provenance["fingerprint"],
        )
    except (KeyError, TypeError):
        raise ValueError(
            "the model must remember its data, as one saved by `gossamer fit` does, got one that does not"
        ) from None


def open_origin(config: Mapping[str, Any], name: str | None = None) -> tuple[Origin, Any]:
    """Open the data of an artifact, or the data called `name`, filtered as the training data were.

    Data that are no longer what the model was trained on are used, with a warning.
    """
    origin = read_origin(config)
    if name is not None and name != origin.data.name:
        origin = replace(origin, data=replace(origin.data, name=name, options={}), fingerprint=None)
    data = open_data(origin.data)
    if origin.fingerprint is not None and data.fingerprint() != origin.fingerprint:
        logger.warning(
            "%s has changed since the model was trained: it is divided differently now, and users the model has "
            "learned from may be among those held out",
            origin.data.name,
        )
    return origin, data


def reopen(config: Mapping[str, Any], name: str | None = None) -> tuple[Origin, Any, Split]:
    """Open the data of an artifact, or the data called `name`, and divide them as the training data were divided."""
    origin, data = open_origin(config, name)
    return origin, data, make_split(data, origin.split)
