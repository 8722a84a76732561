"""Questions to saved models, in Python: which items, which code, what is near, why, and what comes next."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any, TypeVar

from gossamer.core.checks import check_int
from gossamer.serving import encoding, explaining, following, recommending, similarity
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import Identity, LoadedModel, identity_of, load_model
from gossamer.serving.names import Id
from gossamer.serving.recommending import History

logger = logging.getLogger(__name__)

T = TypeVar("T")
Asked = tuple[LoadedModel, str]  # which model, and what: a key of ALL_AT_ONCE

# Questions that share a product or a pass of a network; phases of series and explanations do not.
ALL_AT_ONCE: dict[str, Callable[[LoadedModel, Sequence[Any]], list[dict[str, Any]]]] = {
    "recommend": recommending.recommend_all,
    "encode": encoding.encode_all,
    "similar": similarity.similar_all,
}


class Service:
    """The models of one or more artifacts, by the names of their directories; `model` may be left out where one is.

    Nothing is written and no model is changed. Any thread may ask; models are asked one at a time, because compiled
    loops and torch use the cores by themselves. `with_users` opens the data that recommenders were trained on, so that
    their users can be asked for by id.

    An id that is not known is answered as the model answers for somebody new, or is `NotFound`; a model that does not
    do what it is asked raises `CannotAnswer`; anything else that is wrong with a question is a ValueError.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]], *, with_users: bool = False) -> None:
        if not paths:
            raise ValueError("paths must name at least one artifact, got none")
        loaded: dict[str, LoadedModel] = {}
        for path in paths:
            model = load_model(path, with_users=with_users)
            if model.name in loaded:
                raise ValueError(
                    f"artifacts must have different names to be served together, got {model.name!r} twice: "
                    f"{loaded[model.name].path} and {model.path}"
                )
            loaded[model.name] = model
        self._models = loaded
        self._with_users = with_users
        self._refused: dict[str, Identity] = {}
        self._one_at_a_time = Lock()

    @property
    def models(self) -> Mapping[str, LoadedModel]:
        """The models as they are served now, by name."""
        return MappingProxyType(self._models)

    def find(self, name: str | None = None) -> LoadedModel:
        """Return the model called `name`, or the only one there is."""
        if name is None:
            if len(self._models) > 1:
                raise CannotAnswer(f"model must be given, one of {', '.join(sorted(self._models))}")
            return next(iter(self._models.values()))
        if name not in self._models:
            raise NotFound(f"model must be one of {', '.join(sorted(self._models))}, got {name!r:.120}")
        return self._models[name]

    def recommend(
        self,
        model: str | None = None,
        *,
        user: Id | None = None,
        history: History | None = None,
        n: int = 10,
        exclude_seen: bool = True,
    ) -> dict[str, Any]:
        """Return the n best items for a user, or after a history: item ids, or ratings by item id."""
        check_int("n", n, at_least=1)
        found = self.find(model)
        wanted = recommending.look_up(found, user, history, n, exclude_seen)
        return self.answer_all((found, "recommend"), [wanted])[0]

    def encode(
        self,
        model: str | None = None,
        *,
        documents: Sequence[encoding.Document] | None = None,
        texts: Sequence[str] | None = None,
        histories: Sequence[Sequence[Id]] | None = None,
        rows: Sequence[Sequence[float]] | None = None,
    ) -> dict[str, Any]:
        """Return the codes of documents {term: count}, of texts, of lists of items, or of rows of numbers."""
        given = encoding.look_at(documents, texts, histories, rows)
        return self.answer_all((self.find(model), "encode"), [given])[0]

    def similar(self, model: str | None = None, *, item: Id, n: int = 10) -> dict[str, Any]:
        """Return the n items nearest to an item, with the measure by which they are near."""
        check_int("n", n, at_least=1)
        found = self.find(model)
        return self.answer_all((found, "similar"), [similarity.look_up(found, item, n)])[0]

    def explain(
        self,
        model: str | None = None,
        *,
        user: Id | None = None,
        history: History | None = None,
        item: Id | None = None,
        n: int = 10,
    ) -> dict[str, Any]:
        """Return tables: of the model, of one of its users, or of what in a history speaks for an item."""
        check_int("n", n, at_least=1)
        found = self.find(model)
        if history is None and item is None:
            return self.ask(lambda: explaining.explain(found, n, user))
        if history is None or item is None or user is not None:
            raise ValueError("history and item must be given together, and without user")
        return self.ask(lambda: explaining.speakers(found, history, item, n))

    def next(
        self,
        model: str | None = None,
        *,
        sequence: following.Steps,
        features: Sequence[float] | None = None,
        n: int = 10,
    ) -> dict[str, Any]:
        """Return the present phase of a series, the next one and when, and what to expect of the next step."""
        check_int("n", n, at_least=1)
        found = self.find(model)
        return self.ask(lambda: following.what_follows(found, sequence, features=features, n=n))

    def answer_all(self, asked: Asked, questions: Sequence[Any]) -> list[dict[str, Any]]:
        """Answer questions whose ids were looked up, all of one kind, with as few calls of the model as can be."""
        model, kind = asked
        return self.ask(lambda: ALL_AT_ONCE[kind](model, questions))

    def ask(self, question: Callable[[], T]) -> T:
        """Return what `question` returns, while no other question is answered."""
        with self._one_at_a_time:
            return question()

    def load_replaced(self) -> list[LoadedModel]:
        """Load the artifacts that were replaced since they were loaded; a broken one is logged and left out."""
        fresh = []
        for name, model in self._models.items():
            identity = identity_of(model.path)
            if identity is None or identity in (model.identity, self._refused.get(name)):
                continue
            try:
                fresh.append(load_model(model.path, with_users=self._with_users))
            except Exception as error:  # whatever it is, the old one stays
                self.refuse(name, identity, error)
        return fresh

    def refuse(self, name: str, identity: Identity | None, error: Exception) -> None:
        """Leave a replaced artifact alone from now on; that is said once, not every second."""
        if identity is not None:
            self._refused[name] = identity
        logger.error("%s was replaced by what cannot be served, the old one stays: %s", name, error)

    def adopt(self, fresh: Sequence[LoadedModel]) -> None:
        """Answer by these models from now on; questions that are being answered end with the old ones."""
        self._models = {**self._models, **{model.name: model for model in fresh}}
        for model in fresh:
            logger.info("%s was replaced and is served anew", model.name)

    def warm_up(self, models: Sequence[LoadedModel] | None = None) -> None:
        """Build what the first question would wait for: dicts of names, vectors, compiled loops."""
        for model in self._models.values() if models is None else models:
            if "recommend" in model.questions and model.names is not None and len(model.names):
                for history in ([], [model.names[0]]):
                    self.answer_all((model, "recommend"), [recommending.look_up(model, None, history, 1)])
            if "similar" in model.questions and model.names is not None and len(model.names):
                self.answer_all((model, "similar"), [similarity.look_up(model, model.names[0], 1)])
