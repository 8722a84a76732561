from __future__ import annotations

import pytest

from gossamer.models.markov import HMM, HSMM, choose_num_states
from gossamer.testing.planted import planted_phases


@pytest.mark.parametrize("model", [HMM(), HSMM()], ids=["hmm", "hsmm"])
def test_bic_finds_the_planted_number_of_states(model: HMM | HSMM):
    data = planted_phases(12, num_states=3, random_state=1).data
    choice = choose_num_states(model, data, [2, 3, 4])
    assert choice.best.num_states == 3
    assert [row["num_states"] for row in choice.table] == [2, 3, 4]
    assert min(choice.table, key=lambda row: row["bic"])["num_states"] == 3


def test_bad_candidates_are_named():
    data = planted_phases(3, random_state=1).data
    with pytest.raises(ValueError, match="candidates must be at least one number of states, got none"):
        choose_num_states(HMM(), data, [])
    with pytest.raises(ValueError, match="candidates must be an integer >= 1, got 0"):
        choose_num_states(HMM(), data, [0])
