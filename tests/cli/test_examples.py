"""Examples of the report: hits can be seen for held-out users, and named users are shown with all they have."""

from __future__ import annotations

import numpy as np

from gossamer.cli.examples import NUM_ITEMS, examples_of
from gossamer.data.interactions import Interactions
from gossamer.runner.outcome import Outcome, fit_and_judge
from gossamer.runner.source import make_split
from gossamer.runner.specs import SplitSpec


def test_held_out_users_are_shown_without_what_is_held_out() -> None:
    generator = np.random.default_rng(0)
    users = np.repeat([f"u{number}" for number in range(30)], 6)
    data = Interactions.from_pairs(users, np.concatenate([generator.permutation(20)[:6] for _ in range(30)]))
    split = make_split(data, SplitSpec("users", {"num_valid": 4, "num_test": 5}))
    outcome = fit_and_judge("popularity", split)
    for example in examples_of([outcome], data, split):
        assert len(example.recommended["popularity"]) == NUM_ITEMS
        assert len(example.history) + len(example.held_out) == 6
        assert not set(example.history) & {*example.held_out, *example.recommended["popularity"]}
    (named,) = examples_of([outcome], data, split, ["u3"])
    assert (len(named.history), named.held_out) == (6, ())
    assert examples_of([Outcome("x", object(), None, None)], data, split) == []
