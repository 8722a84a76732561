"""Codes with at most six features on: what they say about a docstring, and which other docstrings are like it.

    python examples/plot_sparse_codes.py          # writes sparse_codes.svg

Docstrings of Python's standard library become codes of 60 features, never more than six of them on; each feature can
be read off the words it raises, and similar docstrings are found by the features they share, exactly. Runs in about
twenty seconds on a CPU.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gossamer import datasets
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.discrete.codes import SparseCodes
from gossamer.report.code_figures import code_map
from gossamer.runner.code_findings import find_codes

FEATURES, ACTIVE, EPOCHS = 60, 6, 6


def main() -> None:
    docs = datasets.load("stdlib-docs")
    docs = docs[np.flatnonzero(docs.matrix.sum(axis=1) >= 20)]  # a line or two says too little for six features
    model = SparseDiscreteVAE(
        observation="counts",
        num_features=FEATURES,
        max_active=ACTIVE,
        encoder_dims=(100,),
        decoder_dims=(),
        epochs=EPOCHS,
        batch_size=50,
        learning_rate=0.005,
        warmup=0.5,
    ).fit(docs)
    codes = model.transform(docs)
    stored = SparseCodes(similarity="jaccard").fit(codes, names=docs.documents)
    on = np.diff(codes.indptr)
    print(f"{len(stored):,} codes, {on.mean():.1f} features on, never more than {on.max()}; {stored.nbytes:,} bytes")

    found = find_codes(model, docs)
    for feature, terms in list(zip(found["features"], found["prototype_terms"], strict=True))[:5]:
        print(f"feature {feature:>2}, on in {found['share'][feature]:4.0%}: {', '.join(terms[:6])}")

    asked = ["tkinter.Button.__init__", "tarfile.TarFile", "shutil.copytree"]
    for name in [name for name in asked if name in docs.documents]:
        nearest = stored.search(stored.named([name]), k=4).names[0]
        print(f"like {name}: {', '.join([str(other) for other in nearest if other != name][:3])}")

    picture = Path("sparse_codes.svg")
    picture.write_text(code_map(codes, docs.labels, docs.label_names).svg, encoding="utf-8")
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
