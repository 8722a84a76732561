"""Who somebody is, for a model of what they do: communities and count codes as features of series.

People of two tastes move through phases at two speeds. A model of their purchases knows the taste; `NeuralEM` is told
of it as features, and can speak of somebody's phases before it has seen a single step of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gossamer.data import Interactions, Sequences, Vocabulary
from gossamer.models.markov import NeuralEM
from gossamer.runner.embeddings import embed_users

NUM_PEOPLE, NUM_ITEMS, NUM_STEPS = 60, 12, 24
EMBEDDINGS = {
    "nothing": None,
    "communities": {"embedding_dim": 8, "num_communities": 2, "item_edges": 3, "epochs": 10, "batch_size": 30},
    "count-vae": {"latent_dim": 2, "encoder_dims": [16], "epochs": 30, "batch_size": 30},
}

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    taste = np.arange(NUM_PEOPLE) % 2
    people = Vocabulary([f"person {number}" for number in range(NUM_PEOPLE)])
    pairs = [
        (p, i)
        for p in range(NUM_PEOPLE)
        for i in range(NUM_ITEMS)
        if rng.random() < (0.7 if i % 2 == taste[p] else 0.05)
    ]
    bought = Interactions.from_pairs([people[p] for p, _ in pairs], [f"item {i}" for _, i in pairs], user_ids=people)
    phases = [np.arange(NUM_STEPS) // (3 if kind else 8) % 2 for kind in taste]
    observed = np.concatenate([3.0 * phase[:, None] + rng.normal(size=(NUM_STEPS, 1)) for phase in phases])
    series = Sequences(observed, NUM_STEPS * np.arange(NUM_PEOPLE + 1), names=people)
    rows = []
    for name, settings in EMBEDDINGS.items():
        described = series
        if settings is not None:
            described = replace(series, features=embed_users(bought, {"model": name, "settings": settings}))
        model = NeuralEM(num_states=2, hidden_dim=8, num_starts=2, start_epochs=20, epochs=10, batch_size=20)
        measured = model.fit(described[:40]).evaluate(described[40:])
        rows.append({"features": name, **{key: measured[key] for key in ("loglik", "hidden_loglik")}})
    found = pl.DataFrame(rows)
    print(found)
    target = Path("codes_as_features.csv")
    found.write_csv(target)
    print(f"wrote {target}")
