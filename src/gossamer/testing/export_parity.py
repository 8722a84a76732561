"""An exported graph must answer as the model it came from: one row, several together, and rows without anything."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.parts import over_words
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.serving.export.onnx_file import draw_graph

Arrays = dict[str, np.ndarray]
MOST_ROWS = 6


class Session:
    """A graph in onnxruntime, on one thread of the CPU."""

    def __init__(self, model: Any) -> None:
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        content = draw_graph(model).model({}).SerializeToString()
        self._session = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
        self.inputs = {value.name for value in self._session.get_inputs()}
        self._names = [value.name for value in self._session.get_outputs()]

    def __call__(self, **inputs: np.ndarray) -> Arrays:
        """Return all outputs by name."""
        return dict(zip(self._names, self._session.run(None, inputs), strict=True))


def assert_parity(model: Any, data: Any, *, tolerance: float = 2e-5) -> None:
    """Compare every output that the model has an answer for, in batches of one row and of several."""
    session = Session(model)
    if hasattr(model, "scoring"):  # refinement is a search that no graph holds
        model.scoring = "amortised"
    compare = next(compare for needed, compare in COMPARISONS if needed <= session.inputs)
    compare(session, model, data, tolerance)


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Compare numbers relative to the largest."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def all_scores(model: Any, history: Any, **options: Any) -> np.ndarray:
    """Return every item's score as `recommend` gives it."""
    num_items = len(model.items_)
    answer = model.recommend(history, n=num_items, exclude_seen=False, **options)
    scores = np.empty((len(history), num_items), dtype=np.float32)
    np.put_along_axis(scores, answer.items.astype(np.int64), answer.scores, axis=1)
    return scores


def padded(matrix: sparse.csr_array, more: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return ids, -1 after the last, and values, 0 there; `more` columns than the longest row has."""
    sizes = np.diff(matrix.indptr)
    shape = (matrix.shape[0], int(sizes.max(initial=0)) + more)
    is_there = np.arange(shape[1]) < sizes[:, None]
    ids, values = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.float32)
    ids[is_there], values[is_there] = matrix.indices, matrix.data
    return ids, values


def _histories(session: Session, model: Any, history: Interactions, tolerance: float) -> None:
    rows = history[:MOST_ROWS]
    empty = rows.keep(np.zeros(rows.nnz, dtype=bool))[:1]
    column = "rating" if getattr(model, "weighted", False) else None
    for some in (rows, rows[:1], empty, rows.keep(np.arange(rows.nnz) >= rows.indptr[1])):
        known = some.aligned_to(model.items_)
        ids, values = padded(known.matrix(column) if column else known.matrix())
        given = {"items": ids, "values": values}
        if "users" in session.inputs:
            given["users"] = model.users_.find(some.users.ids).astype(np.int64)
        expected = all_scores(model, some)
        assert_close(session(**given)["scores"], expected, tolerance)
        # What the vocabulary does not have is -1 wherever it stands, and its value does not count.
        strange = {name: np.insert(given[name], 0, unknown, axis=1) for name, unknown in (("items", -1), ("values", 5))}
        assert_close(session(**given | strange)["scores"], expected, tolerance)


def _documents(session: Session, model: Any, data: Counts, tolerance: float) -> None:
    nothing = Counts(sparse.csr_array((1, len(data.terms))), data.terms)
    for some in (data[:MOST_ROWS], data[:1], nothing):
        ids, values = padded(some.aligned_to(model.terms_).matrix)
        found = session(terms=np.insert(ids, 0, -1, axis=1), values=np.insert(values, 0, 5, axis=1))
        if "log_likelihood" in found:
            log_probs = np.log(model.probs_.astype(np.float64))
            assert_close(found["log_likelihood"], some.aligned_to(model.terms_).matrix @ log_probs, tolerance)
            assert_close(found["scores"], np.tile(log_probs, (len(some), 1)), tolerance)
            continue
        assert_close(found["codes"], model.transform(some, refine=False), tolerance)
        assert_close(found["scores"], all_scores(model, some, refine=False), tolerance)


def _pairs(session: Session, model: Any, data: Interactions, tolerance: float) -> None:
    strangers = Interactions.from_pairs(["stranger", data.users[0]], [data.items[0], "no such item"])
    for some in (data, data[:1], strangers):
        users, items = some.pairs()
        found = session(
            users=model.users_.find(some.users.ids)[users].astype(np.int64),
            items=model.items_.find(some.items.ids)[items].astype(np.int64),
        )
        assert_close(found["ratings"], model.predict(some), tolerance)


def _rows(session: Session, model: Any, data: Any, tolerance: float) -> None:
    answers: dict[str, str] = {
        "codes": "transform",
        "probs": "predict_proba",
        "labels": "predict",
        "expected": "predict",
        "counts": "predict_counts",
    }
    empty = [Counts(sparse.csr_array((1, len(data.terms))), data.terms)] if isinstance(data, Counts) else []
    for some in (data[:MOST_ROWS], data[:1], *empty):
        inputs = some.inputs if isinstance(some, LabelledArrays) else some.matrix.toarray()
        shape = getattr(model, "shape_", None)
        rows = inputs.reshape(len(inputs), *(shape if shape is not None else [-1])).astype(np.float32)
        for name, found in session(features=rows).items():
            expected = getattr(model, answers[name])(some)
            assert_close(found, expected.toarray() if sparse.issparse(expected) else expected, tolerance)


def _texts(session: Session, model: Any, data: Sentences, tolerance: float) -> None:
    words = model.words_ if hasattr(model, "words_") else model.vae_.words_
    empty = Sentences(np.empty(0, np.int32), np.array([0, 0]), data.vocabulary)
    for some in (data[:MOST_ROWS], data[:1], empty):
        known = over_words(some, words)
        shape = (len(known), int(known.lengths.max(initial=0)) + 2)
        numbers = np.full(shape, -1, dtype=np.int64)
        numbers[np.arange(shape[1]) < known.lengths[:, None]] = known.tokens
        found = session(words=numbers)
        if "probs" in found:
            assert_close(found["probs"], model.predict_probs(some), tolerance)
            continue
        if "probs_of_mean" in found:
            codes = model.vae_.transform(some, kind="mean")
            assert_close(found["codes"], codes, tolerance)
            expected = model.network_.probe(torch.from_numpy(codes)).exp().detach().numpy()
            assert_close(found["probs_of_mean"], expected, tolerance)
            continue
        settings = model.get_params(deep=False)
        refine_steps, model.refine_steps = settings["refine_steps"], 0
        assert_close(found["codes"], model.transform(some, kind="mean"), tolerance)
        assert_close(found["sparse_codes"], model.transform(some).toarray(), tolerance)
        model.refine_steps = refine_steps


def _steps(session: Session, model: Any, data: Sentences, tolerance: float) -> None:
    known = over_words(data[:2], model.words_)
    stream = np.concatenate([[model.start_], known.tokens]).astype(np.int64)
    states = dict.fromkeys(sorted(session.inputs - {"words"}))
    widths = {value.name: value.shape[1] for value in session._session.get_inputs() if value.name in states}
    for copies in (1, 3):
        carried = {name: np.zeros((copies, widths[name]), np.float32) for name in states}
        likelihood = np.zeros(copies)
        for word, following in pairwise(stream):
            found = session(words=np.full(copies, word), **carried)
            carried = {name: found[f"{name}_after"] for name in states}
            likelihood += found["log_probs"][:, following]
        expected = model.log_likelihood(known).sum()
        assert_close(likelihood, np.full(copies, expected), 5 * tolerance)


def _filters(session: Session, model: Any, data: Sequences, tolerance: float) -> None:
    series = data[:MOST_ROWS]
    shape = next(value.shape[1:] for value in session._session.get_inputs() if value.name == "belief")
    for row in range(len(series)):
        one = series[row : row + 1]
        values = np.asarray(one.observations)
        belief = np.zeros((1, *shape), np.float32)
        for step in range(len(values)):
            observed = values[step : step + 1]
            kind = np.int64 if model.emission == "categorical" else np.float32
            found = session(belief=belief, observation=observed.astype(kind))
            belief = found["filtered"]
        expected = model.next_observation(one)
        assert_close(found["next_states"], expected[0], 10 * tolerance)
        assert_close(found["expected"], expected[1], 10 * tolerance)
    together = session(belief=np.concatenate([belief, belief]), observation=np.repeat(observed.astype(kind), 2, axis=0))
    assert_close(together["filtered"][0], together["filtered"][1], tolerance)


def _whole_series(session: Session, model: Any, data: Sequences, tolerance: float) -> None:
    for some in (data[:MOST_ROWS], data[:1]):
        values, lengths = np.asarray(some.observations), np.asarray(some.lengths)
        kind, nothing = (np.int64, -1) if model.emission == "categorical" else (np.float32, np.nan)
        shape = (len(some), int(lengths.max(initial=0)) + 2, *values.shape[1:])
        is_there = np.arange(shape[1]) < lengths[:, None]
        given = {"observations": np.full(shape, nothing, dtype=kind), "lengths": lengths.astype(np.int64)}
        given["observations"][is_there] = values
        if "features" in session.inputs:
            given["features"] = np.asarray(some.features, dtype=np.float32)
        found = session(**given)
        assert_close(found["state_probs"][is_there], model.predict_proba(some), 10 * tolerance)
        assert not found["state_probs"][~is_there].any()
        states, expected = model.next_observation(some)
        assert_close(found["next_states"], states, 10 * tolerance)
        assert_close(found["expected"], expected, 10 * tolerance)


COMPARISONS: list[tuple[set[str], Callable[[Session, Any, Any, float], None]]] = [
    ({"items", "values"}, _histories),
    ({"terms", "values"}, _documents),
    ({"users", "items"}, _pairs),
    ({"observations", "lengths"}, _whole_series),
    ({"features"}, _rows),
    ({"belief"}, _filters),
    ({"words", "hidden_0"}, _steps),
    ({"words"}, _texts),
]
