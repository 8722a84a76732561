"""Which groups a fitted model has, found by what it offers rather than by what it is.

Each finder looks for one capability (a table with anchors, a decoder with latent directions, codes that decode, phases,
communities) and returns no groups where it is missing; `find_groups` asks all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from scipy import sparse

from gossamer.core.randomness import torch_generator
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts.topics import find_topics
from gossamer.serving.explorer.groups import TINY, Groups

MOST_DIRECTIONS = 100  # of a decoder: more than that nobody reads
NUM_DRAWS = 256  # of a prior, for what is frequent overall
NUM_TYPICAL = 12

Vocabularies = Mapping[str, Vocabulary]


def find_groups(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    """Return everything that a model sorts its names into, in the order of the finders."""
    found: list[Groups] = []
    for finder in (_anchors, _communities, _topics, _code_features, _phases, _dimensions, _stored_codes):
        found += finder(estimator, vocabularies)
    return [groups for groups in found if len(groups)]


def tables_of(estimator: Any, vocabularies: Vocabularies) -> Iterator[tuple[str, Any]]:
    """Yield (vocabulary, table) for tables with a vector per name, in a rating model or anywhere in a network."""
    sides = getattr(estimator, "model_", None)
    for kind in vocabularies:
        table = getattr(sides, kind, None)
        if hasattr(table, "num_embeddings"):
            yield kind, table
    network = getattr(estimator, "network_", None)
    for module in network.modules() if isinstance(network, torch.nn.Module) else ():
        for kind, vocabulary in vocabularies.items():
            if getattr(module, "num_embeddings", None) == len(vocabulary) and hasattr(module, "weight"):
                yield kind, module


def _anchors(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    found = []
    for kind, table in tables_of(estimator, vocabularies):
        if not hasattr(table, "anchors_of"):
            continue
        weights = sparse.csc_array(table.transform())
        totals = np.asarray(weights.sum(axis=0)).ravel()
        order = np.argsort(-totals, kind="stable")
        order = order[totals[order] > 0]
        counts = np.diff(weights.indptr)[order]
        found.append(
            Groups(
                key=f"anchors-{kind}",
                noun="anchor",
                kind=kind,
                sizes=totals[order] / max(float(totals.sum()), TINY),
                size_meaning="share of all weight",
                weights=weights[:, order],
                weight_meaning="weight of the anchor in its vector",
                labels=[str(anchor) for anchor in order],
                facts=[{kind: int(count)} for count in counts],
                vectors=table.anchors.detach().cpu().numpy()[order],
            )
        )
    return found


def _communities(estimator: Any, _: Vocabularies) -> list[Groups]:
    if not hasattr(estimator, "communities") or not estimator.network_.has_communities:
        return []
    memberships = estimator.memberships()
    rows = estimator.communities(NUM_TYPICAL)
    order = np.array([row["community"] for row in rows])
    shared: dict[str, Any] = {
        "noun": "community",
        "sizes": np.array([row["share of weight"] for row in rows]),
        "size_meaning": "share of all memberships",
        "labels": [str(row["community"]) for row in rows],
        "vectors": estimator.network_.community_space().detach().cpu().numpy()[order],
    }
    liked = estimator.raised_items().T[:, order]
    facts = [{"members": row["members"]} for row in rows]
    return [
        Groups(
            key="communities-items",
            kind="items",
            weights=liked,
            weight_meaning="how much the community raises it, popularity left aside",
            facts=[
                fact | {"typical members": ", ".join(map(str, row["typical members"][:5]))}
                for fact, row in zip(facts, rows, strict=True)
            ],
            **shared,
        ),
        Groups(
            key="communities-users",
            kind="users",
            weights=memberships[:, order],
            weight_meaning="membership",
            facts=[
                fact | {"typical items": ", ".join(map(str, row["typical items"][:5]))}
                for fact, row in zip(facts, rows, strict=True)
            ],
            **shared,
        ),
    ]


def _topics(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    """Return the turned directions of a count model: what one standard deviation of z along each makes likelier."""
    decoder: Any = getattr(getattr(estimator, "network_", None), "decoder", None)
    kind = next((kind for kind in ("terms", "items") if kind in vocabularies), None)
    if kind is None or not hasattr(decoder, "latent_dim") or not hasattr(decoder, "logits"):
        return []
    topics = find_topics(decoder, 1)
    axes, strengths = topics.axes[:, :MOST_DIRECTIONS], topics.strengths[:MOST_DIRECTIONS]
    with torch.no_grad():
        probs = decoder.logits(torch.from_numpy(axes.T.astype(np.float32))).softmax(dim=1).numpy()
        drawn = torch.randn(NUM_DRAWS, decoder.latent_dim, generator=torch_generator(0))
        base = decoder.logits(drawn).softmax(dim=1).mean(dim=0).numpy()
    return [
        Groups(
            key="topics",
            noun="topic",
            kind=kind,
            sizes=np.square(strengths) / max(float(np.square(topics.strengths).sum()), TINY),
            size_meaning="share of all that the directions change",
            weights=np.ascontiguousarray((np.log(np.maximum(probs, TINY)) - np.log(np.maximum(base, TINY))).T),
            weight_meaning="log of how many times likelier the topic makes it",
            probs=probs,
            base=base,
            labels=[str(number + 1) for number in range(len(strengths))],  # as in `explain`
            axes=axes,
        )
    ]


def _code_features(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    """Return the features of discrete codes: what each makes likelier when it alone is on."""
    latent = getattr(getattr(estimator, "network_", None), "latent", None)
    if "terms" not in vocabularies or latent is None or not hasattr(estimator, "inverse_transform"):
        return []
    count = latent.num_features
    drawn = latent.draw_prior(NUM_DRAWS, torch_generator(0)).numpy()
    probs = np.asarray(estimator.inverse_transform(sparse.csr_array(np.eye(count, dtype=np.float32))))
    base = np.asarray(estimator.inverse_transform(sparse.csr_array(drawn))).mean(axis=0)
    shares = (drawn != 0).mean(axis=0)
    raised = np.log(np.maximum(probs, TINY)) - np.log(np.maximum(base, TINY))
    # By how far a feature moves what is expected: features that say nothing come last, however often they are on.
    strength = shares * (probs * raised).sum(axis=1)
    order = np.argsort(-strength, kind="stable")
    return [
        Groups(
            key="features",
            noun="feature",
            kind="terms",
            sizes=shares[order],
            size_meaning="share of codes in which it is on, by the prior",
            weights=np.ascontiguousarray(raised[order].T),
            weight_meaning="log of how many times likelier the feature makes it",
            probs=probs[order],
            base=base,
            labels=[str(feature) for feature in order],
            axes=np.eye(count)[:, order],
        )
    ]


def _phases(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    parameters = getattr(estimator, "start_", None) or getattr(estimator, "parameters_", None)
    if "events" not in vocabularies or not isinstance(parameters, dict) or "emission.probs" not in parameters:
        return []
    probs, transition = parameters["emission.probs"][0], parameters["transition"][0]
    if hasattr(estimator, "duration_probs"):
        table = estimator.duration_probs()[0]
        durations = table @ np.arange(1, table.shape[1] + 1)
        shares = _stationary(transition) * durations
    else:
        durations = 1 / np.maximum(1 - np.diag(transition), TINY)
        shares = _stationary(transition)
    shares = shares / max(float(shares.sum()), TINY)
    base = shares @ probs
    # Of all moves to another phase: how often a chain stays is in its durations.
    moves = np.where(np.eye(len(transition), dtype=bool), 0.0, transition)
    moves = moves / np.maximum(moves.sum(axis=1, keepdims=True), TINY)
    order = np.argsort(-shares, kind="stable")
    return [
        Groups(
            key="phases",
            noun="phase",
            kind="events",
            sizes=shares[order],
            size_meaning="share of all steps",
            weights=np.ascontiguousarray((np.log(np.maximum(probs, TINY)) - np.log(np.maximum(base, TINY)))[order].T),
            weight_meaning="log of how many times likelier it is in the phase",
            probs=probs[order],
            base=base,
            labels=[str(phase) for phase in order],
            facts=[
                {
                    "mean duration, steps": round(float(durations[phase]), 2),
                    "series begin with it": round(float(parameters["initial"][0][phase]), 3),
                    "most often followed by": _follower(moves[phase]),
                }
                for phase in order
            ],
        )
    ]


def _follower(moves: np.ndarray) -> str:
    return f"phase {moves.argmax()} ({moves.max():.0%})" if moves.max() > 0 else "no other phase"


def _stationary(transition: np.ndarray) -> np.ndarray:
    """Return how often each state is entered in the long run: π with π = πP, by least squares."""
    count = len(transition)
    system = np.vstack([transition.T - np.eye(count), np.ones(count)])
    found = np.linalg.lstsq(system, np.append(np.zeros(count), 1.0), rcond=None)[0]
    entered: np.ndarray = np.maximum(found, 0)
    return entered


def _dimensions(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    """Return the dimensions of sentence codes, by the words that the model remembers of each, the first most."""
    rows = getattr(estimator, "dimensions_", None)
    words = vocabularies.get("words")
    if not rows or words is None:
        return []
    weights = sparse.lil_array((len(words), len(rows)), dtype=np.float32)
    often = sorted(rows, key=lambda row: -row["on in"])
    for column, row in enumerate(often):
        known = words.find([word for word in str(row["words"]).split(", ") if word])
        for rank, index in enumerate(known[known >= 0]):
            weights[int(index), column] = 1 / (1 + rank)
    return [
        Groups(
            key="dimensions",
            noun="dimension",
            kind="words",
            sizes=np.array([row["on in"] for row in often]),
            size_meaning="share of sentences in which it is on",
            weights=weights.tocsc(),
            weight_meaning="1 / rank among the words of its sentences",
            labels=[str(row["dimension"]) for row in often],
        )
    ]


def _stored_codes(estimator: Any, vocabularies: Vocabularies) -> list[Groups]:
    """Return the features of an index of codes: the rows that have each of them on."""
    if "names" not in vocabularies or not hasattr(estimator, "blocks_"):
        return []
    codes = sparse.csc_array(estimator.rows(np.arange(len(vocabularies["names"]))), dtype=np.float32)
    codes.data = np.abs(codes.data)
    counts = np.diff(codes.indptr)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    return [
        Groups(
            key="stored-features",
            noun="feature",
            kind="names",
            sizes=counts[order] / max(1, codes.shape[0]),
            size_meaning="share of codes in which it is on",
            weights=codes[:, order],
            weight_meaning="value of the feature in its code",
            labels=[str(feature) for feature in order],
        )
    ]
