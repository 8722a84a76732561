from __future__ import annotations

import numpy as np
import pytest

from gossamer.models.markov import NeuralEM
from gossamer.persistence import Artifact
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.following import what_follows
from gossamer.serving.loading import LoadedModel
from gossamer.testing.right_answers import two_phases


def test_the_next_event_is_the_planted_one(service):
    answer = service.next("events", sequence=["open", "read", "close", "open"], n=1)
    assert answer["expected"][0]["name"] == "read"
    assert answer["expected"][0]["value"] > 0.9
    assert sum(answer["next_step_probs"]) == pytest.approx(1)
    assert "next_state" not in answer  # an HMM has no durations to say when


def test_a_phase_that_has_lasted_ends_soon(service):
    model = service.models["phases"].estimator
    series = [[0.0, 0.0]] * 5
    answer = service.next("phases", sequence=series)
    following = model.next_phase(np.array(series, dtype=np.float32))
    assert answer["state"] == int(np.argmax(answer["state_probs"]))
    assert answer["next_state"] == 1 - answer["state"]
    assert answer["next_state_probs"] == pytest.approx(following.state_probs[0].tolist())
    assert 1 <= answer["steps_until"] < 6
    assert len(answer["expected"]) == 2


def test_missing_steps_and_values_are_null(service):
    assert service.next("events", sequence=["open", None, "close"], n=1)["expected"][0]["name"] == "open"
    assert service.next("phases", sequence=[[0.0, None], [None, None], [0.1, 0.2]])["state"] in (0, 1)


def test_every_series_may_have_its_own_model():
    model = NeuralEM(num_states=2, method="em", em_iterations=3, num_starts=1, start_epochs=5, epochs=1)
    fitted = model.fit(two_phases().train)
    answer = what_follows(LoadedModel("own", None, Artifact(fitted, {})), [[0.0, 0.0]] * 4 + [[8.0, 8.0]] * 4)
    assert sum(answer["state_probs"]) == pytest.approx(1)
    assert "steps_until" in answer


@pytest.mark.parametrize(
    ("model", "sequence", "message"),
    [
        ("events", [], "sequence must have at least one step, got none"),
        ("events", ["open", ["read"]], "all events or all vectors, got both"),
        ("phases", [[0.0, 0.0], [1.0]], "vectors of one length"),
        ("phases", [[0.0, 0.0], 3], "vectors of one length"),
        ("phases", [[0.0]], "2"),
        ("phases", ["open"], "event numbers where the model has no names of events"),
        ("phases", [1, 2], "2|matrix|reals"),
    ],
)
def test_what_is_no_series_is_refused(service, model, sequence, message):
    with pytest.raises(ValueError, match=message):
        service.next(model, sequence=sequence)


def test_an_unknown_event_is_named(service):
    with pytest.raises(NotFound, match="event must be one of the 3 that 'events' knows, got 'write'"):
        service.next("events", sequence=["open", "write"])


def test_a_model_without_series_says_so(service):
    with pytest.raises(CannotAnswer, match="must be one of series, such as hsmm, which 'ease'"):
        service.next("ease", sequence=["a0"])
