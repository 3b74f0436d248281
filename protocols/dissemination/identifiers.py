"""Identifiers in Tapestry: digit strings, the order of nearness, roots and routing tables (dissemination, 2).

A node's identifier and a content's key are strings of digits. Surrogate routing resolves a key digit by digit; where no
node has the next digit, the next higher one that some node has is taken, cyclically. So the node that it ends at, the
key's root, is the one with the least distance from the key, where the distance is the string of cyclic differences,
digit by digit. That one order decides everything here: roots, and which of several nodes a table's slot holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
VALUES = {digit: value for value, digit in enumerate(DIGITS)}

Slot = tuple[int, int]
"""A level (how many digits are shared) and the digit that follows."""


def in_digits(number: int, base: int, length: int) -> str:
    """The last digits of a number."""
    digits = []
    for _ in range(length):
        number, digit = divmod(number, base)
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))


def shared(a: str, b: str) -> int:
    """How many leading digits two identifiers have in common."""
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        if one != other:
            return place
    return len(a)


def slot_of(owner: str, other: str) -> Slot:
    """Where the owner's routing table has room for the other."""
    level = shared(owner, other)
    return level, VALUES[other[level]]


def distance(key: str, identifier: str, base: int) -> tuple[int, ...]:
    """From a key to a node; distances are compared from the first digit on."""
    return tuple([(VALUES[b] - VALUES[a]) % base for a, b in zip(key, identifier, strict=True)])


def nearest(key: str, identifiers: Iterable[str], base: int) -> str:
    return min(identifiers, key=lambda identifier: distance(key, identifier, base))


def full_tables(identifiers: Iterable[str], base: int) -> Mapping[str, Mapping[Slot, str]]:
    """The routing table of every node, from full knowledge: in each slot the nearest of the nodes that fit."""
    return _full_tables(tuple(sorted(identifiers)), base)


@lru_cache(maxsize=4)
def _full_tables(identifiers: Sequence[str], base: int) -> dict[str, dict[Slot, str]]:
    groups: dict[str, list[str]] = {}
    for identifier in identifiers:
        for length in range(len(identifier) + 1):
            groups.setdefault(identifier[:length], []).append(identifier)
    return {owner: _table(owner, groups, base) for owner in identifiers}


def _table(owner: str, groups: Mapping[str, list[str]], base: int) -> dict[Slot, str]:
    table: dict[Slot, str] = {}
    for level in range(len(owner)):
        prefix = owner[:level]
        if len(groups[prefix]) == 1:
            break
        for digit in range(base):
            start = prefix + DIGITS[digit]
            if start in groups and digit != VALUES[owner[level]]:
                table[level, digit] = _nearest_below(owner, start, groups, base)
    return table


def _nearest_below(key: str, prefix: str, groups: Mapping[str, list[str]], base: int) -> str:
    """The nearest of the nodes with this prefix, found digit by digit."""
    while len(groups[prefix]) > 1:
        first = VALUES[key[len(prefix)]]
        steps = (prefix + DIGITS[(first + step) % base] for step in range(base))
        prefix = next(longer for longer in steps if longer in groups)
    return groups[prefix][0]
