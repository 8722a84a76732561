"""Vectors of words, items or users as word2vec text, which gensim, fastText's tools and the projector read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import torch
from torch import nn

from gossamer.core.atomic import replacing_file
from gossamer.data.vocabulary import Vocabulary

ROWS_AT_ONCE = 4096
_UNSAFE = re.compile(r"[\s%\x00-\x1f]")


@dataclass(frozen=True)
class NamedVectors:
    """V vectors of width D with their names; `rows(begin, end)` gives some of them, so that E is never whole."""

    names: Vocabulary
    width: int
    rows: Callable[[int, int], np.ndarray]

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield where a block begins, and its vectors."""
        for begin in range(0, len(self.names), ROWS_AT_ONCE):
            yield begin, self.rows(begin, min(begin + ROWS_AT_ONCE, len(self.names)))


def write_word2vec(estimator: Any, path: str | os.PathLike[str], table: str | None = None) -> NamedVectors:
    """Write a model's vectors, whole or not at all: a line "V D", then a line per vector, its name first.

    `table` says which, where there are several: "items" or "users"; without it, it is the first of `vectors_of`. White
    space and % in names are written as in addresses ("new york" is `new%20york`), because lines are cut at spaces:
    `urllib.parse.unquote` gives the name back. Compressed tables are written out a block at a time.
    """
    vectors = vectors_of(estimator)
    if not vectors:
        raise ValueError(
            f"the model must be one with vectors, such as als or count-vae, got {type(estimator).__name__}"
        )
    chosen = next(iter(vectors)) if table is None else table
    if chosen not in vectors:
        raise ValueError(f"table must be one of {', '.join(vectors)}, got {table!r}")
    found = vectors[chosen]
    with replacing_file(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(found.names)} {found.width}\n")
        for begin, block in found.blocks():
            for name, row in zip(found.names.ids[begin : begin + len(block)], block.tolist(), strict=True):
                file.write(f"{escape_name(str(name))} {' '.join(f'{value:.9g}' for value in row)}\n")
    return found


def escape_name(name: str) -> str:
    """Return a name without white space, reversibly; the empty name is %00.

    >>> escape_name("new york 100%")
    'new%20york%20100%25'
    """
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), name) or "%00"


def vectors_of(estimator: Any) -> dict[str, NamedVectors]:
    """Return the tables of vectors that a fitted model has, by what they are of; the first is the one to look at."""
    vocabularies: dict[str, Vocabulary] = estimator.learned_vocabularies()
    found = {name: _named(vocabularies[name], rows) for name, rows in _tables(estimator) if name in vocabularies}
    return {name: vectors for name, vectors in found.items() if vectors.width}


def _named(names: Vocabulary, rows: Any) -> NamedVectors:
    if isinstance(rows, nn.Module):
        return NamedVectors(names, int(rows.embedding_dim), lambda begin, end: _look_up(rows, begin, end))  # type: ignore[arg-type]
    array = rows.detach().numpy() if isinstance(rows, torch.Tensor) else rows
    return NamedVectors(names, array.shape[1], lambda begin, end: array[begin:end])


@torch.no_grad()
def _look_up(table: nn.Module, begin: int, end: int) -> np.ndarray:
    vectors: np.ndarray = table(torch.arange(begin, end)).cpu().numpy()
    return vectors


def _tables(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield every table by the name of its vocabulary, from where the families keep them."""
    for side in ("item", "user"):
        for attribute in (f"{side}_factors_", f"{side}_vectors_"):
            if hasattr(estimator, attribute):
                yield f"{side}s", getattr(estimator, attribute)
        if hasattr(estimator, f"{side}_rows_"):  # a bias, then the factors
            yield f"{side}s", getattr(estimator, f"{side}_rows_")[:, 1:]
        if hasattr(estimator, "model_"):
            yield f"{side}s", getattr(estimator.model_, f"{side}s")
    network = getattr(estimator, "network_", None)
    decoder = getattr(network, "decoder", None)
    if isinstance(getattr(decoder, "weight", None), torch.Tensor):
        yield ("terms" if hasattr(estimator, "terms_") else "items"), decoder.weight  # type: ignore[union-attr]
    if isinstance(getattr(network, "output_layer", None), nn.Linear):
        yield "items", network.output_layer.weight  # type: ignore[union-attr]
    if isinstance(getattr(network, "embedding", None), nn.Module):
        yield "words", network.embedding  # type: ignore[union-attr]
    sentences = getattr(network, "vectors", None)
    if sentences is not None:
        yield "words", sentences.table
