"""Locality: an agent reaches its neighbours by messages and nobody's state by any way."""

from __future__ import annotations

import ast
import random
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx
import pytest

from protocols.channel import Channel
from runtime.agent import Agent, Layer, Node, Protocol, on
from runtime.errors import AgentError, LocalityError
from runtime.links import Link
from runtime.message import Message, message
from runtime.network import Network, from_networkx
from runtime.run import simulate
from runtime.scenario import check
from runtime.simnode import SimNode
from runtime.simulator import Simulator

ROOT = Path(__file__).parents[2]


@message(tag="locality.Word")
class Word:
    text: str
    path: tuple[str, ...] = ()


class Acting(Protocol):
    """Does something at its start, and keeps the node and the messages that it is given."""

    def __init__(self, act: Callable[[Node], None] = lambda node: None) -> None:
        self.act = act
        self.nodes: list[Node] = []
        self.words: list[Any] = []

    def started(self, node: Node) -> None:
        self.nodes.append(node)
        self.act(node)

    @on(Word)
    def hears(self, node: Node, sender: str, word: Word) -> None:
        self.nodes.append(node)
        self.words.append(word)
        if word.text == "later":
            node.broadcast(word)


def acted(network: Network, acts: dict[str, Callable[[Node], None]], layer: Callable[[], Layer | None]) -> Simulator:
    sim = Simulator(network, lambda name: Agent([Acting(acts.get(name, lambda node: None))], layer()))
    sim.run()
    return sim


LAYERS = pytest.mark.parametrize("layer", [lambda: None, Channel], ids=["raw", "reliable"])


# Sending


def refusal(network: Network, sender: str, act: Callable[[Node], None], layer: Callable[[], Layer | None]) -> str:
    with pytest.raises(AgentError) as caught:
        acted(network, {sender: act}, layer)
    assert isinstance(caught.value.__cause__, LocalityError)
    return str(caught.value.__cause__)


@LAYERS
@pytest.mark.parametrize("peer", ["d", "a", "nobody", ""])
def test_only_neighbours_can_be_sent_to(peer: str, layer: Callable[[], Layer | None]) -> None:
    network = from_networkx(networkx.Graph([("a", "b"), ("a", "c"), ("c", "d")]))
    expected = f"a cannot send to {peer}: its neighbours are b, c"
    assert refusal(network, "a", lambda node: node.send(peer, Word("psst")), layer) == expected
    assert refusal(network, "a", lambda node: node.broadcast(Word("psst"), to=["b", peer]), layer) == expected


@LAYERS
def test_an_attached_agent_reaches_its_home_broker_only(layer: Callable[[], Layer | None]) -> None:
    network = from_networkx(networkx.Graph([("b1", "b2")])).attach({"client": "b1", "store": "b1"})
    wrong = refusal(network, "client", lambda node: node.send("store", Word("psst")), layer)
    assert wrong == "client cannot send to store: its neighbours are b1"
    wrong = refusal(network, "b2", lambda node: node.send("client", Word("psst")), layer)
    assert wrong == "b2 cannot send to client: its neighbours are b1"
    sim = acted(network, {"b1": lambda node: node.broadcast(Word("all"))}, layer)
    assert [name for name in sim.nodes if acting(sim, name).words] == ["b2", "client", "store"]


def test_a_lonely_node_has_no_neighbours() -> None:
    lonely = networkx.Graph()
    lonely.add_node("a")
    wrong = refusal(from_networkx(lonely), "a", lambda node: node.send("b", Word("hello?")), lambda: None)
    assert wrong == "a cannot send to b: its neighbours are none"


def acting(sim: Simulator, name: str) -> Acting:
    found = sim.nodes[name].agent.find(Acting)
    assert found is not None
    return found


# Reaching

PLAIN = (str, bytes, int, float, bool, type(None), type, types.ModuleType, random.Random)


def public(thing: Any) -> Iterator[tuple[str, Any]]:
    """Everything that a thing shows: what is in it, its attributes without underscore, whose method it is."""
    if isinstance(thing, dict):
        yield from ((f"[{key!r}]", value) for key, value in thing.items())
        yield from ((f".key {key!r}", key) for key in thing)
    elif isinstance(thing, list | tuple | set | frozenset) and not isinstance(thing, Message):
        yield from ((f"[{place}]", value) for place, value in enumerate(thing))
    elif isinstance(thing, types.MethodType):
        yield ".__self__", thing.__self__
    elif isinstance(thing, types.FunctionType):
        yield from ((".closure", cell.cell_contents) for cell in thing.__closure__ or ())
    elif not isinstance(thing, types.BuiltinFunctionType):
        for name in dir(thing):
            if not name.startswith("_"):
                yield f".{name}", getattr(thing, name, None)


def reachable(start: Any) -> dict[int, tuple[str, Any]]:
    """Everything that can be reached from here in the open, with the way to it."""
    found: dict[int, tuple[str, Any]] = {}
    waiting = [("node", start)]
    while waiting:
        way, thing = waiting.pop()
        if isinstance(thing, PLAIN) or id(thing) in found:
            continue
        found[id(thing)] = (way, thing)
        waiting.extend((way + step, further) for step, further in public(thing))
    return found


def strangers(sim: Simulator, name: str, start: Any) -> list[str]:
    """The ways that lead from here to the state of others, or to what runs them."""
    mine = sim.nodes[name]
    own = {id(mine), id(mine.agent), *map(id, mine.agent.everything())}
    closed = (Simulator, SimNode, Agent, Protocol)
    return [way for key, (way, thing) in reachable(start).items() if isinstance(thing, closed) and key not in own] + [
        way for way, thing in reachable(start).values() if isinstance(thing, Link) and thing.target is not mine
    ]


def greet(node: Node) -> None:
    node.broadcast(Word(f"from {node.id}", (node.id, "x")))
    node.after(2.0, Word("later"))
    node.after(5.0, Word("never"))
    node.send_underlay("d" if node.id != "d" else "a", Word("ping"))
    node.rng.random()


@LAYERS
def test_nothing_that_a_handler_is_given_leads_to_another_agent(layer: Callable[[], Layer | None]) -> None:
    # given: a run that is not over, with messages and timers everywhere
    network = from_networkx(networkx.cycle_graph(["a", "b", "c", "d"]))
    sim = Simulator(network, lambda name: Agent([Acting(greet)], layer()))
    assert not sim.run(until=2.5)
    for name in sim.nodes:
        found = acting(sim, name)
        # then: neither the nodes nor the messages that the handlers got lead anywhere else
        assert found.words
        assert len(found.nodes) > 1
        for thing in [*found.nodes, *found.words]:
            assert strangers(sim, name, thing) == []


def test_the_search_finds_a_way_where_there_is_one() -> None:
    # A test of the test: the simulator knows everybody.
    network = from_networkx(networkx.path_graph(["a", "b"]))
    sim = acted(network, {}, lambda: None)
    acting(sim, "a").words.append({"hidden": [sim.nodes["b"]]})
    assert any("hidden" in way for way in strangers(sim, "a", sim.nodes["a"]))
    assert any(".nodes" in way for way in strangers(sim, "a", sim))


def test_a_node_offers_its_name_its_clock_its_dice_and_its_voice_and_nothing_else() -> None:
    offers = {name for name in {*dir(Node), *Node.__annotations__} if not name.startswith("_")}
    assert offers == {
        *("id", "neighbours", "now", "arrived", "rng"),
        *("send", "broadcast", "send_underlay", "after", "cancel", "work", "log"),
    }


def test_messages_delivered_to_many_share_nothing_that_can_be_changed() -> None:
    network = from_networkx(networkx.star_graph(["hub", "a", "b", "c"]))
    sim = acted(network, {"hub": lambda node: node.broadcast(Word("all", ("x", "y")))}, lambda: None)
    words = [acting(sim, name).words[0] for name in "abc"]
    assert words == [Word("all", ("x", "y"))] * 3
    for word in words:
        assert type(word.path) is tuple
        with pytest.raises(AttributeError):
            word.text = "changed"
        with pytest.raises(AttributeError):
            word.note = "added"


def test_the_dice_of_one_node_do_not_depend_on_who_else_throws() -> None:
    network = from_networkx(networkx.path_graph(["a", "b", "c"]))

    def thrown(greedy: str) -> dict[str, list[float]]:
        draws: dict[str, list[float]] = {}

        def throw(node: Node) -> None:
            draws[node.id] = [node.rng.random() for _ in range(50 if node.id == greedy else 5)]

        acted(network, dict.fromkeys("abc", throw), lambda: None)
        return {name: numbers[:5] for name, numbers in draws.items()}

    assert thrown("a") == thrown("b")
    assert len({tuple(numbers) for numbers in thrown("a").values()}) == 3


# Sharing: the agents that the shipped systems make


def parts(thing: Any) -> Iterator[Any]:
    """Everything that a thing is made of, hidden or not, up to its node."""
    if isinstance(thing, dict):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, types.MethodType):
        yield thing.__self__
    elif isinstance(thing, types.FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or ())
    elif not isinstance(thing, Node):
        yield from getattr(thing, "__dict__", {}).values()
        slots = [slot for kind in type(thing).__mro__ for slot in getattr(kind, "__slots__", ())]
        yield from (getattr(thing, slot) for slot in slots if hasattr(thing, slot))


def changeable(agent: Agent) -> dict[int, Any]:
    """Every object of an agent that can be changed."""
    found: dict[int, Any] = {}
    seen: dict[int, Any] = {}
    waiting: list[Any] = [agent]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, PLAIN) or id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if not isinstance(thing, tuple | frozenset | types.FunctionType | types.MethodType | types.BuiltinFunctionType):
            found[id(thing)] = thing
        waiting.extend(parts(thing))
    return found


def busy_scenario(links: str) -> dict[str, Any]:
    return {
        "protocol": "coverage",
        "links": links,
        "network": {"kind": "random-graph", "nodes": 8, "degree": 3.0, "delay": "uniform(0.5, 1.5)"},
        "storage": {
            "random_stores": {"count": 3, "topics": ["a", "b", "c"], "each": 2},
            "clients": {"c1": "n1", "c2": "n2"},
            "publications": [{"at": 20.0, "client": "c1", "topic": topic, "content": {"x": 1}} for topic in "abc"],
            "requests": [{"at": 60.0, "client": "c2", "topic": topic} for topic in "abc"],
        },
        "faults": [{"kind": "crash", "nodes": ["n3"], "at": 90.0, "recover_after": 5.0}],
        "limits": {"events": 100_000},
    }


@pytest.mark.parametrize("links", ["raw", "reliable"])
def test_agents_of_a_system_share_nothing_that_can_be_changed(links: str) -> None:
    outcome = simulate(check(busy_scenario(links)))
    agents = outcome.agents
    assert len(agents) == 8 + 3 + 2
    owner: dict[int, str] = {}
    for name, agent in agents.items():
        for key, thing in changeable(agent).items():
            assert key not in owner, f"{name} and {owner[key]} share {thing!r}"
            owner[key] = name
    assert len(owner) > 100


# Importing

COMPUTING = {
    *("__future__", "abc", "bisect", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "hashlib"),
    *("functools", "heapq", "itertools", "math", "numbers", "operator", "re", "statistics", "string", "typing"),
    *("numpy", "networkx", "scipy"),
}
REACHING_OUT = {
    *("open", "input", "print", "exec", "eval", "compile", "__import__", "globals", "breakpoint"),
    *("hash", "id"),  # another number in another process
}
INTERFACE = {"runtime.agent", "runtime.message"}
BUILDING = INTERFACE | {f"runtime.{name}" for name in ("network", "settings", "errors", "streams", "system")}
BUILDING |= {f"runtime.{name}" for name in ("distributions", "events", "parts", "properties", "report")}
BUILDING |= {"runtime.testing.cases"}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for statement in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path}: write the whole name of what is imported"
            module = statement.module or ""
            # `from runtime import agent` imports runtime.agent.
            yield from [f"{module}.{alias.name}" for alias in statement.names] if "." not in module else [module]


def allowed(name: str, packages: set[str], modules: set[str]) -> bool:
    return name.split(".")[0] in packages or any(f"{name}.".startswith(f"{module}.") for module in modules)


@pytest.mark.parametrize("path", sources("protocols"), ids=str)
def test_protocols_import_the_interface_and_what_computes(path: Path) -> None:
    strange = [
        n for n in imported(path) if n != "random.Random" and not allowed(n, COMPUTING | {"protocols"}, INTERFACE)
    ]
    assert [name for name in strange if name != "random"] == []


@pytest.mark.parametrize("path", sources("agents"), ids=str)
def test_agents_import_protocols_and_what_builds_a_system(path: Path) -> None:
    packages = COMPUTING | {"protocols", "agents", "pydantic"}
    assert [name for name in imported(path) if name != "random" and not allowed(name, packages, BUILDING)] == []


@pytest.mark.parametrize("path", sources("runtime"), ids=str)
def test_the_runtime_knows_neither_protocols_nor_agents(path: Path) -> None:
    assert [name for name in imported(path) if name.split(".")[0] in ("agents", "protocols", "sweeps", "tests")] == []


@pytest.mark.parametrize("path", sources("protocols") + sources("agents"), ids=str)
def test_below_the_runtime_there_is_no_file_no_clock_and_no_chance_but_the_nodes(path: Path) -> None:
    for found in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(found, ast.Call) and isinstance(found.func, ast.Name):
            assert found.func.id not in REACHING_OUT, f"{path}:{found.lineno}: {found.func.id}()"
        if isinstance(found, ast.Attribute) and isinstance(found.value, ast.Name):
            # The class random.Random may be named as a type; numbers come from the node.
            shared = found.value.id == "random" and found.attr != "Random"
            shared = shared or (found.value.id in ("np", "numpy") and found.attr == "random")
            assert not shared, f"{path}:{found.lineno}: {found.value.id}.{found.attr}"
        if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
            made = isinstance(found.func.value, ast.Name) and found.func.value.id == "random"
            assert not made, f"{path}:{found.lineno}: dice of its own"


def test_there_are_sources_to_look_at() -> None:
    assert all(len(sources(folder)) > 3 for folder in ("protocols", "agents", "runtime"))
