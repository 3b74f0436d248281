"""Batches: what one actor has for another after a window, as one bytes object.

Arrivals, places and numbers travel as flat arrays, messages in wire form and each only once, however many links
carry it. Nothing is pickled; a batch that does not decode is a named error.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack

from runtime.errors import DecodeError
from runtime.links import COUNT_BITS, COUNT_MASK
from runtime.message import pack, revive

Arrival = tuple[float, int, int, Any]
"""A message on its way to another actor: when, the rank of its (target, source), its sender's count, and itself."""


def encode_batch(entries: Sequence[tuple[float, int, Any, Any]]) -> bytes:
    arrivals, places, numbers, which = array("d"), array("Q"), array("Q"), array("I")
    messages: list[Any] = []
    known: dict[int, int] = {}
    for arrival, key, _, message in entries:
        arrivals.append(arrival)
        places.append(key >> COUNT_BITS)
        numbers.append(key & COUNT_MASK)
        # Copies of one broadcast are one object, and it lives as long as the entries do.
        position = known.get(id(message))
        if position is None:
            position = known[id(message)] = len(messages)
            messages.append(message)
        which.append(position)
    return pack((arrivals.tobytes(), places.tobytes(), numbers.tobytes(), which.tobytes(), messages))


def decode_batch(wire: bytes) -> Iterator[Arrival]:
    try:
        columns = msgpack.unpackb(wire, use_list=False, raw=False, max_array_len=len(wire))
        arrivals, places, numbers, which = (
            array(kind, column) for kind, column in zip("dQQI", columns[:4], strict=True)
        )
        messages = [revive(message) for message in columns[4]]
        if not len(arrivals) == len(places) == len(numbers) == len(which) or max(which, default=-1) >= len(messages):
            raise DecodeError("not a batch: its columns do not fit together")
        return zip(arrivals, places, numbers, map(messages.__getitem__, which), strict=True)
    except DecodeError:
        raise
    except Exception as problem:
        raise DecodeError(f"not a batch: {type(problem).__name__}: {problem}") from None
