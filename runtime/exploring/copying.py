"""Copies of agents: what a handler does to one of them, another never sees.

Messages, classes, functions and nodes are the same in all copies; they do not change. A function made inside another
one takes what it holds with it.
"""

from __future__ import annotations

import pickle
import types
from io import BytesIO
from typing import Any

from runtime.agent import Agent, Node
from runtime.message import Message, encode

_things: list[Any] = []
_numbers: dict[int, int] = {}
_messages: dict[tuple[type[Any], bytes], int] = {}
_codes: dict[int, tuple[Any, ...]] = {}


def pack_agent(agent: Agent, more: Any = None) -> bytes:
    """The agent, and whatever else belongs to its node, as bytes for this process alone."""
    out = BytesIO()
    _Copier(out, protocol=5).dump((agent, more))
    return out.getvalue()


def unpack_agent(copy: bytes) -> tuple[Agent, Any]:
    agent, more = pickle.loads(copy)  # what pack_agent has written, in this process
    return agent, more


class _Copier(pickle.Pickler):
    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, Message):
            return _the_same, (_number_of_message(thing),)
        if isinstance(thing, types.FunctionType):
            return self._function(thing)
        if isinstance(thing, types.MethodType):
            return _method, (thing.__func__, thing.__self__)
        if isinstance(thing, type | Node):
            return _the_same, (_number(thing),)
        if isinstance(thing, Agent):
            return _bare_agent, (), (thing.protocols, thing.layer), None, None, _wire
        return NotImplemented

    def _function(self, function: types.FunctionType) -> Any:
        if function.__name__ in HELPERS and function.__module__ == __name__:
            return NotImplemented
        if not function.__closure__:
            return _the_same, (_number(function),)
        cells = tuple(cell.cell_contents for cell in function.__closure__)
        made_from = (function.__code__, function.__globals__, function.__name__, function.__defaults__)
        code = _codes.setdefault(id(function.__code__), made_from)
        return _function, (id(code[0]), len(cells)), cells, None, None, _fill


def _number(thing: Any) -> int:
    number = _numbers.get(id(thing))
    if number is None:
        number = _numbers[id(thing)] = len(_things)
        _things.append(thing)  # and it stays: its address is its name
    return number


def _number_of_message(message: Message) -> int:
    key = (type(message), encode(message))
    if key not in _messages:
        _messages[key] = _number(message)
    return _messages[key]


def _the_same(number: int) -> Any:
    return _things[number]


def _function(code: int, cells: int) -> types.FunctionType:
    content, scope, name, defaults = _codes[code]
    return types.FunctionType(content, scope, name, defaults, tuple(types.CellType() for _ in range(cells)))


def _fill(function: types.FunctionType, contents: tuple[Any, ...]) -> None:
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        cell.cell_contents = content


def _method(function: types.FunctionType, owner: Any) -> types.MethodType:
    return types.MethodType(function, owner)


def _bare_agent() -> Agent:
    return Agent.__new__(Agent)


def _wire(agent: Agent, parts: Any) -> None:
    agent.__init__(*parts)  # type: ignore[misc]  # the handlers are bound anew


HELPERS = frozenset({"_the_same", "_function", "_fill", "_method", "_bare_agent", "_wire"})
