"""What a notebook shows of estimators."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gossamer.data.interactions import Interactions
from gossamer.models import catalogue
from gossamer.models.linear import ALS, EASE
from gossamer.persistence.portrait import estimator_html


def facts(estimator: object) -> tuple[str | None, dict[str | None, str | None]]:
    shown = ElementTree.fromstring(f"<div>{estimator_html(estimator)}</div>")
    rows = [[cell.text for cell in row.iter("td")] for row in shown.iter("tr")]
    return shown.find(".//caption").text, {row[0]: row[1] for row in rows}  # type: ignore[union-attr]


@pytest.mark.parametrize("model", sorted(catalogue.available()))
def test_every_estimator_is_shown_before_it_is_fitted(model: str) -> None:
    estimator = catalogue.find(model)()
    assert facts(estimator) == (f"{type(estimator).__name__} (not fitted)", {})
    bundle = estimator._repr_mimebundle_()
    assert bundle == {"text/plain": repr(estimator), "text/html": estimator._repr_html_()}


def test_settings_and_what_was_learned_are_told() -> None:
    data = Interactions.from_pairs(["ann", "ann", "bob"], ["<tea>", "jam", "jam"])
    title, told = facts(ALS(num_factors=2, epochs=3).fit(data))
    assert title == "ALS (fitted)"
    assert (told["num_factors"], told["epochs"], told["known items"], told["epochs trained"]) == ("2", "3", "2", "3")
    assert "loss of the epoch kept" in told
    assert "2 other settings are the defaults" in estimator_html(EASE(regularization=5))
    assert facts(EASE(regularization="<b>"))[1] == {"regularization": "'<b>'"}  # type: ignore[arg-type]
    assert facts(EASE().fit(data))[1] == {"known items": "2", "numbers stored": "6", "bytes stored": "24"}
