"""Which names will a Python module call next? Six lines to compare recommenders, and a picture with error bars.

    python examples/plot_compare_recommenders.py          # writes compare_recommenders.svg

Whole modules are held out, so every model answers for users it has never seen. Runs in well under a minute on a CPU.
"""

from __future__ import annotations

from pathlib import Path

from gossamer import datasets
from gossamer.data.splits import split_users
from gossamer.metrics.evaluation import evaluate_ranking, paired_difference
from gossamer.models.linear import ALS, EASE, SLIM, ItemKNN, Popularity
from gossamer.report.figures import metric_intervals

METRIC = "ndcg@100"


def main() -> None:
    split = split_users(datasets.load("stdlib-usage"), random_state=0)
    models = {
        "popularity": Popularity(),
        "item-knn": ItemKNN(),
        "ease": EASE(),
        "slim": SLIM(),
        "als": ALS(num_factors=32),
    }
    scores = {
        name: evaluate_ranking(model.fit(split.train).recommend, split.test, [METRIC]) for name, model in models.items()
    }
    for name, score in scores.items():
        mean, error = paired_difference(score.per_user[METRIC], scores["ease"].per_user[METRIC])
        print(f"{name:>10}  {score.mean()[METRIC]:.3f}   minus EASE {mean:+.3f} ± {error:.3f}")

    table = {name: {METRIC: (score.mean()[METRIC], *score.interval()[METRIC])} for name, score in scores.items()}
    picture = Path("compare_recommenders.svg")
    picture.write_text(metric_intervals(table)[0].svg)
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
