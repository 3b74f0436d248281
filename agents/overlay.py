"""The overlay system: users, brokers, who is connected to whom, and what that costs (overlay, II to VI)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from agents.cases.overlay import overlay_case
from agents.linked import is_complete, over_links
from agents.overlay_cast import overlay_broker, overlay_user
from agents.overlay_outcome import lives_of, present, serving_of, total_cost_of, wrong_deliveries, wrong_homes
from agents.overlay_settings import OverlaySettings, assign, draw, planned_events
from agents.reports.overlay import overlay_report
from protocols.overlay.content import Instance, Places
from protocols.overlay.cost import Aggregates, SpanningTrees, access_cost, core_cost, loads
from protocols.overlay.mover import Movers, Moving
from protocols.overlay.packing import least_access_cost
from protocols.overlay.serving import Serving
from protocols.overlay.user import Life, Using
from runtime.agent import Agent
from runtime.network import Network
from runtime.properties import always, eventually, sometimes
from runtime.report import Report
from runtime.streams import stream
from runtime.system import MakeLayer, System, World
from runtime.testing.cases import Case, Draw

RISE = 1e-9
"""What is more than rounding."""

LEFT = 1e-6
"""A saving that is worth a word: far more than a mover overlooks."""


class OverlaySystem(System):
    """Minimum-cost content-based overlays: users are assigned to brokers, and handed over between them"""

    section = "overlay"
    Settings = OverlaySettings
    settings: OverlaySettings
    headings: ClassVar = {"by_broker": ("broker",), "cost_by_assignment": ("assignment", "total cost")}

    tolerates: ClassVar = ("drop", "duplicate", "reorder", "delay", "partition", "crash")

    def __init__(self, settings: OverlaySettings, network: Network, seed: int, layer: MakeLayer = lambda: None) -> None:
        self.brokers = network.brokers
        self.all_linked = is_complete(network)
        self.drawn = draw(settings, network, seed)
        self.at_random, self.assignment = assign(settings, self.drawn.beginning, seed)
        self.first = {
            name: self.brokers[broker] for name, broker in zip(self.drawn.names, self.assignment.tolist(), strict=False)
        }
        unwilling = stream(seed, "overlay", "unwilling")
        self.unwilling = {name for name in self.drawn.names if unwilling.random() < settings.unwilling}
        self.place = {name: place for place, name in enumerate(self.drawn.names)}
        super().__init__(settings, self._attached(network) if settings.live else network, seed, layer)

    def _attached(self, network: Network) -> Network:
        """Every user knows all brokers and has a link to each (overlay, V); it uses one of them at a time."""
        cheapest = self.drawn.instance.access.argmin(axis=1).tolist()
        homes = {name: self.brokers[broker] for name, broker in zip(self.drawn.names, cheapest, strict=True)}
        neighbours = {name: tuple(sorted((*peers, *homes))) for name, peers in network.neighbours.items()}
        neighbours |= dict.fromkeys(homes, self.brokers)
        return replace(
            network, neighbours=dict(sorted(neighbours.items())), homes=dict(sorted((homes | self.first).items()))
        )

    def agent(self, name: str) -> Agent:
        settings, drawn = self.settings, self.drawn
        if name not in self.place:
            moving: tuple[Movers, float, float] | None = None
            if settings.movers != "none":
                moving = (settings.movers, settings.begin, settings.period)
            me = self.brokers.index(name)
            links, capacity = drawn.instance.core[me].copy(), float(drawn.instance.capacity[me])
            ttl = settings.redirect_ttl
            agent = overlay_broker(self.brokers, name, links, capacity, drawn.space, ttl, moving, self.layer())
            if self.all_linked:
                return agent
            known = sorted({*self.brokers, *self.network.neighbours[name]} - {name})
            return over_links("overlay", agent, name, self.network, known)
        return overlay_user(
            self.brokers,
            drawn.instance.access[self.place[name]].tolist(),
            drawn.space,
            self.first.get(name),
            drawn.plans[name],
            (settings.publish_since, settings.publish_until, settings.publish_scale),
            0 if name in self.unwilling else settings.patience,
            self.layer(),
        )

    @classmethod
    def case(cls, draw: Draw) -> Case:
        return overlay_case(draw)

    def written_out(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Who joins, leaves and changes its mind when."""
        table = {key: value for key, value in data["overlay"].items() if key != "churn"}
        names = list(self.drawn.names[: self.drawn.at_first])
        events = [event.model_dump() for event in planned_events(self.settings, names, self.seed)]
        return {"overlay": table | ({"events": events} if events else {})}

    # What is to be seen

    def results(self, world: World) -> dict[str, Any]:
        trees = SpanningTrees(self.drawn.instance.core)
        before = self.drawn.beginning
        at_random, start = (total_cost_of(before, a, trees) for a in (self.at_random, self.assignment))
        instance, assignment, names = self._now(world)
        access, core = access_cost(instance, assignment), core_cost(Aggregates.of(instance, assignment), trees)
        bound = least_access_cost(instance)
        shown: dict[str, Any] = {
            "users": len(names),
            "brokers": len(self.brokers),
            "random_cost": at_random,
            "assigned_cost": start,
            "cost": access + core,
            "access_cost": access,
            "core_cost": core,
            "least_cost": bound,
            "cost_reduction_ratio": at_random / (access + core) if access + core else 1.0,
        }
        if self.settings.live:
            shown |= self._moved(world) | self._published(world)
        by_broker = {
            name: {
                "users": int((assignment == place).sum()),
                "load": float(load),
                "capacity": float(self.drawn.instance.capacity[place]),
            }
            for place, (name, load) in enumerate(zip(self.brokers, loads(instance, assignment), strict=True))
        }
        return shown | {"by_broker": by_broker}

    def report(self, world: World, report: Report) -> None:
        overlay_report(self, world, report)

    def _now(self, world: World) -> tuple[Instance, Places, list[str]]:
        """The users that are there, as they are now, and where."""
        drawn = self.drawn
        if not self.settings.live:
            return drawn.beginning, self.assignment, list(drawn.names[: drawn.at_first])
        there = {name: life for name, life in present(world).items() if life.home is not None}
        homes = [self.brokers.index(str(life.home)) for life in there.values()]
        return self._instance(there), np.array(homes, dtype=np.int64), list(there)

    def _instance(self, users: Mapping[str, Life]) -> Instance:
        """These users, as they are now."""
        drawn = self.drawn
        rates = np.zeros((len(users), drawn.space.channels))
        interests = np.zeros_like(rates)
        for place, life in enumerate(users.values()):
            assert life.profile is not None
            rates[place] = life.profile.rates
            interests[place, list(life.profile.interests)] = 1.0
        access = drawn.instance.access[[self.place[name] for name in users]]
        return Instance(rates, interests, access, drawn.instance.core, drawn.instance.capacity)

    def _moved(self, world: World) -> dict[str, Any]:
        plans = [moving.durable for moving in world.protocols(Moving).values()]
        return {
            "moves": sum(using.durable.moves for using in world.protocols(Using).values()),
            "requests_to_move": sum(plan.asked for plan in plans),
            "promised_saving": sum(plan.promised for plan in plans),
            "declined": sum(using.durable.declined for using in world.protocols(Using).values()),
            "rises": self._rises(world),
        }

    def observe(self, world: World) -> None:
        """The true total cost after each move, as the event `cost`; not where users change meanwhile."""
        if not self.settings.live or self._changes:
            return
        start, after = self._costs(world)
        world.events.add(0.0, self.brokers[0], "cost", {"total": start})
        for row, total in after:
            world.events.add(row["time"], row["node"], "cost", {"total": total})

    @property
    def _changes(self) -> bool:
        """Do users come, go or change their minds during the run?"""
        return bool(self.settings.events) or self.settings.churn is not None

    def _costs(self, world: World) -> tuple[float, list[tuple[dict[str, Any], float]]]:
        """The true total cost at the start, and each move with the cost after it."""
        assignment, trees = self.assignment.copy(), SpanningTrees(self.drawn.instance.core)
        start = total_cost_of(self.drawn.instance, assignment, trees)
        after = []
        for row in world.events.rows("move"):
            assignment[self.place[row["user"]]] = self.brokers.index(row["foreign"])
            after.append((row, total_cost_of(self.drawn.instance, assignment, trees)))
        return start, after

    def _rises(self, world: World) -> int | None:
        """After how many moves the total cost was higher than before; unknown where users change meanwhile."""
        costs = [row["total"] for row in world.events.rows("cost")]
        return sum(after > before * (1 + RISE) for before, after in pairwise(costs)) if costs else None

    def _published(self, world: World) -> dict[str, Any]:
        lives = [using.durable for using in world.protocols(Using).values()]
        brokers = [serving.durable for serving in world.protocols(Serving).values()]
        return {
            "published": sum(len(life.published) for life in lives),
            "delivered": sum(sum(life.received.values()) for life in lives),
            "outside_the_box": sum(life.unwanted for life in lives),
            "redirected": sum(state.redirected for state in brokers),
            "access_paid": sum(life.paid for life in lives),
            "core_paid": sum(state.core_paid for state in brokers),
            "redirect_paid": sum(state.redirect_paid for state in brokers),
        }

    # What should hold

    @eventually
    def whoever_fits_is_let_in(self, world: World) -> Iterable[str]:
        """No user is without a broker while one has room for it."""
        there = present(world)
        served = {name: life for name, life in there.items() if life.home is not None}
        homes = [self.brokers.index(str(life.home)) for life in served.values()]
        for name in (name for name in there if name not in served):
            instance = self._instance({**served, name: there[name]})
            for place, broker in enumerate(self.brokers):
                if loads(instance, np.array([*homes, place]))[place] <= instance.capacity[place] * (1 + 1e-9):
                    yield f"{name} has no broker, and {broker} has room"

    @eventually
    def one_broker_each(self, world: World) -> Iterable[str]:
        """Every user that is there is with exactly one broker, the one that it thinks it is with."""
        return wrong_homes(lives_of(world), serving_of(world))

    @eventually
    def nothing_lost_or_doubled(self, world: World) -> Iterable[str]:
        """Who wanted a publication from before it was made to the end has it once; nobody has it twice."""
        return wrong_deliveries(lives_of(world))

    @eventually
    def hand_overs_end(self, world: World) -> Iterable[str]:
        """No broker still redirects for a user that has moved."""
        return [f"{name} still redirects for {user}" for name, s in serving_of(world).items() for user in s.departed]

    @eventually
    def one_mover_lowers_the_cost(self, world: World) -> Iterable[str]:
        """With one mover at a time, once all users are registered and stay as they are, no move raises the cost."""
        if self.settings.movers == "one" and not self._changes:
            cost, after = self._costs(world)
            registered = max((life.confirmed[0][0] for life in lives_of(world).values() if life.confirmed), default=0.0)
            for row, total in after:
                if total > cost * (1 + RISE) and row["decided"] > registered:
                    yield f"the cost rose from {cost:g} to {total:g} when {row['user']} moved to {row['foreign']}"
                cost = total

    @eventually
    def no_saving_move_is_left(self, world: World) -> Iterable[str]:
        """No user that would still move could go to a broker with room, and lower the total cost."""
        if self.settings.movers == "none":
            return
        instance, assignment, names = self._now(world)
        load, trees = loads(instance, assignment), SpanningTrees(self.drawn.instance.core)
        cost = total_cost_of(instance, assignment, trees)
        users = world.protocols(Using)
        for user in (place for place, name in enumerate(names) if users[name].willing):
            for broker in np.flatnonzero(load + instance.demand[user] <= instance.capacity).tolist():
                elsewhere = assignment.copy()
                elsewhere[user] = broker
                if (less := total_cost_of(instance, elsewhere, trees)) < cost * (1 - LEFT):
                    yield f"{names[user]} could lower the cost from {cost:g} to {less:g} at {self.brokers[broker]}"

    @always
    def nobody_gets_it_twice(self, world: World) -> Iterable[str]:
        """No user has ever received the same publication twice."""
        for name, life in lives_of(world).items():
            if life.received and max(life.received.values()) > 1:
                yield f"{name} received a publication twice"

    @always
    def one_connection_each(self, world: World) -> Iterable[str]:
        """No two brokers are connected to the same user."""
        connected: dict[str, str] = {}
        for broker, state in serving_of(world).items():
            for user, resident in state.residents.items():
                if resident.connected and connected.setdefault(user, broker) != broker:
                    yield f"{user} is connected to {connected[user]} and {broker}"

    @sometimes
    def a_user_moves(self, world: World) -> bool:
        """A user has been handed over."""
        return any(life.moves for life in lives_of(world).values())

    @sometimes
    def a_publication_is_late(self, world: World) -> bool:
        """A publication has come to a broker after its subscriber had gone, and was redirected."""
        return any(state.redirected for state in serving_of(world).values())

    @eventually
    def capacities_are_kept(self, world: World) -> Iterable[str]:
        """No broker has more than its capacity, unless users changed their minds and nobody could take one of them."""
        if not self.settings.live:
            over = loads(self.drawn.beginning, self.assignment) > self.drawn.instance.capacity * (1 + 1e-6)
            yield from (f"{self.brokers[place]} has more than its capacity" for place in np.flatnonzero(over))
            return
        instance, assignment, names = self._now(world)
        load, most = loads(instance, assignment), instance.capacity * (1 + 1e-6)
        users = world.protocols(Using)
        for broker in np.flatnonzero(load > most).tolist():
            for user in np.flatnonzero(assignment == broker).tolist():
                elsewhere = np.delete(load + instance.demand[user] <= instance.capacity, broker)
                may = self.settings.movers != "none" and users[names[user]].willing
                if not may or instance.demand[user] <= 0 or not elsewhere.any():
                    continue
                yield f"{self.brokers[broker]} has more than its capacity, and {names[user]} could move"
                break
