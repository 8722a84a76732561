"""Hashes that hold things out: even, seeded, and the same wherever they are made."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.data.splits.hashed import check_shares, hash_contents, held_out_by, mix_hashes

NUMBERS = hash_contents((f"{number}".encode() for number in range(4000)), 0)


def test_shares_are_about_right_and_do_not_meet() -> None:
    is_valid, is_test = held_out_by(NUMBERS, 0.2, 0.1)
    assert not (is_valid & is_test).any()
    assert is_valid.mean() == pytest.approx(0.2, abs=0.03)
    assert is_test.mean() == pytest.approx(0.1, abs=0.03)


def test_a_number_depends_on_content_and_seed_only() -> None:
    again = hash_contents([b"7", b"8"], 0)
    np.testing.assert_array_equal(again, NUMBERS[7:9])
    assert not set(hash_contents([b"7", b"8"], 1)) & set(again)


def test_pairs_are_as_even_as_what_they_are_of() -> None:
    first, second = np.repeat(NUMBERS[:60], 60), np.tile(NUMBERS[60:120], 60)
    assert held_out_by(mix_hashes(first, second), 0, 0.25)[1].mean() == pytest.approx(0.25, abs=0.03)


def test_something_must_be_left_to_learn_from() -> None:
    with pytest.raises(ValueError, match=r"must leave training rows, got 0\.5 and 0\.5"):
        check_shares(0.5, 0.5, 0, "rows")
