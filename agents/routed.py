"""What should be true of content-based routing when all is quiet, seen from outside: slow and obvious.

The tables of every broker are those of a network in which each publisher had started where it is now. Every
subscriber has from each publisher publications that match, each once, in order, and without a gap if it subscribed
at the start. (While a subscription is still on its way to the publisher, it may find some publications on their way
to others near by, and not the next one.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import networkx

from protocols.relocation.clients import Publishing, Subscribing, name_of
from protocols.routing.content import ContentRouting
from protocols.routing.filters import Filter, covers, intersects, matches
from runtime.system import World

Placed = dict[str, tuple[Filter, str]]
"""Filters, and the brokers to which their clients are connected."""

Table = dict[str, str]
"""Names, and the hops that they came from."""


def wrong_tables(world: World, covering: bool, flooding: bool) -> list[str]:
    """Every table that is not as it should be."""
    ads = {
        name: (sent.program.conditions, sent.broker)
        for name, sent in world.protocols(Publishing).items()
        if not sent.left
    }
    wishes = {
        name_of(name, place, reading.moves): (wish.conditions, reading.broker)
        for name, reading in world.protocols(Subscribing).items()
        for place, wish in enumerate(reading.wishes)
        if wish.until_s is None
    }
    owners = {wish: wish.rpartition("/")[0] for wish in wishes}
    tree = world.network.graph()
    tables = world.protocols(ContentRouting)
    found = []
    for kind, wanted in (
        ("advertisements", _kept(tree, ads, flooding)),
        ("subscriptions", _covered(tree, ads, wishes, flooding) if covering else _all(tree, ads, wishes, flooding)),
    ):
        for broker, routing in tables.items():
            at = {name: owners.get(name, name) if hop == broker else hop for name, hop in wanted[broker].items()}
            if (seen := routing.tables()[kind]) != at:
                found += [f"{broker}: {kind}: {problem}" for problem in _differences(seen, at)]
    return found


def _differences(seen: Table, wanted: Table) -> Iterator[str]:
    for name in sorted({*seen, *wanted}):
        if seen.get(name) != wanted.get(name):
            yield f"{name} is from {seen.get(name, 'nowhere')}, not {wanted.get(name, 'nowhere')}"


def _kept(tree: networkx.Graph, ads: Placed, flooding: bool) -> dict[str, Table]:
    """Each advertisement is at every broker, from the side on which its publisher is; its own broker stands for it."""
    tables: dict[str, Table] = {broker: {} for broker in tree}
    for name, (_, home) in ads.items():
        if flooding:
            tables[home][name] = home
        else:
            for broker, path in networkx.single_source_shortest_path(tree, home).items():
                tables[broker][name] = path[-2] if len(path) > 1 else home
    return tables


def _all(tree: networkx.Graph, ads: Placed, wishes: Placed, flooding: bool) -> dict[str, Table]:
    """Without covering, a subscription is at its own broker and on the way to every publisher that it meets."""
    tables: dict[str, Table] = {broker: {} for broker in tree}
    paths = dict(networkx.all_pairs_shortest_path(tree))
    for name, (conditions, home) in wishes.items():
        targets = tree if flooding else [at for ad, at in ads.values() if intersects(ad, conditions)]
        tables[home][name] = home
        for target in targets:
            path = paths[home][target]
            for before, broker in pairwise(path):
                tables[broker][name] = before
    return tables


def _covered(tree: networkx.Graph, ads: Placed, wishes: Placed, flooding: bool) -> dict[str, Table]:
    """With covering: link by link, the ones that are not covered by another that also goes that way."""
    told: dict[tuple[str, str], list[str]] = {}

    def known(broker: str, but: str | None) -> Table:
        table = {name: broker for name, (_, home) in wishes.items() if home == broker}
        for peer in tree[broker]:
            if peer != but:
                table |= dict.fromkeys(tell(peer, broker), peer)
        return table

    def tell(broker: str, peer: str) -> list[str]:
        if (broker, peer) not in told:
            cut = tree.copy()
            cut.remove_edge(broker, peer)
            beyond = networkx.node_connected_component(cut, peer)
            there = [ad for ad, home in ads.values() if home in beyond]
            names = [
                name
                for name in known(broker, but=peer)
                if flooding or any(intersects(ad, wishes[name][0]) for ad in there)
            ]
            told[broker, peer] = [name for name in names if not any(stands(other, name) for other in names)]
        return told[broker, peer]

    def stands(one: str, other: str) -> bool:
        wide, narrow = wishes[one][0], wishes[other][0]
        return one != other and covers(wide, narrow) and (one < other or not covers(narrow, wide))

    return {broker: known(broker, but=None) for broker in tree}


def wrong_deliveries(world: World) -> list[str]:
    """Publications that were lost on the way, came twice, in the wrong order or unasked for."""
    publishers = world.protocols(Publishing)
    known: dict[tuple[str, tuple[Filter, ...]], list[int]] = {}  # many subscribers want the same
    found = []
    for name, reading in world.protocols(Subscribing).items():
        wanted = tuple(wish.conditions for wish in reading.wishes)
        for publisher, sent in publishers.items():
            if (publisher, wanted) not in known:
                known[publisher, wanted] = _due(sent, wanted)
            due = known[publisher, wanted]
            seen = reading.received[publisher].numbers if publisher in reading.received else []
            if seen == due:
                continue
            early = all(wish.since_s == 0 for wish in reading.wishes)
            ends = any(wish.until_s is not None for wish in reading.wishes)
            if problem := _problem(seen, due, early, ends):
                found.append(f"{name} has from {publisher} {problem}")
    return found


def _due(sent: Publishing, wanted: tuple[Filter, ...]) -> list[int]:
    """The numbers of the publications that match one of these filters."""
    contents = sent.program.contents
    numbered = ((number, contents[(number - 1) % len(contents)]) for number in range(1, sent.numbered + 1))
    return [number for number, content in numbered if any(matches(conditions, content) for conditions in wanted)]


def incomplete(world: World, since_s: float) -> Iterator[str]:
    """What somebody who subscribed from the beginning to the end has missed of those who began after this time."""
    for name, reading in world.protocols(Subscribing).items():
        if any(wish.since_s or wish.until_s is not None for wish in reading.wishes):
            continue
        wanted = tuple(wish.conditions for wish in reading.wishes)
        for publisher, sent in world.protocols(Publishing).items():
            if 0 < since_s <= sent.program.start_s:
                due = _due(sent, wanted)
                seen = reading.received[publisher].numbers if publisher in reading.received else []
                if missed := [number for number in due if number not in seen]:
                    yield f"{name} does not have number {missed[0]} of {publisher}"


def unfinished(world: World) -> Iterator[str]:
    """Publishers that are paused, or have not published everything, or not gone where they were ordered to go."""
    for name, sent in world.protocols(Publishing).items():
        if sent.paused_at is not None:
            yield f"{name} is paused since {sent.paused_at:g}"
        if sent.numbered != sent.program.count or sent.buffer:
            yield f"{name} has published {sent.numbered} of {sent.program.count}, {len(sent.buffer)} of them to itself"
        if sent.ordered:
            yield f"{name} was to go to {sent.ordered[0][0]}"


def out_of_order(world: World) -> Iterator[str]:
    """Looks at the newest only, for it is called after every event."""
    for name, reading in world.protocols(Subscribing).items():
        for publisher, received in reading.received.items():
            newest = received.numbers[-2:]
            if len(newest) == 2 and newest[0] >= newest[1]:
                yield f"{name} has number {newest[1]} of {publisher} after number {newest[0]}"


def two_homes(world: World) -> Iterator[str]:
    homes: dict[str, str] = {}
    for broker, routing in world.protocols(ContentRouting).items():
        for publisher, entry in routing.advertisements.items():
            if entry.hop == publisher and homes.setdefault(publisher, broker) != broker:
                yield f"{homes[publisher]} and {broker} both take {publisher} for theirs"


def _problem(seen: list[int], due: list[int], early: bool, ends: bool) -> str | None:
    if len(set(seen)) < len(seen):
        return f"a publication twice: {_first(n for place, n in enumerate(seen) if n in seen[:place])}"
    if seen != sorted(seen):
        return "publications in the wrong order"
    if unasked := sorted(set(seen) - set(due)):
        return f"what it did not ask for: {_first(unasked)}"
    if not early or not due:
        return None
    if not seen:
        return None if ends else f"nothing, not even number {due[-1]}"
    last = seen[-1] if ends else due[-1]
    missing = [number for number in due if seen[0] <= number <= last and number not in set(seen)]
    return f"not number {missing[0]}, though it has number {seen[0]}" if missing else None


def _first(numbers: Iterable[int]) -> str:
    return f"number {next(iter(numbers))}"
