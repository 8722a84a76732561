"""Anchors inside three models of other families: fewer numbers for words and items, the same estimators around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from gossamer import datasets
from gossamer.data.parts import over_words
from gossamer.data.splits import split_users
from gossamer.models.community import CommunityRecommender
from gossamer.models.embeddings import AnchorEmbedding, AnchorTextClassifier
from gossamer.models.spikeslab import SentenceVAE

if __name__ == "__main__":
    rows = []
    texts = datasets.load("stdlib-docs", form="sentences")[::8]
    frequent = np.argsort(-np.bincount(texts.tokens), kind="stable")[:1000]
    texts = over_words(texts, texts.vocabulary.take(frequent))
    num_words = len(texts.vocabulary)
    is_test = np.arange(len(texts)) % 5 == 0
    train, test = texts[np.flatnonzero(~is_test)], texts[np.flatnonzero(is_test)]
    for name in ("dense", "anchors"):
        # Plain Adam trains the table inside: T keeps its slots, and gradients must be dense.
        table = AnchorEmbedding(num_words, 32, num_anchors=24, num_slots=3, sparse=False) if name == "anchors" else None
        settings = {
            "latent_dim": 8,
            "embedding_dim": 32,
            "hidden_dim": 32,
            "max_length": 12,
            "epochs": 4,
            "learning_rate": 5e-3,
        }
        model = SentenceVAE(**settings).fit(train, table=table)
        numbers = (
            num_words * 32 if table is None else table.values.numel() + table.slots.numel() + table.anchors.numel()
        )
        measured = model.evaluate(test)["perplexity"]
        rows.append(
            {"model": "SentenceVAE", "table": name, "numbers": numbers, "measure": "perplexity", "is": measured}
        )

    users = split_users(datasets.load("stdlib-usage"), random_state=0)
    num_items = users.train.num_items
    for name in ("dense", "anchors"):
        table = AnchorEmbedding(num_items, 16, num_anchors=16, num_slots=3, sparse=False) if name == "anchors" else None
        recommender = CommunityRecommender(embedding_dim=16, num_communities=4, epochs=4)
        recommender.fit(users.train, item_embedding=table)
        numbers = (
            num_items * 16 if table is None else table.values.numel() + table.slots.numel() + table.anchors.numel()
        )
        measured = recommender.evaluate(users.test)["ndcg@100"]
        rows.append({"model": "communities", "table": name, "numbers": numbers, "measure": "ndcg@100", "is": measured})

    for name, ratio in (("dense", 1.0), ("ant", 10.0)):
        classifier = AnchorTextClassifier(method=name, ratio=ratio, embedding_dim=32, num_filters=16, epochs=3)
        classifier.fit(train)
        measured = classifier.evaluate(test)["accuracy"]
        numbers = classifier.num_values()
        rows.append({"model": "text CNN", "table": name, "numbers": numbers, "measure": "accuracy", "is": measured})

    found = pl.DataFrame(rows)
    print(found)
    target = Path("anchors_inside.csv")
    found.write_csv(target)
    print(f"wrote {target}")
