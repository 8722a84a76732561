"""Fitted models of four families at 60 % of their layers: what they answer before and after, without training again.

`gossamer.compress` takes a fitted estimator as it takes a network: the model goes on to recommend, transform, save and
export.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gossamer import Budget, compress, datasets
from gossamer.data.parts import over_words
from gossamer.data.splits import split_users
from gossamer.models.counts import CDAE, CountVAE
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.spikeslab import SentenceVAE
from gossamer.report.budget_figure import draw_layer_shares
from gossamer.report.svg import write_svg

BUDGET = Budget(params=0.6, of="layers")


def tell(name: str, model: Any, train: Any, test: Any, measure: str) -> Any:
    small = compress(model.fit(train), data=train, budget=BUDGET)
    before, after = (found.evaluate(test)[measure] for found in (model, small))
    share = small.compression_report.share("params")
    print(f"{name}: {measure} {before:.3f} → {after:.3f} with {share:.0%} of all parameters")
    return small.compression_report


if __name__ == "__main__":
    users = split_users(datasets.load("stdlib-usage"), random_state=0)
    tell("CDAE", CDAE(hidden_dim=32, epochs=15), users.train, users.test, "ndcg@100")
    documents = datasets.load("stdlib-docs", form="counts")[:1000]
    frequent = np.argsort(-documents.matrix.sum(axis=0), kind="stable")[:600]
    counts = documents.aligned_to(documents.terms.take(frequent))
    topics = CountVAE(latent_dim=10, encoder_dims=[64, 64], inference="amortised", epochs=10)
    tell("CountVAE", topics, counts[:900], counts[900:], "perplexity_document_amortised")
    texts = over_words(datasets.load("stdlib-docs", form="sentences")[:400], counts.terms)
    sentences = SentenceVAE(latent_dim=8, embedding_dim=32, hidden_dim=32, max_length=12, epochs=3)
    tell("SentenceVAE", sentences, texts[:350], texts[350:], "perplexity")
    codes = SparseDiscreteVAE(
        observation="counts", num_features=64, max_active=4, encoder_dims=[64], decoder_dims=[64], epochs=5
    )
    report = tell("SparseDiscreteVAE", codes, counts[:900], counts[900:], "hard")
    target = Path("estimator_layers.svg")
    write_svg(draw_layer_shares(report.table()[:-1]).svg, target)
    print(f"wrote {target}")
