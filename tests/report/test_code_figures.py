"""Pictures in rows, and a map on which similar codes are close, always the same one."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.report.code_figures import MAX_DOTS, _outline, code_map, picture_rows, place_codes


def planted_codes(num_rows: int, num_classes: int = 3) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, num_classes, num_rows)
    codes = np.zeros((num_rows, 4 * num_classes))
    codes[np.arange(num_rows)[:, None], 4 * labels[:, None] + rng.integers(0, 4, (num_rows, 3))] = 1
    return sparse.csr_array(codes), labels


def purity(places: np.ndarray, labels: np.ndarray) -> float:
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return float(np.mean(labels[distances.argmin(axis=1)] == labels))


def test_codes_of_one_class_lie_together_and_always_in_the_same_place():
    codes, labels = planted_codes(150)
    places = place_codes(codes)
    assert purity(places, labels) > 0.95
    assert (place_codes(codes) == places).all()


def test_few_codes_are_placed_by_principal_components():
    codes, labels = planted_codes(40)
    places = place_codes(codes)
    assert places.shape == (40, 2)
    assert np.allclose(places.mean(axis=0), 0, atol=1e-9)
    assert purity(places, labels) > 0.9


def test_codes_that_are_all_equal_or_empty_or_one_have_places():
    assert place_codes(sparse.csr_array((200, 5))).tolist() == [[0.0, 0.0]] * 200
    assert np.allclose(place_codes(sparse.csr_array(np.ones((200, 1)))), 0)
    assert place_codes(sparse.csr_array([[1.0, 0.0]])).tolist() == [[0.0, 0.0]]


def test_a_map_names_its_classes():
    codes, labels = planted_codes(40)
    drawing = code_map(codes, labels, ["cats", "dogs", "cows"])
    assert drawing.alt == "40 codes on a plane, by class: cats, dogs, cows."
    assert all(name in drawing.svg for name in ("cats", "dogs", "cows"))
    assert code_map(codes, labels, ["cats", "dogs", "cows"]) == drawing


def test_a_map_without_classes_and_with_too_many():
    codes, _ = planted_codes(60)
    assert code_map(codes).alt == "60 codes on a plane."
    many = code_map(codes, np.arange(60) % 20)
    assert "others" in many.alt
    assert many.alt.count(",") == 13


def test_a_map_shows_a_part_of_many_codes(monkeypatch):
    monkeypatch.setattr("gossamer.report.code_figures.MAX_DOTS", 30)
    codes, labels = planted_codes(100)
    assert code_map(codes, labels).alt.startswith("30 codes")
    assert MAX_DOTS > 30


def test_pictures_are_shapes_in_the_ink_of_the_page():
    pictures = np.random.default_rng(0).random((4, 8, 8))
    drawing = picture_rows("Rebuilt", [pictures, pictures[:2]], ["observed", "rebuilt"], "four and two")
    assert "<image" not in drawing.svg
    assert drawing.svg.count("opacity") == 7  # a path for each shade; the full one needs none
    assert "observed" in drawing.svg
    assert picture_rows("Rebuilt", [pictures, pictures[:2]], ["observed", "rebuilt"], "four and two") == drawing


def test_an_outline_covers_what_is_on_and_nothing_else():
    is_on = np.random.default_rng(0).random((6, 7)) < 0.5
    outline = _outline(is_on)
    for line in range(6):
        for column in range(7):
            assert outline.contains_point((column + 0.5, line + 0.5)) == is_on[line, column]
    assert len(_outline(np.zeros((2, 2), dtype=bool)).vertices) == 0


def test_rows_and_colours_are_pictures_too():
    rng = np.random.default_rng(0)
    for shape in ((3, 20), (3, 8, 8, 3), (3, 3, 8, 8), (3, 1)):
        assert "opacity" in picture_rows("t", [rng.random(shape)], ["a"], "").svg
    assert "opacity" not in picture_rows("t", [np.zeros((2, 4, 4))], ["constant"], "").svg
