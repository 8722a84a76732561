"""Groups for a page: the list with sizes and places, and one of them opened."""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import plain_rows, plural
from gossamer.serving.explorer.groups import RELEVANCE, largest
from gossamer.serving.explorer.knowledge import Knowledge

NUM_MEMBERS = 30


@dataclass(frozen=True)
class GroupSummary:
    """One group in a list: how large it is, what it is about, and where it lies."""

    number: int
    label: str
    title: str
    size: float
    x: float
    y: float


@dataclass(frozen=True)
class GroupSet:
    """All groups of one set."""

    key: str
    title: str
    noun: str
    kind: str
    size_meaning: str
    weight_meaning: str
    has_shares: bool
    groups: list[GroupSummary]


@dataclass(frozen=True)
class Member:
    """One name of a group: its weight and, where the group is a distribution, its share there and overall."""

    name: str
    weight: float
    within: float | None
    overall: float | None


@dataclass(frozen=True)
class Spread:
    """How a name divides over all groups of a set: one share per group, in their order."""

    key: str
    name: str
    shares: list[float]


@dataclass(frozen=True)
class AllTogether:
    """The names that tell most about groups, best first; `weight` of a member is its salience."""

    key: str
    noun: str
    kind: str
    meaning: str
    members: list[Member]


@dataclass(frozen=True)
class OpenGroup:
    """One group with its members, best first."""

    key: str
    number: int
    noun: str
    label: str
    title: str
    kind: str
    size: float
    size_meaning: str
    weight_meaning: str
    facts: dict[str, str | int | float | None]
    members: list[Member]


def list_group_sets(knowledge: Knowledge) -> list[GroupSet]:
    """Return every set of groups of a model with its groups."""
    sets = []
    for groups in knowledge.groups:
        titles, places = knowledge.titles(groups), knowledge.places(groups)
        summaries = [
            GroupSummary(number, groups.label(number), title, float(size), float(place[0]), float(place[1]))
            for number, (title, size, place) in enumerate(zip(titles, groups.sizes, places, strict=True))
        ]
        sets.append(
            GroupSet(
                key=groups.key,
                title=f"{plural(groups.noun).capitalize()} of {groups.kind}",
                noun=groups.noun,
                kind=groups.kind,
                size_meaning=groups.size_meaning,
                weight_meaning=groups.weight_meaning,
                has_shares=groups.overall is not None,
                groups=summaries,
            )
        )
    return sets


def spread_name(knowledge: Knowledge, key: str, name: str) -> Spread:
    """Return how a name divides over the groups of a set."""
    groups = knowledge.find_group_set(key)
    index = knowledge.index_of(groups.kind, name)
    return Spread(key, knowledge.name_of(groups.kind, index), [float(share) for share in groups.spread(index)])


def list_salient(knowledge: Knowledge, key: str, n: int = NUM_MEMBERS) -> AllTogether:
    """Return the n names that tell most about the groups of a set; a NotFound where groups are no distributions."""
    groups = knowledge.find_group_set(key)
    salience, overall = knowledge.salience(groups), groups.overall
    if salience is None or overall is None:
        raise NotFound(f"The {plural(groups.noun)} of this model have weights and no shares: no name is salient.")
    return AllTogether(
        key=key,
        noun=groups.noun,
        kind=groups.kind,
        meaning=f"what tells the {plural(groups.noun)} apart and comes often; bars are shares overall",
        members=[
            Member(
                name=knowledge.name_of(groups.kind, member),
                weight=float(salience[member]),
                within=None,
                overall=float(overall[member]),
            )
            for member in largest(salience, n)
        ],
    )


def open_group(
    knowledge: Knowledge, key: str, number: int, n: int = NUM_MEMBERS, relevance: float = RELEVANCE
) -> OpenGroup:
    """Return one group and the n names that stand for it."""
    groups = knowledge.find_group_set(key)
    if not 0 <= number < len(groups):
        raise NotFound(f"There is no {groups.noun} number {number}: they go from 0 to {len(groups) - 1}.")
    weights = groups.column(number)
    within, overall = groups.within(number), groups.overall
    members = [
        Member(
            name=knowledge.name_of(groups.kind, member),
            weight=float(weights[member]),
            within=None if within is None else float(within[member]),
            overall=None if overall is None else float(overall[member]),
        )
        for member in groups.members(number, n, relevance)
    ]
    return OpenGroup(
        key=key,
        number=number,
        noun=groups.noun,
        label=groups.label(number),
        title=knowledge.titles(groups)[number],
        kind=groups.kind,
        size=float(groups.sizes[number]),
        size_meaning=groups.size_meaning,
        weight_meaning=groups.weight_meaning,
        facts=plain_rows([dict(groups.facts[number])])[0] if groups.facts else {},
        members=members,
    )
