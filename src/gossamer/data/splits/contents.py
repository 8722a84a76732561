"""Held-out documents, examples or series, each chosen by what is in it: no process needs to know another's."""

from __future__ import annotations

import numpy as np

from gossamer.data.parts import Parts, over_words, training_words
from gossamer.data.row_digests import row_contents
from gossamer.data.sentences import Sentences
from gossamer.data.share import Gather, alone
from gossamer.data.splits.hashed import check_shares, hash_contents, held_out_by
from gossamer.data.splits.random import Rowwise


def split_contents(
    container: Rowwise,
    valid_share: float = 0.1,
    test_share: float = 0.1,
    *,
    random_state: int = 0,
    gather: Gather = alone,
) -> Parts:
    """Hold rows out by a hash of what is in them (of series with names, of the name) and the seed.

    Rows of the same content are in the same part, so that nothing is learned that is tested. The split of a part of the
    rows is that part of the split. Hence shares are about right, not exactly, and parts may be empty. As in
    `split_documents` the words of sentences become those of training, of all processes' by `gather`.
    """
    check_shares(valid_share, test_share, random_state, "rows")
    is_valid, is_test = held_out_by(hash_contents(row_contents(container), random_state), valid_share, test_share)
    train, valid, test = (container[np.flatnonzero(chosen)] for chosen in (~is_valid & ~is_test, is_valid, is_test))
    if isinstance(train, Sentences):
        words = training_words(train, gather)
        train, valid, test = (over_words(part, words) for part in (train, valid, test))
    settings = {"valid_share": valid_share, "test_share": test_share, "seed": random_state}
    sizes = {f"{name}_rows": len(part) for name, part in (("train", train), ("valid", valid), ("test", test))}
    return Parts(train, valid if valid_share else None, test, {"kind": "contents", **settings, **sizes})
