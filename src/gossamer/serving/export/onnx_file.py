"""From a fitted model to an ONNX file, with the vocabularies that its numbers stand for beside it."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gossamer.core.atomic import replacing_file
from gossamer.persistence.classes import Persistable, class_path
from gossamer.persistence.vocabularies import vocabulary_file, write_vocabulary
from gossamer.serving.export.graph import Graph
from gossamer.version import __version__


def draw_graph(estimator: Any) -> Graph:
    """Return the graph of a fitted estimator; one that has nothing to export says why in a ValueError.

    Each family's graphs are in the module of this room that has the family's name.
    """
    parts = type(estimator).__module__.split(".")
    if parts[:2] != ["gossamer", "models"] or not isinstance(estimator, Persistable):
        raise ValueError(f"the model must be an estimator of gossamer.models, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    family = importlib.import_module(f"gossamer.serving.export.{parts[2]}")
    graph: Graph = family.draw_graph(estimator)
    return graph


def write_onnx(estimator: Any, path: str | os.PathLike[str]) -> str:
    """Write the graph of a fitted estimator, whole or not at all, and return the sentence that says what it answers.

    `items.onnx` has a `items.vocabulary.<name>.json` beside it for every vocabulary of the model: number i of an input
    or output axis is the i-th of its ids. The file's metadata name the class, gossamer's version and these files.
    """
    target = Path(path)
    graph = draw_graph(estimator)
    vocabularies = estimator.learned_vocabularies()
    names = {name: f"{target.stem}.{vocabulary_file(name)}" for name in vocabularies}
    metadata = {
        "gossamer": __version__,
        "class": class_path(type(estimator)),
        "answers": graph.answers,
        **{f"vocabulary.{name}": file for name, file in names.items()},
    }
    content = graph.model(metadata).SerializeToString()  # before a file is touched: this is what may fail
    for name, vocabulary in vocabularies.items():  # first, so that a graph never lies there without them
        with replacing_file(target.with_name(names[name])) as temporary:
            write_vocabulary(temporary, vocabulary)
    with replacing_file(target) as temporary:
        temporary.write_bytes(content)
    return graph.answers
