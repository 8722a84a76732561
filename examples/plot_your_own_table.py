"""From a table with string ids to a saved model and an answer for somebody new.

    python examples/plot_your_own_table.py                # writes your_own_table.html, a report

The table is made up here: two tastes, tea and coffee, and a few people who like both. Runs in seconds.
"""

from __future__ import annotations

import tempfile

import numpy as np
import polars as pl

from gossamer.data import Interactions
from gossamer.data.readers import read_interactions
from gossamer.data.splits import split_users
from gossamer.metrics.evaluation import evaluate_ranking
from gossamer.models.linear import EASE
from gossamer.report.models import ModelResult, models_report
from gossamer.report.page import write_report

TASTES = {
    "tea": ["kettle", "teapot", "green tea", "black tea", "scones", "honey"],
    "coffee": ["grinder", "espresso", "filter paper", "beans", "biscotti", "milk jug"],
}


def make_purchases(num_people: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for person in range(num_people):
        taste = list(TASTES)[rng.integers(2)]
        rows += [(f"person {person}", str(item)) for item in rng.choice(TASTES[taste], size=4, replace=False)]
        if rng.random() < 0.2:
            rows.append((f"person {person}", "honey"))
    return pl.DataFrame(rows, schema=["customer", "article"], orient="row")


def main() -> None:
    data = read_interactions(make_purchases(), columns={"user": "customer", "item": "article"})
    split = split_users(data, random_state=0)
    model = EASE(regularization=10.0).fit(split.train)
    scores = evaluate_ranking(model.recommend, split.test, ["recall@3", "ndcg@3"])
    print(scores.mean())

    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/shop")
        served = EASE.load(f"{folder}/shop")
    visitor = Interactions.from_pairs(["visitor"] * 2, ["kettle", "scones"])
    best = served.recommend(visitor, n=3)
    print("after a kettle and scones:", [served.items_[item] for item in best.items[0]])

    result = ModelResult(scores=scores, settings=model.get_params(), explanation=model.explain())
    report = models_report(title="A small shop", data=data, split=split, models={"ease": result})
    write_report(report, "your_own_table.html")
    print("wrote your_own_table.html")


if __name__ == "__main__":
    main()
