"""Properties: what is to hold in a run, each with a name, so that a check can say which one does not.

A property is a method of a system, or a static method of a protocol of one's own. It looks at the whole network
from outside and yields, in words, everything that is wrong:

    @eventually
    def right_tables(self, world):
        \"\"\"At quiescence every table is the one that breadth-first search gives.\"\"\"
        ...
        yield f"{name} thinks that {topic} is {hops} hops away"

Its name is the method's, its explanation the first line of its docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Kind = Literal["always", "eventually", "sometimes"]
F = TypeVar("F")


@dataclass(frozen=True)
class Property:
    """`look` gives what is wrong; for `sometimes`, whether it has come about."""

    name: str
    kind: Kind
    about: str
    look: Callable[..., Any]

    def problems(self, *seen: Any) -> list[str]:
        return [f"{self.name}: {problem}" for problem in self.look(*seen)]


def always(method: F) -> F:
    """Holds after every event, however the network fares."""
    _mark(method, "always")
    return method


def eventually(method: F) -> F:
    """Holds when nothing is left to happen."""
    _mark(method, "eventually")
    return method


def sometimes(method: F) -> F:
    """Comes about in some runs: else a check has not seen what it was to see. The method says True or False."""
    _mark(method, "sometimes")
    return method


def _mark(method: Any, kind: Kind) -> None:
    plain: Any = method.__func__ if isinstance(method, staticmethod) else method
    plain.property_kind = kind


def properties_of(kind: type[Any]) -> tuple[Property, ...]:
    """The properties that a class declares or inherits, in the order in which they are written."""
    names = dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base))
    return tuple(_declared(kind, names))


def _declared(kind: type[Any], names: Iterable[str]) -> Iterator[Property]:
    for name in names:
        member = getattr(kind, name)
        if hasattr(member, "property_kind"):
            about = inspect.cleandoc(member.__doc__ or "").partition("\n")[0]
            yield Property(name.replace("_", "-"), member.property_kind, about, member)
