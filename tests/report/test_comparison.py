from __future__ import annotations

import math

import numpy as np
import pytest

from gossamer.metrics.evaluation import RankingScores
from gossamer.report import Estimate, Figure, Table
from gossamer.report.comparison import comparison_section, differences_from


@pytest.fixture
def scores(models) -> dict[str, RankingScores]:
    return {name: result.scores for name, result in models.items()}


def test_metric_table_has_means_and_intervals_over_users(scores):
    table = comparison_section(scores).blocks[0]
    assert isinstance(table, Table)
    row = table.rows[1]
    assert row["model"] == "ease"
    assert row["recall@20"] == Estimate(scores["ease"].mean()["recall@20"], *scores["ease"].interval()["recall@20"])
    assert row["coverage@100"].mean == 0.5
    assert math.isnan(row["coverage@100"].low)
    assert table.best == {"recall@20": "max", "ndcg@100": "max", "coverage@100": "max"}


def test_only_metrics_with_intervals_are_drawn(scores):
    figure = comparison_section(scores).blocks[1]
    assert isinstance(figure, Figure)
    assert [drawing.title for drawing in figure.drawings] == ["recall@20", "ndcg@100"]


def test_lead_names_the_leader_and_the_users(scores, split):
    lead = comparison_section(scores, split).lead
    assert lead.startswith("ease has the highest ndcg@100, 0.4")
    assert lead.endswith(". Measured on what was held out of 10 test users.")
    assert "told apart" not in lead


def test_lead_admits_what_cannot_be_told_apart():
    noise = np.tile([0.1, -0.1], 20)
    users = np.linspace(0, 1, 40)
    section = comparison_section(
        {
            "a": RankingScores({"ndcg@100": users}, {}),
            "b": RankingScores({"ndcg@100": users + noise - 0.001}, {}),
            "c": RankingScores({"ndcg@100": users - 0.5}, {}),
        }
    )
    assert section.lead == "a has the highest ndcg@100, 0.5000; on these users b cannot be told apart from it."


def test_models_are_compared_user_by_user_with_the_leader(scores):
    table = comparison_section(scores).blocks[-1]
    assert isinstance(table, Table)
    assert table.caption == "Difference from ease"
    assert [row["model"] for row in table.rows] == ["popularity", "als"]
    difference = scores["als"].per_user["ndcg@100"] - scores["ease"].per_user["ndcg@100"]
    shown = table.rows[1]["ndcg@100"]
    assert math.isclose(shown.mean, difference.mean())
    half_width = 1.959964 * difference.std(ddof=1) / math.sqrt(10)
    assert math.isclose(shown.high - shown.mean, half_width, rel_tol=1e-5)


def test_scores_of_other_users_are_not_paired(scores):
    other = RankingScores({"ndcg@100": np.zeros(3)}, {})
    assert differences_from("ease", {"ease": scores["ease"], "other": other, "plain": {"ndcg@100": 0.1}}) == {}
    assert differences_from("plain", {"plain": {"ndcg@100": 0.1}, "ease": scores["ease"]}) == {}


def test_plain_scores_do_as_well():
    section = comparison_section(
        {
            "bias-only": {"mse": 0.82, "test_mae": (0.7, 0.69, 0.71)},
            "biased-mf": {"mse": 0.74, "test_mae": (0.6, 0.59, 0.61)},
        }
    )
    table, figure = section.blocks
    assert isinstance(table, Table)
    assert table.best == {"mse": "min", "test_mae": "min"}
    assert table.rows[1]["test_mae"] == Estimate(0.6, 0.59, 0.61)
    assert isinstance(figure, Figure)
    assert [drawing.title for drawing in figure.drawings] == ["test_mae"]
    assert section.lead == "biased-mf has the lowest test_mae, 0.6000."


def test_one_model_is_not_compared(scores):
    section = comparison_section({"ease": scores["ease"]})
    assert len(section.blocks) == 1
    assert section.lead == "Means over users."
    assert comparison_section({}) is None
    assert comparison_section({"ease": {}}) is None
