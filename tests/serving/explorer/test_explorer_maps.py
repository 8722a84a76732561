"""A map has a place and a name for every point, packed as the page unpacks them."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from explorer_samples import NAMES

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer import maps
from gossamer.serving.explorer.maps import make_map
from gossamer.serving.explorer.projection import principal_plane


def unpacked(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_places_are_the_principal_plane(known):
    found = make_map(known["als"], "items")
    np.testing.assert_allclose(
        unpacked(found.coordinates, "<f4").reshape(-1, 2), principal_plane(known["als"].spaces["items"].vectors)
    )
    assert found.names == NAMES
    assert (found.num_points, found.total, found.colours, found.legend) == (20, 20, None, [])


def test_points_have_the_colour_of_their_strongest_group(known):
    found = make_map(known["phases"], "events", "neighbours")
    strongest = known["phases"].groups[0].strongest_of_all()
    colours = unpacked(found.colours, "u1")
    assert len(found.legend) == 2
    assert found.legend_noun == "phase"
    # The groups are numbered anew in the legend, but two points share a colour just where they share a group.
    assert ((colours[:, None] == colours) == (strongest[:, None] == strongest)).all()


def test_of_many_names_the_most_frequent_are_shown(known, monkeypatch):
    monkeypatch.setattr(maps, "MOST_POINTS", 5)
    counts = known["als"].frequencies["items"]
    rows = maps._shown(known["als"], "items", 20)
    assert sorted(counts[rows]) == sorted(np.sort(counts)[-5:])
    assert len(maps._shown(known["anchors"], "items", 20)) == 5  # nothing is known of how often they come


@pytest.mark.parametrize(("name", "kind"), [("network", "classes"), ("als", "users")])
def test_a_model_without_vectors_has_no_map(known, name, kind):
    with pytest.raises(NotFound, match="This model has no map of"):
        make_map(known[name], kind)
