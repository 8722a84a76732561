"""The E-step as a graph against the recursions: counts, posteriors and what follows, of series of several lengths."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov.durations import poisson_log_table
from gossamer.models.markov.forecasting import next_hsmm_states
from gossamer.models.markov.hsmm_recursions import hsmm_expected_counts, hsmm_last_ages
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.semi_markov import expect, make_chain, next_states

onnxruntime = pytest.importorskip("onnxruntime")
NUM_STATES, LONGEST = 3, 4
LENGTHS = np.array([7, 1, 0, 5])


@pytest.fixture(scope="module")
def problem():
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.rand(*shape, generator=generator, dtype=torch.double) for shape in ((4, 3), (4, 3, 3), (4, 3))]
    initial, transition, rates = drawn
    transition = transition * (1 - torch.eye(3))
    logs = 4 * torch.randn(int(LENGTHS.sum()), NUM_STATES, generator=generator, dtype=torch.double)
    return initial / initial.sum(1, keepdim=True), transition / transition.sum(2, keepdim=True), 3 * rates, logs


def run(problem):
    initial, transition, rates, logs = problem
    graph = Graph(real=np.float64)
    given = graph.input("logs", np.float64, "length", "batch", NUM_STATES)
    there = graph.input("there", np.float64, "length", "batch")
    parameters = [
        graph.input(name, np.float64, *value.shape)
        for name, value in (("initial", initial), ("transition", transition), ("rates", rates))
    ]
    chain = make_chain(graph, *parameters, LONGEST)
    found = expect(graph, chain, given, there, LONGEST)
    outputs = {name: getattr(found, name) for name in ("initial", "transition", "duration", "states", "last")}
    for name, value in {**outputs, "next": next_states(chain, found.last)}.items():
        graph.output(f"found_{name}", value, np.float64, *["any"] * {"initial": 2, "next": 2}.get(name, 3))
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    is_there = np.arange(LENGTHS.max() + 2)[:, None] < LENGTHS
    padded = np.zeros((*is_there.shape, NUM_STATES))
    padded.transpose(1, 0, 2)[is_there.T] = logs.numpy()
    values = {"initial": initial.numpy(), "transition": transition.numpy(), "rates": rates.numpy()}
    answers = session.run(None, {"logs": padded, "there": is_there.astype(float), **values})
    names = [output.name.removeprefix("found_") for output in session.get_outputs()]
    return dict(zip(names, answers, strict=True)), is_there


def test_counts_and_posteriors_are_those_of_the_recursions(problem):
    initial, transition, rates, logs = problem
    found, is_there = run(problem)
    offsets = np.concatenate([[0], LENGTHS.cumsum()])
    tables = (initial.log(), transition.log(), poisson_log_table(rates, LONGEST))
    expected = hsmm_expected_counts(*tables, logs, offsets)
    for name in ("initial", "transition", "duration"):
        np.testing.assert_allclose(found[name], getattr(expected, name).numpy(), atol=1e-10)
    np.testing.assert_allclose(found["states"].transpose(1, 0, 2)[is_there.T], expected.states.numpy(), atol=1e-10)
    assert not found["states"].transpose(1, 0, 2)[~is_there.T].any()
    ages = hsmm_last_ages(*tables, logs, offsets)
    np.testing.assert_allclose(found["last"], ages.numpy(), atol=1e-10)
    following = next_hsmm_states(ages, tables[2].exp(), transition)
    np.testing.assert_allclose(found["next"], following.numpy(), atol=1e-10)
