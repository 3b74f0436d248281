"""The index: which filters match a publication, without testing each.

Filters with the same equalities form a cluster, found by the publication's own values (the access predicates of
Fabret et al., SIGMOD 2001). In a cluster, a filter waits in a sorted list under one of its bounds, so that those whose
bound holds are a slice; only what a filter asks beyond that is tested.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from protocols.routing.filters import Condition, Content, Filter, matches
from runtime.message import Scalar

LOW = {">=": 0, ">": 1, "prefix": 0}  # a text with a prefix is at least the prefix
HIGH = {"<": 0, "<=": 1}

Bound = tuple[float | str, int]
"""A limit, and whether the limit itself is beyond it, so that bounds are in the order in which they begin to hold."""


@dataclass
class Ladder:
    """Filters by one bound, in its order, with what else they ask."""

    bounds: list[Bound] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    rests: list[Filter] = field(default_factory=list)

    def add(self, bound: Bound, name: str, rest: Filter) -> None:
        place = bisect_right(self.bounds, bound)
        self.bounds.insert(place, bound)
        self.names.insert(place, name)
        self.rests.insert(place, rest)

    def remove(self, bound: Bound, name: str) -> None:
        place = self.names.index(name, bisect_left(self.bounds, bound))
        del self.bounds[place], self.names[place], self.rests[place]


@dataclass
class Cluster:
    """Filters with the same equalities."""

    whole: dict[str, None] = field(default_factory=dict)
    """Those that ask nothing else."""

    tested: dict[str, Filter] = field(default_factory=dict)
    """Those without a bound."""

    ladders: dict[tuple[str, bool, bool, bool], Ladder] = field(default_factory=dict)
    """By attribute; is the bound a text, is it an upper one, is it all that is asked?"""

    def matching(self, attributes: dict[str, Scalar], content: Content) -> Iterator[str]:
        yield from self.whole
        for name, rest in self.tested.items():
            if matches(rest, content):
                yield name
        for (attribute, text, upper, complete), ladder in self.ladders.items():
            value = attributes.get(attribute)
            if value is None or isinstance(value, str) is not text or value != value:
                continue
            if upper:
                begin, end = bisect_left(ladder.bounds, (value, 1)), len(ladder.bounds)
            else:
                begin, end = 0, bisect_right(ladder.bounds, (value, 0))
            if complete:
                yield from ladder.names[begin:end]
            else:
                for place in range(begin, end):
                    if matches(ladder.rests[place], content):
                        yield ladder.names[place]


class Index:
    """Filters by name."""

    def __init__(self) -> None:
        self.filters: dict[str, Filter] = {}
        self.clusters: dict[tuple[str, ...], dict[tuple[Scalar, ...], Cluster]] = {}

    def __len__(self) -> int:
        return len(self.filters)

    def add(self, name: str, conditions: Filter) -> None:
        self.remove(name)
        self.filters[name] = conditions
        equal, rest = _split(conditions)
        if not _possible(conditions):
            return
        cluster = self.clusters.setdefault(tuple(equal), {}).setdefault(tuple(equal.values()), Cluster())
        access = _access(rest)
        if access is not None:
            left = tuple(condition for condition in rest if condition != access or access[1] == "prefix")
            ladder = cluster.ladders.setdefault(_ladder(access, not left), Ladder())
            ladder.add(_bound(access), name, left)
        elif rest:
            cluster.tested[name] = rest
        else:
            cluster.whole[name] = None

    def remove(self, name: str) -> None:
        conditions = self.filters.pop(name, None)
        if conditions is None or not _possible(conditions):
            return
        equal, rest = _split(conditions)
        table = self.clusters[tuple(equal)]
        cluster = table[tuple(equal.values())]
        access = _access(rest)
        if access is not None:
            key = _ladder(access, not any(c != access or c[1] == "prefix" for c in rest))
            ladder = cluster.ladders[key]
            ladder.remove(_bound(access), name)
            if not ladder.names:
                del cluster.ladders[key]
        elif rest:
            del cluster.tested[name]
        else:
            del cluster.whole[name]
        if not (cluster.whole or cluster.tested or cluster.ladders):
            del table[tuple(equal.values())]
            if not table:
                del self.clusters[tuple(equal)]

    def matching(self, content: Content) -> list[str]:
        """The names of the filters that match."""
        attributes = dict(content)
        found: list[str] = []
        for names, table in self.clusters.items():
            try:
                cluster = table.get(tuple([attributes[name] for name in names]))
            except KeyError:
                continue
            if cluster is not None:
                found += cluster.matching(attributes, content)
        return found


def _possible(conditions: Filter) -> bool:
    """Not a number equals nothing, not even itself: a filter that asks for it waits in no cluster."""
    return not any(relation == "=" and value != value for _, relation, value in conditions)


def _split(conditions: Filter) -> tuple[dict[str, Scalar], Filter]:
    """The equalities, one for each attribute, in the order of names; and the rest."""
    equal: dict[str, Scalar] = {}
    rest = []
    for condition in conditions:
        name, relation, value = condition
        if relation == "=" and name not in equal:
            equal[name] = value
        else:
            rest.append(condition)
    return dict(sorted(equal.items())), tuple(rest)


def _access(rest: Filter) -> Condition | None:
    """The bound under which the filter waits."""
    return next((c for c in rest if (c[1] in LOW or c[1] in HIGH) and c[2] is not None and c[2] == c[2]), None)


def _ladder(access: Condition, complete: bool) -> tuple[str, bool, bool, bool]:
    attribute, relation, value = access
    return attribute, isinstance(value, str), relation in HIGH, complete


def _bound(access: Condition) -> Bound:
    _, relation, value = access
    assert value is not None
    return value, (HIGH if relation in HIGH else LOW)[relation]
