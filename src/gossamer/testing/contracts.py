"""What every estimator must keep to. Adding a model to the contracts is one `Case` in tests/test_contracts.py."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gossamer.core.protocols import Explainer, Predictor, Recommender, Sampler, Transformer
from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.parts import Parts
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence import Persistable, read_artifact
from gossamer.testing.array_contracts import OF_ARRAY_PROTOCOLS
from gossamer.testing.pair_contracts import targets_are_likelier
from gossamer.testing.right_answers import BLOCK_ITEMS, BLOCK_USERS, two_blocks
from gossamer.testing.right_answers import two_themes as two_themes
from gossamer.testing.right_answers import two_topics as two_topics
from gossamer.testing.sequence_contracts import OF_SEQUENCE_PROTOCOLS


@dataclass(frozen=True)
class Case:
    """An estimator to hold to the contracts, and data to do it with: interactions held out, texts or counts in parts.

    `is_personal` is False for models that give everyone the same answer, and so cannot know the planted one. `strange`
    returns data of a kind that the estimator must refuse.
    """

    estimator: Any
    data: Callable[[], Any] = two_blocks
    is_personal: bool = True
    strange: Callable[[], Any] = lambda: np.eye(3)

    def fresh(self) -> Any:
        """Return an unfitted copy of the estimator."""
        return clone(self.estimator)

    def fitted(self) -> Any:
        """Return a copy fitted on the case's data: fitted once, and copied so that no check sees what another did."""
        try:
            return deepcopy(self._fitted_once)
        except RuntimeError:  # torch copies no module that keeps the graph of its last pass
            return self._fit()

    @cached_property
    def _fitted_once(self) -> Any:
        return self._fit()

    def _fit(self) -> Any:
        return self.fresh().fit(self.training())

    def training(self) -> Any:
        """Return what is fitted."""
        data = self.data()
        return data.train if isinstance(data, Parts) else data.history

    def held_out(self) -> Any:
        """Return what is evaluated."""
        data = self.data()
        return data.test if isinstance(data, Parts) else data


Check = Callable[[Case], None]


def checks_for(case: Case) -> list[Check]:
    """Return the contracts that apply, by what the estimator can do."""
    checks = list(_OF_ESTIMATORS)
    data = case.data()
    of_protocols = _OF_PROTOCOLS | _BY_DATA[type(data.train) if isinstance(data, Parts) else Interactions]
    for protocol, more in of_protocols.items():
        if isinstance(case.estimator, protocol):
            checks += more
    return checks


def constructor_is_configuration(case: Case) -> None:
    """Arguments are keyword-only, stored unchanged, JSON-able, and survive scikit-learn's `clone`."""
    arguments = case.estimator.get_params(deep=False)
    assert arguments == json.loads(json.dumps(arguments))
    assert type(case.estimator)(**arguments).get_params(deep=False) == arguments
    assert clone(case.estimator).get_params(deep=False) == arguments
    assert all(getattr(case.estimator, name) is value for name, value in arguments.items())


def bad_arguments_are_named(case: Case) -> None:
    """Nonsense in any argument is a ValueError of `fit`, not of the constructor, that names it and quotes the value."""
    for name in case.estimator.get_params(deep=False):
        estimator = case.fresh().set_params(**{name: "nonsense"})
        message = _message_of(ValueError, estimator.fit, case.training())
        assert re.match(rf"{name} must be .*, got 'nonsense'", message), f"{name}: {message}"


def wrong_data_is_refused(case: Case) -> None:
    """Data of another kind is a ValueError that says what was expected."""
    strange = case.strange()
    message = _message_of(ValueError, case.fresh().fit, strange)
    assert re.match(rf"data must be \w+, got {type(strange).__name__}", message), message


def fit_returns_self_and_changes_no_argument(case: Case) -> None:
    """`fit` returns the estimator, leaves its arguments alone and stores what it learned with a trailing underscore."""
    estimator = case.fresh()
    before = set(vars(estimator))
    assert estimator.fit(case.training()) is estimator
    assert estimator.get_params(deep=False) == case.estimator.get_params(deep=False)
    learned = set(vars(estimator)) - before
    assert learned
    assert all(name.endswith("_") for name in learned), learned


def unfitted_use_is_explained(case: Case) -> None:
    """Every use before `fit` is scikit-learn's NotFittedError, and saving is refused for that reason."""
    held_out = case.held_out()
    uses: dict[str, tuple[Any, ...]] = {
        "recommend": (case.training(),),
        "predict": (getattr(held_out, "target", held_out),),
        "evaluate": (held_out,),
        "explain": (),
        "sample": (1,),
        "transform": (case.training(),),
    }
    for name, arguments in uses.items():
        if hasattr(case.estimator, name):
            message = _message_of(NotFittedError, getattr(case.fresh(), name), *arguments)
            assert type(case.estimator).__name__ in message
    with tempfile.TemporaryDirectory() as folder:
        assert "not fitted" in _message_of(ValueError, case.fresh().save, Path(folder) / "model")


def same_seed_same_model(case: Case) -> None:
    """Two fits with equal arguments learn equal arrays, and a second fit forgets the first."""
    first, second = case.fitted(), case._fit()
    _assert_equal_arrays(first, second)
    _assert_equal_arrays(first, second.fit(case.training()))


def evaluation_is_finite(case: Case) -> None:
    """`evaluate` returns named finite numbers, and fitting with validation data gives as many."""
    held_out = case.held_out()
    measured = case.fitted().evaluate(held_out)
    assert measured
    assert all(isinstance(name, str) and np.isfinite(value) for name, value in measured.items()), measured
    assert set(case.fresh().fit(case.training(), held_out).evaluate(held_out)) == set(measured)


def artifact_is_the_model(case: Case) -> None:
    """What is loaded has the saved model's arguments, arrays, vocabularies, measures and answers."""
    saved = case.fitted()
    with tempfile.TemporaryDirectory() as folder:
        saved.save(Path(folder) / "model", provenance={"data": "planted"})
        loaded = type(saved).load(Path(folder) / "model")
        config = read_artifact(Path(folder) / "model").config
    assert config["provenance"] == {"data": "planted"}
    assert loaded.get_params(deep=False) == saved.get_params(deep=False)
    _assert_equal_arrays(saved, loaded)
    assert loaded.learned_vocabularies() == saved.learned_vocabularies()
    assert loaded.learned_metadata() == saved.learned_metadata()
    assert loaded.evaluate(case.held_out()) == saved.evaluate(case.held_out())
    if isinstance(saved, Recommender):
        first, second = saved.recommend(case.training()), loaded.recommend(case.training())
        np.testing.assert_array_equal(first.items, second.items)
        np.testing.assert_array_equal(first.scores, second.scores)


def damaged_arrays_are_refused(case: Case) -> None:
    """`restore` takes nothing that does not fit: a missing array, or one of another shape, is a ValueError."""
    model = case.fitted()
    arrays, vocabularies, metadata = model.learned_arrays(), model.learned_vocabularies(), model.learned_metadata()
    for name, array in arrays.items():
        without = {other: value for other, value in arrays.items() if other != name}
        _message_of(ValueError, case.fresh().restore, without, vocabularies, metadata)
        longer = arrays | {name: np.concatenate([array, array])}
        _message_of(ValueError, case.fresh().restore, longer, vocabularies, metadata)


def planted_item_is_recommended(case: Case) -> None:
    """Each user of the two blocks is recommended the one item missing from their own block."""
    held_out = case.data()
    answer = case.fitted().recommend(held_out.history, n=1)
    assert np.isfinite(answer.scores).all()
    if case.is_personal:
        np.testing.assert_array_equal(answer.items[:, 0], held_out.target.indices)


def new_users_are_served(case: Case) -> None:
    """A user who was not in the training data gets what a known one with the same history gets."""
    history = case.data().history
    model = case.fresh().fit(history[1:])
    known = model.recommend(history[BLOCK_ITEMS : BLOCK_ITEMS + 1], n=1)  # the same items as user 0
    np.testing.assert_array_equal(model.recommend(history[:1], n=1).items, known.items)


def lists_are_well_formed(case: Case) -> None:
    """Lists are best first, without repeats or seen items, and padded with -1 only where nothing is left."""
    history = case.data().history
    num_items = history.num_items
    answer = case.fitted().recommend(history, n=num_items + 3)
    assert answer.items.shape == answer.scores.shape == (len(history), num_items + 3)
    for row, (items, scores) in enumerate(zip(answer.items, answer.scores, strict=True)):
        unseen = np.setdiff1d(np.arange(num_items), history[row : row + 1].indices)
        np.testing.assert_array_equal(np.sort(items[: len(unseen)]), unseen)
        assert (items[len(unseen) :] == -1).all()
        assert (scores[len(unseen) :] == -np.inf).all()
        assert (np.diff(scores[: len(unseen)]) <= 0).all()
    everything = case.fitted().recommend(history, n=num_items, exclude_seen=False)
    assert (np.sort(everything.items, axis=1) == np.arange(num_items)).all()


def strangers_get_popular_items(case: Case) -> None:
    """A user with an empty history, or with unknown items only, is recommended the most popular items."""
    history = case.data().history
    model = case.fresh().fit(history[: BLOCK_USERS + 3])  # block a is the larger one now
    empty = history.keep(np.zeros(history.nnz, dtype=bool))[:2]
    unknown = Interactions.from_pairs(["stranger"], ["no such item"], rating=[1.0])
    for strangers in (empty, unknown):
        answer = model.recommend(strangers, n=BLOCK_ITEMS)
        assert all(str(model.items_[item]).startswith("a") for item in answer.items.ravel()), answer.items


def unknown_items_change_nothing(case: Case) -> None:
    """Items are found by their ids: another order, or items the model does not know, give the same answer."""
    history = case.data().history
    model = case.fitted()
    others = Vocabulary(["no such item", *reversed(history.items.ids.to_list())])
    answer, expected = model.recommend(history.aligned_to(others), n=3), model.recommend(history, n=3)
    np.testing.assert_array_equal(answer.items, expected.items)
    np.testing.assert_allclose(answer.scores, expected.scores, rtol=1e-5)


def bad_requests_are_named(case: Case) -> None:
    """n and history are checked by name."""
    model = case.fitted()
    history = case.data().history
    assert _message_of(ValueError, model.recommend, history, 0).startswith("n must be")
    assert _message_of(ValueError, model.recommend, np.eye(3)).startswith("history must be")


def predictions_are_finite(case: Case) -> None:
    """One finite prediction per pair, also for users and items the model has never seen."""
    held_out = case.data()
    model = case.fresh().fit(held_out.history[:5])
    strangers = Interactions.from_pairs(["user 0", "stranger", "stranger"], ["no such item", "a0", "no such item"])
    for pairs in (held_out.target, strangers):
        prediction = model.predict(pairs)
        assert prediction.shape == (pairs.nnz,)
        assert np.isfinite(prediction).all()


def planted_rating_is_predicted(case: Case) -> None:
    """Users of the two blocks give everything the same rating: users who rate high are predicted higher."""
    if isinstance(case.estimator, Recommender):  # it predicts who takes what, not how much they like it
        targets_are_likelier(case)
        return
    held_out = case.data()
    prediction = case.fitted().predict(held_out.target)
    assert held_out.target.rating is not None
    high = held_out.target.rating > 3
    assert prediction[high].min() > prediction[~high].max()


def explanation_is_made_of_tables(case: Case) -> None:
    """`explain` returns named, JSON-able lists of dicts with equal keys, at most n rows long."""
    tables = case.fitted().explain(n=3)
    assert tables
    json.dumps(tables, allow_nan=False)
    for name, rows in tables.items():
        assert 1 <= len(rows) <= 3, name
        assert len({tuple(row) for row in rows}) == 1, name


def planted_class_is_predicted(case: Case) -> None:
    """The topic of a text is predicted, and a text that is empty, or all of unknown words, has a class too."""
    held_out = case.held_out()
    model = case.fitted()
    np.testing.assert_array_equal(model.predict(held_out), held_out.labels)
    strangers = build_sentences(["", "no such words"], unknown=None)
    prediction = model.predict(strangers)
    assert prediction.shape == (2,)
    assert ((prediction >= 0) & (prediction < len(held_out.label_names))).all()


def samples_are_of_the_kind(case: Case) -> None:
    """`sample` returns as many new observations as asked for, over the same words, the same ones for the same seed."""
    model = case.fitted()
    drawn = model.sample(3, random_state=1)
    assert len(drawn) == 3
    assert drawn.vocabulary == case.training().vocabulary
    np.testing.assert_array_equal(drawn.tokens, model.sample(3, random_state=1).tokens)


def codes_tell_themes_apart(case: Case) -> None:
    """A document's code, finite also for an empty document, is nearest to that of a document of the same theme."""
    data = case.data()
    model = case.fitted()
    known, new = model.transform(data.train), model.transform(data.test)
    distances = np.square(new[:, None, :] - known[None, :, :]).sum(axis=2)
    np.testing.assert_array_equal(data.train.labels[distances.argmin(axis=1)], data.test.labels)
    empty = Counts(sparse.csr_array((2, len(data.train.terms))), data.train.terms)
    assert model.transform(empty).shape == (2, new.shape[1])
    assert np.isfinite(model.transform(empty)).all()


def term_lists_are_well_formed(case: Case) -> None:
    """A document is recommended terms of its theme; lists are best first, without repeats or terms it has."""
    data = case.held_out()
    num_terms = len(data.terms)
    model = case.fitted()
    first = model.recommend(data, n=1)
    if case.is_personal:
        wanted = [data.label_names[label] for label in data.labels]
        assert [str(data.terms[term])[0] for term in first.items[:, 0]] == wanted
    answer = model.recommend(data, n=num_terms + 1)
    for items, scores, row in zip(answer.items, answer.scores, data.matrix.toarray(), strict=True):
        unseen = np.flatnonzero(row == 0)
        np.testing.assert_array_equal(np.sort(items[: len(unseen)]), unseen)
        assert (items[len(unseen) :] == -1).all()
        assert (np.diff(scores[: len(unseen)]) <= 0).all()
    assert _message_of(ValueError, model.recommend, data, 0).startswith("n must be")


def samples_are_counts(case: Case) -> None:
    """`sample` returns as many new documents as asked for, over the same terms, the same ones for the same seed."""
    model = case.fitted()
    drawn = model.sample(5, random_state=1)
    assert len(drawn) == 5
    assert drawn.terms == case.training().terms
    assert (drawn.matrix.sum(axis=1) > 0).all()
    assert drawn.fingerprint() == model.sample(5, random_state=1).fingerprint()
    assert _message_of(ValueError, model.sample, 0).startswith("n must be")


_OF_ESTIMATORS: list[Check] = [
    constructor_is_configuration,
    bad_arguments_are_named,
    wrong_data_is_refused,
    fit_returns_self_and_changes_no_argument,
    unfitted_use_is_explained,
    same_seed_same_model,
    evaluation_is_finite,
]
_OF_PROTOCOLS: dict[type, list[Check]] = {
    Persistable: [artifact_is_the_model, damaged_arrays_are_refused],
    Explainer: [explanation_is_made_of_tables],
}
_BY_DATA: dict[type, dict[type, list[Check]]] = {
    Interactions: {
        Recommender: [
            planted_item_is_recommended,
            new_users_are_served,
            lists_are_well_formed,
            strangers_get_popular_items,
            unknown_items_change_nothing,
            bad_requests_are_named,
        ],
        Predictor: [predictions_are_finite, planted_rating_is_predicted],
    },
    Sentences: {Predictor: [planted_class_is_predicted], Sampler: [samples_are_of_the_kind]},
    Counts: {
        Transformer: [codes_tell_themes_apart],
        Recommender: [term_lists_are_well_formed],
        Sampler: [samples_are_counts],
    },
    LabelledArrays: OF_ARRAY_PROTOCOLS,
    Sequences: OF_SEQUENCE_PROTOCOLS,
}


def _message_of(error: type[Exception], action: Callable[..., object], *arguments: object) -> str:
    """Return the message of the `error` that the call must raise."""
    try:
        action(*arguments)
    except error as raised:
        return str(raised)
    raise AssertionError(f"{error.__name__} must be raised, got none")


def _assert_equal_arrays(first: Any, second: Any) -> None:
    arrays, others = first.learned_arrays(), second.learned_arrays()
    assert set(arrays) == set(others)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
