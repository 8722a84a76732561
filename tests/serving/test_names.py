from __future__ import annotations

import pytest

from gossamer.data import Vocabulary
from gossamer.serving.names import Names, vocabulary_of


@pytest.mark.parametrize("identifier", ["1.0", " 1", "1e0", "١", "", "9" * 20, "--1", "ham"])
def test_what_is_no_whole_number_is_not_found_among_integers(identifier):
    assert Names(Vocabulary([1, -1])).find(identifier) == -1


def test_ids_of_the_other_kind_are_found():
    assert Names(Vocabulary([1, -1])).find("-1") == 1
    assert Names(Vocabulary(["ham", "12"])).find(12) == 1
    assert Names(Vocabulary([5])).find(2**70) == -1


def test_known_ids_keep_their_order_and_unknown_ones_are_named_once():
    known, unknown = Names(Vocabulary(["ham", "eggs"])).split(["eggs", "tea", "ham", "eggs", "tea"])
    assert (list(known.items()), unknown) == ([(1, "eggs"), (0, "ham")], ["tea"])


def test_a_model_without_names_has_no_vocabulary():
    assert vocabulary_of(object()) is None
