"""A map has a place and a name for every point, packed as the page unpacks them."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from explorer_samples import NAMES

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer import maps
from gossamer.serving.explorer.directions import Ends
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.explorer.maps import make_map
from gossamer.serving.explorer.projection import principal_components, principal_plane
from gossamer.serving.loading import load_model


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


def test_of_many_names_the_most_frequent_are_shown(folder, monkeypatch):
    monkeypatch.setattr(maps, "MOST_POINTS", 5)
    knowledge = Knowledge(load_model(folder / "als"))  # its own: maps are kept
    counts = knowledge.frequencies["items"]
    found = make_map(knowledge, "items")
    assert (found.num_points, found.total, found.chosen_by) == (5, 20, "the most frequent")
    assert sorted(counts[[NAMES.index(name) for name in found.names]]) == sorted(np.sort(counts)[-5:])


def test_where_nothing_is_known_of_frequencies_nothing_is_claimed(known):
    rows, chosen_by = maps._shown(known["anchors"], "items", 20, 5)
    assert (rows.tolist(), chosen_by) == ([0, 4, 9, 14, 19], "evenly chosen")


def test_axes_are_chosen_components_and_variance_says_what_they_are_worth(known):
    vectors = known["als"].spaces["items"].vectors
    found = make_map(known["als"], "items", "pca", (3, 1))
    places = unpacked(found.coordinates, "<f4").reshape(-1, 2)
    np.testing.assert_allclose(places, principal_components(vectors, 4)[:, [2, 0]], atol=1e-5)
    assert len(found.variance) == 4
    assert sum(found.variance) == pytest.approx(1, abs=1e-4)
    assert found.measures == ["cosine", "euclidean"]


@pytest.mark.parametrize("projection", ["pca", "neighbours", "tsne"])
def test_three_axes_are_a_room(known, projection):
    found = make_map(known["als"], "items", projection, (1, 2, 3))
    assert len(unpacked(found.coordinates, "<f4")) == 3 * 20


@pytest.mark.parametrize("axes", [(1,), (1, 1), (0, 1), (1, 5), (1, 2, 3, 4)])
def test_axes_that_do_not_exist_are_refused(known, axes):
    with pytest.raises(ValueError, match="axes must be 2 or 3 different numbers from 1 to 4, got"):
        make_map(known["als"], "items", "pca", axes)


@pytest.mark.parametrize(("name", "kind"), [("network", "classes"), ("als", "users")])
def test_a_model_without_vectors_has_no_map(known, name, kind):
    with pytest.raises(NotFound, match="This model has no map of"):
        make_map(known[name], kind)


def test_of_many_names_t_sne_has_fewer(folder, monkeypatch):
    monkeypatch.setattr(maps, "MOST_BY_TSNE", 12)
    knowledge = Knowledge(load_model(folder / "als"))
    assert make_map(knowledge, "items", "tsne").num_points == 12
    assert make_map(knowledge, "items", "neighbours").num_points == 20


def test_axes_run_from_one_name_to_another(known):
    ends = Ends(NAMES[0], NAMES[12], NAMES[3], NAMES[1])
    found = make_map(known["als"], "items", "directions", ends=ends)
    places = unpacked(found.coordinates, "<f4").reshape(-1, 2)
    assert places[[0, 12], 0].tolist() == pytest.approx([-0.5, 0.5], abs=1e-6)
    assert places[[3, 1], 1].tolist() == pytest.approx([-0.5, 0.5], abs=1e-6)
    assert found.ends == [NAMES[0], NAMES[12], NAMES[3], NAMES[1]]
    assert found.variance == []


def test_axes_that_nobody_chose_run_between_the_farthest(known):
    found = make_map(known["als"], "items", "directions")
    across = unpacked(found.coordinates, "<f4").reshape(-1, 2)[:, 0]
    left, right = (NAMES.index(name) for name in found.ends[:2])
    assert (across[left], across[right]) == (pytest.approx(-0.5), pytest.approx(0.5))
    assert found.ends[2:] == ["", ""]


def test_axes_between_what_is_not_there_are_refused(known):
    with pytest.raises(NotFound, match="'absent' is not among the 20 items"):
        make_map(known["als"], "items", "directions", ends=Ends("absent", NAMES[0]))
    with pytest.raises(ValueError, match="must lie at different places"):
        make_map(known["als"], "items", "directions", ends=Ends(NAMES[0], NAMES[0]))
    with pytest.raises(ValueError, match="axes must be 2 or 3 different numbers from 1 to 2"):
        make_map(known["als"], "items", "directions", (1, 2, 3))
