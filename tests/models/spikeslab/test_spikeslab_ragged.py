from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny_sentences import few_sentences, rows_of

from gossamer.models.spikeslab.ragged import LengthBatches, pack_sentences, padding_share


def test_a_batch_holds_every_word_once_and_no_padding():
    data = few_sentences()
    batch = pack_sentences(data, rows_of(data), 4)
    end = len(data.vocabulary)
    lengths = np.minimum(data.lengths, 4)
    assert len(batch.tokens) == lengths.sum() + len(data)
    for place, row in enumerate(batch.rows.tolist()):
        own = batch.sentence == place
        words = data.tokens[data.offsets[row] : data.offsets[row] + lengths[row]].tolist()
        assert batch.tokens[own].tolist() == [*words, end]
        assert batch.previous[own].tolist() == [end + 1, *words]
    assert batch.batch_sizes.tolist() == [5, 4, 2, 2, 1]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.integers(1, 20), st.integers(0, 3))
def test_every_sentence_is_in_an_epoch_once(lengths, batch_size, epoch):
    batches = LengthBatches(lambda rows: rows, np.array(lengths), batch_size)
    seen = np.concatenate([rows for rows, _ in batches.epoch(epoch)])
    assert sorted(seen.tolist()) == list(range(len(lengths)))
    again = np.concatenate([rows for rows, _ in batches.epoch(epoch)])
    np.testing.assert_array_equal(seen, again)


def test_less_than_a_fifth_would_be_padding():
    lengths = np.random.default_rng(0).geometric(1 / 30, size=5_000)
    batches = LengthBatches(lambda rows: rows, lengths, 32)
    order = batches._order(0)
    assert padding_share(lengths[order], 32) < 0.2 < padding_share(lengths, 32)
    assert not np.array_equal(order, batches._order(1))
