"""What a model is for, read off its class: the data it is fitted on, and the split and metrics it is judged by."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gossamer import datasets
from gossamer.data import Counts, Interactions, LabelledArrays, Sentences, Sequences
from gossamer.data.parts import Parts
from gossamer.data.share import Share
from gossamer.runner.directory import is_directory
from gossamer.runner.estimators import find_class, make_estimator
from gossamer.runner.source import FILE_FORMS, is_file
from gossamer.runner.specs import DataSpec, SplitSpec

RANKING_METRICS = ("recall@20", "recall@50", "ndcg@100")
CONTAINERS = (Interactions, Sentences, Counts, Sequences, LabelledArrays)


def container_of(estimator: Any) -> type:
    """Return the container that a model, or its class, is fitted on: the one in the annotation of `fit`.

    >>> container_of(find_class("ease")).__name__
    'Interactions'
    """
    return _containers_of(estimator)[0]


def check_container(model: str, data: Any, name: str) -> None:
    """Refuse data of another kind than the model is fitted on, before anybody tries to divide them."""
    held = data.rows if isinstance(data, Share) else data
    kind = type(held.train if isinstance(held, Parts) else held)
    wanted = _containers_of(find_class(model))
    if kind in CONTAINERS and kind not in wanted:
        raise ValueError(
            f"data must be {' or '.join(cls.__name__ for cls in wanted)} for {model}, got {kind.__name__} from {name!r}"
        )


def takes_shares(model: str, settings: Mapping[str, Any] | None = None) -> bool:
    """Say whether a model learns from rows that processes have divided among them: whether its `fit` takes a `Share`.

    Where it does so with some settings only, it says of itself whether it `learns_from_shares`; that is asked where
    `settings` are given.

    >>> takes_shares("mult-vae"), takes_shares("ease"), takes_shares("cdae"), takes_shares("cdae", {})
    (True, False, True, False)
    """
    hint = typing.get_type_hints(find_class(model).fit)["data"]  # type: ignore[attr-defined]
    if not any(typing.get_origin(kind) is Share for kind in typing.get_args(hint)):
        return False
    return settings is None or bool(getattr(make_estimator(model, settings, seed=0), "learns_from_shares", True))


def _containers_of(estimator: Any) -> list[type]:
    cls = estimator if isinstance(estimator, type) else type(estimator)
    hint = typing.get_type_hints(cls.fit)["data"]  # type: ignore[attr-defined]
    found = [container for container in (hint, *typing.get_args(hint)) if container in CONTAINERS]
    if not found:
        raise TypeError(f"{cls.__name__}.fit must be annotated with one of the containers, got {hint}")
    return found


def task_of(estimator: Any) -> str:
    """Say in two words what a model, or its class, is judged by.

    >>> task_of(find_class("ease")), task_of(find_class("biased-mf"))
    ('recommend items', 'predict ratings')
    """
    container = container_of(estimator)
    if container is not Interactions:
        return f"read {container.__name__.lower()}"
    return "recommend items" if hasattr(estimator, "recommend") else "predict ratings"


def default_metrics(estimator: Any) -> tuple[str, ...] | None:
    """Return the metrics a model is judged by when nobody names any; None means all that its `evaluate` returns."""
    return RANKING_METRICS if task_of(estimator) == "recommend items" else None


def default_split(models: Sequence[str], seed: int, data: str | None = None) -> SplitSpec:
    """Return the split these models are judged by on the data called `data`.

    Recommenders are judged on held-out users, predictors on held-out ratings, and what reads documents on the test part
    of data that have one, else on a tenth of the rows. Of a directory, ids or contents choose what is held out, where
    the models could learn from shares of it.
    """
    tasks = {model: task_of(find_class(model)) for model in models}
    first, *others = dict.fromkeys(tasks.values())
    if others:
        named = [f"{model} to {task}" for model, task in tasks.items()]
        raise ValueError(f"models must all be for the same, got {', '.join(named)}")
    divides = data is not None and is_directory(data)
    if first == "recommend items":
        return SplitSpec("user-ids" if divides else "users", seed=seed)
    divides = divides and all(map(takes_shares, models))
    if first == "predict ratings":
        return SplitSpec("pair-ids" if divides else "random", seed=seed)
    if divides:
        return SplitSpec("contents", seed=seed)
    has_parts = data is not None and not is_file(data) and "train" in datasets.find(data).parts
    return SplitSpec("given" if has_parts else "rows", seed=seed)


def data_for(models: Sequence[str], spec: DataSpec) -> DataSpec:
    """Return the spec with the form of the data that the models take, where data can have several."""
    container = container_of(find_class(models[0]))
    if is_file(spec.name):
        form: str | None = FILE_FORMS[container]
    else:
        has_forms = "form" in datasets.find(spec.name).options()
        form = FILE_FORMS[container] if has_forms and container in (Sentences, Counts) else None
    # Interactions are what a file is when nothing is said.
    return spec if form in (None, "interactions") else replace(spec, options={"form": form, **spec.options})
