"""Codes of data for other tools: a SciPy .npz of sparse rows, or a Parquet table of (row, id, feature, value)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from gossamer.core.atomic import replacing_file
from gossamer.core.protocols import Transformer
from gossamer.data.vocabulary import Vocabulary

ENDINGS = (".npz", ".parquet")


def write_codes(estimator: Any, data: Any, path: str | os.PathLike[str]) -> sparse.csr_array:
    """Write the codes of `data`, whole or not at all, in the format that `path` ends in, and return them as CSR.

    `scipy.sparse.load_npz` reads the .npz. The .parquet has a row for each entry that is not zero: `row` and `feature`
    are numbers from 0 on, `id` is what the data call the row, where they call it anything.
    """
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise ValueError(f"path must end in {' or '.join(ENDINGS)}, got {str(path)!r}")
    codes = codes_of(estimator, data)
    with replacing_file(target) as temporary:
        if target.suffix.lower() == ".npz":
            with temporary.open("wb") as file:
                sparse.save_npz(file, codes)
        else:
            _as_table(codes, row_ids(data)).write_parquet(temporary)
    return codes


def codes_of(estimator: Any, data: Any) -> sparse.csr_array:
    """Return what `transform` says of data, or the memberships of a model of communities, as float32 CSR."""
    if isinstance(estimator, Transformer):
        found = estimator.transform(data)
    elif hasattr(estimator, "memberships"):
        found = estimator.memberships(data)
    else:
        kind = type(estimator).__name__
        raise ValueError(f"the model must be one with codes, such as count-vae or sparse-discrete-vae, got {kind}")
    return sparse.csr_array(found, dtype=np.float32)


def row_ids(data: Any) -> Vocabulary | None:
    """Return what data call their rows: users of interactions, documents of counts; None where they have no names."""
    for name in ("users", "documents"):
        found = getattr(data, name, None)
        if isinstance(found, Vocabulary):
            return found
    return None


def _as_table(codes: sparse.csr_array, ids: Vocabulary | None) -> pl.DataFrame:
    rows = np.repeat(np.arange(codes.shape[0], dtype=np.int64), np.diff(codes.indptr))
    columns: dict[str, Any] = {"row": rows}
    if ids is not None:
        columns["id"] = ids.ids.gather(rows)
    return pl.DataFrame({**columns, "feature": codes.indices.astype(np.int32), "value": codes.data})
