"""The E-step of a hidden semi-Markov model as a graph: forward and backward passes over states and their ages.

A state together with how long it has lasted is a Markov chain, so both passes are loops with a small body (`Scan`).
Everything is in double precision and has an axis of series: each has parameters of its own. Letters: B series, T steps,
K states, D the longest duration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from gossamer.serving.export.graph import Graph, Value

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Chain:
    """Parameters of every series: first states (B, K), moves (B, K, K), durations and P(ends now | age), (B, K, D)."""

    initial: Value
    transition: Value
    duration: Value
    survival: Value
    hazard: Value


@dataclass(frozen=True)
class Expected:
    """What was expected of each series: counts, P(state) of every step (T, B, K), P(state, age) of the last (B, K, D).

    Rows of steps beyond the end of a series are zero.
    """

    initial: Value
    transition: Value
    duration: Value
    states: Value
    last: Value


def make_chain(graph: Graph, initial: Value, transition: Value, rates: Value, longest: int) -> Chain:
    """Return the chain of series whose phases last 1 + Poisson(`rates`) steps, at most `longest`."""
    extra = np.arange(longest, dtype=np.float64)
    logs = rates.at_least(1e-30).apply("Log").add_axis(2) * extra - gammaln(extra + 1)
    duration = logs.apply("Softmax", axis=2)
    survival = duration @ np.tril(np.ones((longest, longest)))
    ends = graph.where(survival > 0.0, duration / survival.at_least(TINY), 1.0).at_most(1.0)
    return Chain(initial, transition, duration, survival, ends)


def expect(graph: Graph, chain: Chain, log_emissions: Value, is_there: Value, longest: int) -> Expected:
    """Return expected counts given log densities (T, B, K) and which steps there are (T, B), all first.

    The last phase of a series is cut off by its end: it lasts at least as long as was seen.
    """
    emitted = (log_emissions - log_emissions.max(2, keep=True)).apply("Exp")
    num_states = log_emissions.graph.op("Shape", log_emissions, start=2, end=3)
    shape = graph.join(log_emissions.length(1), num_states, np.array([longest]), axis=0)
    nobody = graph.op("Expand", 0.0, shape)
    last, filtered = _forward(graph, chain, nobody, emitted, is_there, longest)
    beta = graph.op("Expand", 1.0, shape)
    moves = graph.op("Expand", 0.0, chain.transition.apply("Shape"))
    following = _shifted(graph, emitted)
    has_next = _shifted(graph, is_there)
    _, moved, ended, states = _backward(graph, chain, [beta, moves, nobody], [filtered, following, has_next], longest)
    states = states * is_there.add_axis(2)
    cut_off = graph.where(chain.survival > 0.0, last / chain.survival.at_least(TINY), 0.0)
    duration = ended + chain.duration * (cut_off @ np.triu(np.ones((longest, longest))))
    return Expected(states.part(0, 1, axis=0).drop_axis(0), moved, duration, states, last)


def next_states(chain: Chain, last: Value) -> Value:
    """Return P(state of the step after the last): the same phase goes on, or another one begins."""
    leaving = (last * chain.hazard).sum(2)
    return last.sum(2) - leaving + (leaving.add_axis(1) @ chain.transition).drop_axis(1)


def _shifted(graph: Graph, steps: Value) -> Value:
    """Return of every step what the next one has, 0 for the last."""
    return graph.join(steps.part(1, np.iinfo(np.int64).max, axis=0), steps.part(0, 1, axis=0) * 0.0, axis=0)


def _forward(
    graph: Graph, chain: Chain, nobody: Value, emitted: Value, is_there: Value, longest: int
) -> tuple[Value, Value]:
    """Return P(state, age | x so far) after the last step (B, K, D), and after every step (T, B, K, D)."""
    body = graph.body()
    belief = body.input(f"{body.scope}belief", np.float64, "batch", "states", longest)
    density = body.input(f"{body.scope}density", np.float64, "batch", "states")
    there = body.input(f"{body.scope}there", np.float64, "batch")
    leaving = belief * body.see(chain.hazard)
    begun = (leaving.sum(2).add_axis(1) @ body.see(chain.transition)).drop_axis(1)
    is_first = belief.sum(1, 2).add_axis(1) < 0.5
    begun = body.where(is_first, body.see(chain.initial), begun)
    older = (belief - leaving).part(0, longest - 1, axis=2)
    joint = body.join(begun.add_axis(2), older, axis=2) * density.add_axis(2)
    filtered = joint / joint.sum(1, 2, keep=True).at_least(TINY)
    after = body.where(there.add_axis(1, 2) > 0.5, filtered, belief)
    for name in ("after", "filtered"):
        body.output(f"{body.scope}{name}", after, np.float64, "batch", "states", longest)
    last, every = graph.scan(body, [nobody], [emitted, is_there], 1)
    return last, every


def _backward(graph: Graph, chain: Chain, carried: list[Value], steps: list[Value], longest: int) -> list[Value]:
    """Carry P(what follows | state, age) and counts of moves and ended phases back; P(state) of every step comes out.

    Of what follows only ratios count: it is divided by its largest at every step.
    """
    body = graph.body()
    scope, ages = body.scope, ("batch", "states", longest)
    beta = body.input(f"{scope}beta", np.float64, *ages)
    moves = body.input(f"{scope}moves", np.float64, "batch", "states", "states")
    ended = body.input(f"{scope}ended", np.float64, *ages)
    filtered = body.input(f"{scope}filtered", np.float64, *ages)
    density = body.input(f"{scope}density", np.float64, "batch", "states")
    has_next = body.input(f"{scope}next", np.float64, "batch")
    hazard, transition = body.see(chain.hazard), body.see(chain.transition)
    begins = density * beta.part(0, 1, axis=2).drop_axis(2)
    after_end = (transition @ begins.add_axis(2)).drop_axis(2)
    goes_on = body.join(beta.part(1, longest, axis=2), beta.part(0, 1, axis=2) * 0.0, axis=2) * density.add_axis(2)
    before = goes_on - hazard * goes_on + hazard * after_end.add_axis(2)
    scale = (has_next / (filtered * before).sum(1, 2).at_least(TINY)).add_axis(1)
    leaving = filtered * hazard * scale.add_axis(2)
    more_moves = leaving.sum(2).add_axis(2) * transition * begins.add_axis(1)
    more_ended = leaving * after_end.add_axis(2)
    relative = before / before.max(1, 2, keep=True).at_least(TINY)
    new_beta = body.where(has_next.add_axis(1, 2) > 0.5, relative, 1.0)
    weighed = filtered * new_beta
    posterior = weighed.sum(2) / weighed.sum(1, 2).at_least(TINY).add_axis(1)
    body.output(f"{scope}beta_before", new_beta, np.float64, *ages)
    body.output(f"{scope}moves_before", moves + more_moves, np.float64, "batch", "states", "states")
    body.output(f"{scope}ended_before", ended + more_ended, np.float64, *ages)
    body.output(f"{scope}posterior", posterior, np.float64, "batch", "states")
    return graph.scan(body, carried, steps, 1, backwards=True)
