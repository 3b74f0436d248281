"""The state of an agent in words, and what changed in it: `Coverage.routes[a].hops: 3 -> 2`.

A state is a tree. Tables and objects have parts, sequences and sets are compared as wholes of words, and everything
that is small and whole is a word.
"""

from __future__ import annotations

import pickle
import random
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import zip_longest
from typing import Any, NamedTuple

from runtime.agent import Above, Agent, Node, Protocol
from runtime.message import Message

WORD = 160
"""The longest word that is kept; what is longer is cut."""

KEY = 60
MOST = 40
"""The most changes of one event that are kept."""

DEPTH = 8
FEW = 16
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)
HIDDEN = (Above, Agent, Node, Protocol, random.Random, *FUNCTIONS)
"""What is no state, or is shown elsewhere."""

Tree = str | dict[str, Any] | list[Any] | tuple[str, ...]
"""A dict for a table or an object, a list for a sequence, a sorted tuple for a set."""

WORDS = (str, int, float, bytes, types.NoneType, Message)
PLAIN = frozenset((str, int, float, bool, bytes, types.NoneType))


class Change(NamedTuple):
    """One place of a state. `before` is None for what is new, `after` for what is gone."""

    path: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is self.after is None:
            return self.path
        if self.before is None:
            return f"{self.path} = {self.after}"
        if self.after is None:
            return f"{self.path} is gone (was {self.before})"
        return f"{self.path}: {self.before} -> {self.after}"


class StateWatch:
    """Remembers how each node's state was and says what has changed since."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, _Seen]] = {}

    def changes(self, name: str, agent: Agent) -> list[Change]:
        """What is different from when this node was last looked at; the first time, everything is new."""
        before = self._seen.get(name, {})
        after: dict[str, _Seen] = {}
        found: list[Change] = []
        for path, value in _attributes(agent):
            seen = before.get(path)
            after[path] = _look(path, value, seen, DEPTH, found)
        found += [Change(path, seen.line(), None) for path, seen in before.items() if path not in after]
        self._seen[name] = after
        if len(found) > MOST:
            return [*found[:MOST], Change(f"... and {len(found) - MOST:,} more", None, None)]
        return found

    def lines(self, name: str) -> list[str]:
        """The state of this node as it was when last looked at, a line for each place."""
        return [f"{path} = {seen.line()}" for path, seen in self._seen.get(name, {}).items()]


class _Seen:
    """What a place of a state held: parts, or a tree of words. The digest says whether a whole has changed."""

    __slots__ = ("digest", "dotted", "parts", "tree", "value")

    def __init__(self, value: Any = None, digest: Any = None) -> None:
        self.value = value
        self.digest = digest
        self.tree: Tree | None = None
        self.parts: dict[str, _Seen] | None = None
        self.dotted = False

    def line(self) -> str:
        return _cut(self._text())

    def _text(self) -> str:
        if self.parts is not None:
            return "{" + ", ".join(f"{key}: {seen._text()}" for key, seen in self.parts.items()) + "}"
        return word(self.value) if self.tree is None else _flat(self.tree)


def word(value: Any, most: int = WORD) -> str:
    """A value in one short line."""
    if isinstance(value, float):
        text = f"{value:.6g}" if abs(value) < 1e6 else repr(value)
    elif isinstance(value, str):
        text = value if value and value.isprintable() and value == value.strip() else repr(value)
    else:
        text = repr(value)
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _attributes(agent: Agent) -> Iterator[tuple[str, Any]]:
    """What protocols share is shown with the first of them; a layer's own book-keeping comes last."""
    shown: set[int] = set()
    for protocol in (*agent.protocols, *filter(None, [agent.layer])):
        name = type(protocol).__name__
        for attribute, value in _members(protocol):
            if isinstance(value, WORDS):
                yield f"{name}.{attribute}", value
            elif not _hidden(value) and id(value) not in shown:
                shown.add(id(value))
                yield f"{name}.{attribute}", value


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    for kind in type(value).__mro__[-2::-1]:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, slot):
                yield slot, getattr(value, slot)
    yield from getattr(value, "__dict__", {}).items()


def _hidden(value: Any) -> bool:
    if isinstance(value, list | tuple) and value:
        return isinstance(value[0], HIDDEN)
    return isinstance(value, HIDDEN)


def _look(path: str, value: Any, seen: _Seen | None, depth: int, found: list[Change]) -> _Seen:
    """Compare with what was seen here, add what differs to `found`, and give what is to be remembered.

    A whole is taken apart only if its digest has changed: most of a state has not.
    """
    if isinstance(value, WORDS):
        if seen is not None and seen.tree is seen.parts is None and _same(seen.value, value):
            return seen
        return _other(path, _Seen(value), seen, found)
    digest = _digest(value)
    if seen is not None and digest is not None and seen.digest == digest:
        return seen
    now = _Seen(digest=digest)
    parts = _parts(value) if depth else None
    if parts is None:
        now.tree = _tree(value, depth)
        if seen is None or seen.tree is None:
            return _other(path, now, seen, found)
        found.extend(_compare(path, seen.tree, now.tree))
        return now
    now.dotted, now.parts = not isinstance(value, Mapping), {}
    was = None if seen is None else seen.parts
    inside: list[Change] = []
    for key, item in parts.items():
        old = None if was is None else was.get(key)
        if old is not None and item is not None and old.value is item:
            now.parts[key] = old
        else:
            place = f"{path}.{key}" if now.dotted else f"{path}[{key}]"
            now.parts[key] = _look(place, item, old, depth - 1, inside)
    if was is None:
        return _other(path, now, seen, found)
    found.extend(inside)
    for key, gone in was.items():
        if key not in now.parts:
            found.append(Change(f"{path}.{key}" if now.dotted else f"{path}[{key}]", gone.line(), None))
    return now


def _same(before: Any, now: Any) -> bool:
    return before is now or (type(before) is type(now) and bool(before == now))


def _other(path: str, now: _Seen, seen: _Seen | None, found: list[Change]) -> _Seen:
    found.append(Change(path, None if seen is None else seen.line(), now.line()))
    return now


def _parts(value: Any) -> dict[str, Any] | None:
    """The parts of a table or an object; None for everything that is compared as a whole."""
    if isinstance(value, Mapping):
        return {_name(key): item for key, item in value.items() if isinstance(item, WORDS) or not _hidden(item)}
    if isinstance(value, Sequence | Set | deque) or _is_array(value) or _is_foreign(value):
        return None
    return {name: item for name, item in _members(value) if not _hidden(item)} or None


def _name(key: Any) -> str:
    if isinstance(key, type):
        return key.__name__
    return key if type(key) is str and 0 < len(key) < KEY else word(key, KEY)


def _is_array(value: Any) -> bool:
    return hasattr(value, "tolist") and hasattr(value, "tobytes")


def _is_foreign(value: Any) -> bool:
    """What a library keeps inside its objects says nothing to a reader."""
    return type(value).__module__.partition(".")[0] in ("networkx", "numpy", "scipy")


def _digest(value: Any) -> Any:
    """What differs if the value does; None if there is nothing, and then it is looked at closely each time.

    Of what holds only words a copy will do, and costs least: to compare it is to compare references.
    """
    if isinstance(value, dict) and _only_words(value.values()):
        return value.copy()
    if isinstance(value, dict) and len(value) <= FEW:
        parts = {key: item if isinstance(item, WORDS) else _digest(item) for key, item in value.items()}
        return None if any(parts[key] is None and item is not None for key, item in value.items()) else parts
    if isinstance(value, list | set | deque) and _only_words(value):
        return value.copy()
    if _is_array(value):
        return value.tobytes()
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # whatever a stranger's class raises
        return None


def _only_words(items: Iterable[Any]) -> bool:
    kinds = set(map(type, items))
    return kinds <= PLAIN or all(issubclass(kind, WORDS) for kind in kinds)


def _tree(value: Any, depth: int) -> Tree:
    if _is_array(value):
        value = value.tolist()
    if isinstance(value, WORDS) or depth <= 0 or hasattr(value, "_fields"):
        return word(value)
    if _hidden(value) or _is_foreign(value):
        return f"<{type(value).__name__}>"
    if isinstance(value, Set):
        return tuple(sorted(map(word, value)))
    if isinstance(value, Sequence | deque):
        return [_tree(item, depth - 1) for item in value]
    parts = _parts(value)
    return word(value) if parts is None else {key: _tree(item, depth - 1) for key, item in parts.items()}


def _compare(path: str, before: Tree | None, after: Tree | None) -> Iterator[Change]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _compare(f"{path}[{key}]", before.get(key), after.get(key))
    elif isinstance(before, tuple) and isinstance(after, tuple):
        yield from (Change(f"{path}[{item}]", "in", None) for item in before if item not in after)
        yield from (Change(f"{path}[{item}]", None, "in") for item in after if item not in before)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(path, before, after)
    else:
        yield Change(path, _line(before), _line(after))


def _compare_lists(path: str, before: list[Tree], after: list[Tree]) -> Iterator[Change]:
    """A list mostly grows at its end or shrinks at its head; else what stands at the same place is compared."""
    shorter = len(before) - len(after)
    if shorter > 0 and before[shorter:] == after:
        yield from (Change(f"{path}[{place}]", _line(item), None) for place, item in enumerate(before[:shorter]))
        return
    for place, (old, new) in enumerate(zip_longest(before, after)):
        yield from _compare(f"{path}[{place}]", old, new)


def _line(tree: Tree | None) -> str | None:
    return None if tree is None else _cut(_flat(tree))


def _cut(text: str) -> str:
    return text if len(text) <= WORD else f"{text[: WORD - 4]} ..."


def _flat(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key}: {_flat(item)}" for key, item in tree.items()) + "}"
    if isinstance(tree, tuple):
        return "{" + ", ".join(tree) + "}"
    return "[" + ", ".join(map(_flat, tree)) + "]"
