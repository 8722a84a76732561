"""Axes of one's own: the ends lie where they should, and what is no axis is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.serving.explorer.directions import Ends, farthest_pair, places_between


def test_the_ends_of_an_axis_are_one_apart_and_others_lie_between_or_beyond():
    vectors = np.array([[0, 0, 0], [4, 0, 0], [2, 7, 0], [8, 0, 3]], dtype=np.float32)
    places = places_between(vectors, (vectors[0], vectors[1]), (vectors[0], vectors[2]))
    assert places[:, 0].tolist() == [-0.5, 0.5, 0.0, 1.5]
    assert places[[0, 2], 1].tolist() == pytest.approx([-0.5, 0.5])


def test_without_a_second_axis_up_is_what_else_differs_most():
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((50, 3)) * [9.0, 4.0, 0.1]
    ends = np.array([-2.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0])
    places = places_between(vectors, ends, None)
    centred = vectors - vectors.mean(axis=0)
    assert abs(np.corrcoef(places[:, 1], centred[:, 1])[0, 1]) > 0.999
    assert places[:, 1].std() == pytest.approx(centred[:, 1].std() / 4, rel=1e-3)


def test_the_farthest_pair_lies_along_the_widest_direction():
    vectors = np.random.default_rng(1).standard_normal((30, 4)) * [5.0, 1.0, 1.0, 1.0]
    begin, end = farthest_pair(vectors)
    assert {begin, end} == {int(vectors[:, 0].argmin()), int(vectors[:, 0].argmax())}


def test_what_is_no_axis_is_refused():
    with pytest.raises(ValueError, match="across_from and across_to must be given together, got one of them"):
        _ = Ends(across_from="ham").across
    with pytest.raises(ValueError, match="up_from and up_to must be given together"):
        _ = Ends(up_to="ham").up
    assert Ends().across is None
    same = np.ones(2, dtype=np.float32)
    with pytest.raises(ValueError, match="the ends of an axis must lie at different places"):
        places_between(np.eye(2), (same, same), None)
