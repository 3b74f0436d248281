"""A digest of an agent's state: equal for states that behave alike, whatever way led to them.

Attributes and sets are taken in sorted order; dictionaries as they stand, since a handler may go through them in that
order. Where the same object is found twice, this is said too. A timer's handle is its place among the pending timers:
what number it was given depends on the past alone.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from runtime.agent import Agent, Node
from runtime.message import Message, pack

DIGEST_BYTES = 16


class Handle(int):
    """What `after` gives to an agent that is explored."""

    __slots__ = ()


def digest_of(*parts: bytes) -> int:
    """128 bits that stand for these bytes."""
    hashed = blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        hashed.update(b"%d:" % len(part))
        hashed.update(part)
    return int.from_bytes(hashed.digest(), "big")


def describe(value: Any, timers: Mapping[int, int] | None = None) -> bytes:
    """Bytes that say all there is to say about the value; `timers` gives the place of each pending handle."""
    description = _Description(timers or {})
    description.put(value)
    return b"".join(description.out)


class _Description:
    def __init__(self, timers: Mapping[int, int]) -> None:
        self.out: list[bytes] = []
        self._timers = timers
        self._gone: dict[int, int] = {}
        self._met: dict[int, int] = {}
        self._alive: list[Any] = []

    def put(self, value: Any) -> None:
        kind = value.__class__
        plain = _PLAIN.get(kind)
        if plain is not None:
            self.out.append(plain(value))
        elif kind is Handle:
            self._handle(value)
        elif kind is tuple:
            self._several(b"(", value)
        elif isinstance(value, Message):
            self.out.append(b"m" + _framed(pack(value)))
        elif isinstance(value, type):
            self.out.append(b"c" + _framed(f"{value.__module__}.{value.__qualname__}".encode()))
        elif isinstance(value, Node):
            self.out.append(b"@" + _framed(value.id.encode()))
        elif kind is frozenset:
            self._unordered(b"F", value)
        elif kind is types.MethodType:
            self.out.append(b"b")
            self.put(value.__func__)
            self.put(value.__self__)
        elif self._is_new(value):
            self._inner(kind, value)

    def _is_new(self, value: Any) -> bool:
        known = self._met.get(id(value))
        if known is not None:
            self.out.append(b"^%d;" % known)
            return False
        self._met[id(value)] = len(self._met)
        self._alive.append(value)
        return True

    def _inner(self, kind: type[Any], value: Any) -> None:
        if kind is list:
            self._several(b"[", value)
        elif kind is dict:
            self._several(b"{", [part for pair in value.items() for part in pair])
        elif kind is set:
            self._unordered(b"S", value)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self.out.append(b"a" + _framed(f"{value.dtype.str}{value.shape}".encode()) + _framed(value.tobytes()))
        elif kind is types.FunctionType:
            self._function(value)
        elif kind is Agent:
            self.put((value.layer, value.protocols))
        else:
            self._thing(value)

    def _several(self, sign: bytes, values: Any) -> None:
        self.out.append(sign + b"%d:" % len(values))
        for value in values:
            self.put(value)

    def _unordered(self, sign: bytes, values: Any) -> None:
        self._several(sign, sorted(values, key=lambda value: describe(value, self._timers)))

    def _handle(self, handle: Handle) -> None:
        place = self._timers.get(int(handle))
        if place is None:
            self.out.append(b"h-%d;" % self._gone.setdefault(int(handle), len(self._gone)))
        else:
            self.out.append(b"h%d;" % place)

    def _function(self, function: types.FunctionType) -> None:
        name = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
        self.out.append(b"f" + _framed(name.encode()))
        self.put(tuple(_content(cell) for cell in function.__closure__ or ()))
        self.put(function.__defaults__ or ())

    def _thing(self, value: Any) -> None:
        """Anything else, as pickle would take it apart."""
        parts = value.__reduce_ex__(4)
        self._alive.append(parts)  # what is made for the occasion must not share an address with what comes later
        if isinstance(parts, str):
            self.out.append(b"g" + _framed(f"{type(value).__module__}.{parts}".encode()))
            return
        make, given, state, items, pairs = (*parts[:5], None, None, None)[:5]
        self.out.append(b"o")
        self.put(make)
        self._several(b"(", given)
        self._state(state)
        self._several(b"[", [*(items or ())])
        self._several(b"{", [part for pair in pairs or () for part in pair])

    def _state(self, state: Any) -> None:
        if isinstance(state, dict):
            self._several(b".", [part for key in sorted(state) for part in (key, state[key])])
        elif isinstance(state, tuple) and len(state) == 2 and all(isinstance(s, dict | None) for s in state):
            self._state({**(state[0] or {}), **(state[1] or {})})
        else:
            self.put(state)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not filled yet


def _framed(text: bytes) -> bytes:
    return b"%d:" % len(text) + text


_PLAIN: dict[type[Any], Any] = {
    str: lambda value: b"s" + _framed(value.encode("utf-8", "surrogatepass")),
    int: lambda value: b"i%d;" % value,
    float: lambda value: b"d" + value.hex().encode() + b";",
    bool: lambda value: b"T" if value else b"N",
    types.NoneType: lambda value: b"0",
    bytes: lambda value: b"y" + _framed(value),
    types.BuiltinFunctionType: lambda value: b"u" + _framed(value.__qualname__.encode()),
}
