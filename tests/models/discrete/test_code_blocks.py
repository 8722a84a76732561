"""Codes survive their storage, and damaged storage is refused before a compiled loop reads it."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy import sparse

from gossamer.models.discrete.code_blocks import CodeBlocks
from gossamer.models.discrete.code_kernels import JACCARD, WORDS, add_planes
from gossamer.models.discrete.codes import read_codes


def stored(num_rows: int = 5000, num_features: int = 20, highest: int = 2) -> tuple[np.ndarray, CodeBlocks]:
    rng = np.random.default_rng(0)
    # From features that every second row has to features that nobody has.
    is_on = rng.random((num_rows, num_features)) < np.linspace(0.5, 0, num_features)
    codes = is_on * rng.integers(1, highest + 1, is_on.shape)
    return codes, CodeBlocks.build(read_codes("codes", codes))


@pytest.mark.parametrize("highest", [1, 3])
def test_rows_come_back(highest: int) -> None:
    codes, blocks = stored(highest=highest)
    wanted = np.array([4999, 0, 4096, 0, 17])
    assert blocks.rows(wanted).toarray().tolist() == codes[wanted].tolist()
    assert blocks.shape == codes.shape


def test_frequent_features_are_bitmaps_and_rare_ones_lists() -> None:
    codes, blocks = stored(highest=1)
    assert blocks.bitmaps.shape[0] + np.count_nonzero(blocks.lengths <= 128) == blocks.lengths.size
    per_block = np.add.reduceat(codes, [0, 4096])
    assert blocks.bitmaps.shape[0] == np.count_nonzero(per_block > 128)
    assert len(blocks.positions) == per_block[per_block <= 128].sum()
    assert blocks.first_plane[-1] == np.count_nonzero(codes.any(axis=0))  # what nobody has is not stored


def test_bytes_count_every_array() -> None:
    _, blocks = stored()
    assert blocks.nbytes == blocks.places.nbytes + sum(array.nbytes for array in blocks.arrays().values())
    assert "norms" in blocks.arrays()
    assert "norms" not in stored(highest=1)[1].arrays()


def test_adding_planes_counts() -> None:
    rng = np.random.default_rng(0)
    bits = rng.random((41, 64 * WORDS)) < 0.4
    bits[-1] = False
    planes = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    for slots in (np.arange(3), np.arange(7), np.arange(38), np.array([5, 5, 5, 5, 40, 40, 40])):
        counts = bits[slots].sum(axis=0)
        num_digits = 6
        needed = rng.integers(0, len(slots) + 2, WORDS).astype(np.uint64)
        digits, passed = np.zeros((num_digits, WORDS), np.uint64), np.zeros(WORDS, np.uint64)
        any_passed = add_planes(planes, slots, needed, num_digits, digits, passed)
        is_passed = np.unpackbits(passed.view(np.uint8), bitorder="little").astype(bool)
        per_row = np.repeat(needed.astype(int), 64)
        assert (is_passed == (counts >= per_row)).all()
        assert any_passed == is_passed.any()
        above = sum(
            np.unpackbits(digit.view(np.uint8), bitorder="little").astype(int) << place
            for place, digit in enumerate(digits)
        )
        assert (above + per_row == counts)[is_passed].all()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, blocks = stored(highest=1)
    queries = sparse.csr_array(codes[:200])
    alone = blocks.nearest(queries, 5, JACCARD)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    together = blocks.nearest(queries, 5, JACCARD)
    assert [part.tolist() for part in alone] == [part.tolist() for part in together]


def test_stored_arrays_come_back() -> None:
    codes, blocks = stored()
    again = CodeBlocks.from_arrays(len(codes), blocks.arrays())
    queries = sparse.csr_array(codes[:10])
    assert again.nearest(queries, 3, JACCARD)[0].tolist() == blocks.nearest(queries, 3, JACCARD)[0].tolist()


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("first_plane", lambda a: a[::-1].copy(), "array 'first_plane' must rise from 0"),
        ("lengths", lambda a: np.zeros_like(a), "array 'lengths' must tell of"),
        ("lengths", lambda a: a[:, :1], "array 'lengths' must have shape"),
        ("order", lambda a: np.zeros_like(a), "array 'order' must hold each of 0..4095 once"),
        ("sizes", lambda a: a[:, ::-1].copy(), "array 'sizes' must hold unsigned integers that rise"),
        ("positions", lambda a: a + np.uint16(60000), "array 'positions' must lie in 0..4095"),
        ("norms", lambda a: a.astype(np.uint32), "array 'norms' must be uint8, got uint32"),
        ("bitmaps", lambda a: a[:, :3], "array 'bitmaps' must have shape"),
    ],
)
def test_damaged_arrays_are_refused(name: str, damage: object, message: str) -> None:
    codes, blocks = stored()
    arrays = {**blocks.arrays(), name: damage(blocks.arrays()[name])}  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        CodeBlocks.from_arrays(len(codes), arrays)


def test_missing_arrays_are_named() -> None:
    codes, blocks = stored()
    arrays = blocks.arrays()
    del arrays["bitmaps"]
    with pytest.raises(ValueError, match="arrays must be named"):
        CodeBlocks.from_arrays(len(codes), arrays)
