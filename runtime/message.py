"""Messages: small immutable typed records with a msgpack wire form.

    @message
    class Advertise:
        topic: str
        distance_hops: int

A message *is* the tuple `(tag, field, ...)` that goes on the wire as a msgpack array, so that encoding
needs no conversion. Fields are checked when the message is made: nothing mutable can travel, and what one
agent sends another cannot change.
"""

from __future__ import annotations

import types
import typing
from collections import _tuplegetter  # type: ignore[attr-defined]
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

import msgpack

from runtime.errors import DecodeError, MessageError

T = TypeVar("T")
Check = Callable[[Any], Any]

Scalar = str | int | float | bool | None
"""A field that may hold any plain value: `value: Scalar`."""

_SCALARS: dict[Any, str] = {int: "an int", str: "a str", bytes: "bytes", bool: "a bool"}
_registry: dict[str, type[Message]] = {}
pack: Callable[[Any], bytes] = msgpack.Packer(use_bin_type=True).pack


class Message(tuple[Any, ...]):
    """Every declared message is one. As the type of a field: any message (of whatever kind)."""

    __slots__ = ()
    tag: typing.ClassVar[str]
    fields: typing.ClassVar[tuple[str, ...]]
    _revivers: typing.ClassVar[tuple[tuple[int, Check], ...]]

    def __init_subclass__(cls) -> None:
        if "_revivers" not in cls.__dict__:
            raise MessageError(f"{cls.__name__}: messages do not inherit; write @message over a class without bases")

    def __repr__(self) -> str:
        return f"{self.tag}({', '.join(f'{k}={v!r}' for k, v in zip(self.fields, self[1:], strict=True))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self[1:]


@overload
def message(cls: type[T]) -> type[T]: ...
@overload
def message(*, tag: str) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True)
def message(cls: type[Any] | None = None, *, tag: str | None = None) -> Any:
    """Declare a message. Its tag on the wire is the class's name unless another is given."""
    if cls is None:
        return lambda declared: _declare(declared, tag)
    return _declare(cls, tag)


def replace(value: T, **changes: Any) -> T:
    """The same message with some fields changed."""
    if not isinstance(value, Message):
        raise MessageError(f"{value!r} is not a message")
    return type(value)(**{**dict(zip(value.fields, value[1:], strict=True)), **changes})


def encode(value: Any) -> bytes:
    """The wire form: a msgpack array `[tag, field, ...]`."""
    if not isinstance(value, Message):
        raise MessageError(f"{value!r} is not a message: declare its class with @message")
    try:
        return pack(value)
    except (OverflowError, UnicodeEncodeError, ValueError) as problem:
        raise MessageError(f"{value!r} has no wire form: {problem}") from None


def decode(wire: bytes) -> Any:
    """The message that these bytes stand for, or DecodeError with the reason."""
    try:
        array = msgpack.unpackb(wire, use_list=False, raw=False)
    except Exception as problem:
        raise DecodeError(f"not msgpack: {problem or type(problem).__name__}") from None
    try:
        return revive(array)
    except RecursionError:
        raise DecodeError("messages nested too deep") from None


def message_types() -> dict[str, type[Message]]:
    """Every declared message by its tag."""
    return dict(_registry)


def revive(array: Any) -> Any:
    if not isinstance(array, tuple) or not array or not isinstance(array[0], str):
        raise DecodeError(f"{array!r} is not [tag, field, ...]")
    cls = _registry.get(array[0])
    if cls is None:
        raise DecodeError(f"no message has the tag {array[0]!r}")
    if len(array) != len(cls.fields) + 1:
        raise DecodeError(f"{cls.tag} has {len(cls.fields)} fields, not {len(array) - 1}")
    if cls._revivers:
        parts = list(array)
        for place, revive_part in cls._revivers:
            parts[place] = revive_part(parts[place])
        array = tuple(parts)
    try:
        return cls(*array[1:])
    except MessageError as problem:
        raise DecodeError(str(problem)) from None


def _declare(cls: type[Any], tag: str | None) -> type[Message]:
    tag = tag or cls.__name__
    if cls.__bases__ != (object,):
        raise MessageError(f"{cls.__name__}: messages do not inherit; write @message over a class without bases")
    hints = {name: hint for name, hint in typing.get_type_hints(cls).items() if name in cls.__annotations__}
    made = _build(cls, tag, hints)
    known = _registry.get(tag)
    same = known is not None and (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
    if known is not None and not same and "<locals>" not in known.__qualname__:
        raise MessageError(
            f"the tag {tag!r} of {cls.__module__}.{cls.__qualname__} is taken by "
            f"{known.__module__}.{known.__qualname__}: write @message(tag=...)"
        )
    _registry[tag] = made
    return made


def _build(cls: type[Any], tag: str, hints: dict[str, Any]) -> type[Message]:
    """A tuple class with a constructor that checks its arguments, written out as dataclasses do."""
    # With an underscore, because fields may be called `type` or `int`.
    scope: dict[str, Any] = {"_new": tuple.__new__, "_tag": tag, "_type": type, "_float": float}
    scope |= {f"_{kind.__name__}": kind for kind in _SCALARS}
    lines, parameters, revivers = [], ["_cls"], []
    for place, (name, hint) in enumerate(hints.items(), start=1):
        if name.startswith("_") or name in ("tag", "fields", "count", "index"):
            raise MessageError(f"{tag}.{name}: a field cannot have this name")
        try:
            scope[f"_check_{name}"] = _checker(hint, f"{tag}.{name}")
        except TypeError as problem:
            raise MessageError(f"{tag}.{name}: {problem}") from None
        exact = hint if hint in _SCALARS or hint is float else None
        guard = f"if _type({name}) is not _{exact.__name__}: " if exact else ""
        lines.append(f"    {guard}{name} = _check_{name}({name})")
        if (reviver := _reviver(hint)) is not None:
            revivers.append((place, reviver))
        if name in cls.__dict__:
            scope[f"_default_{name}"] = cls.__dict__[name]
            parameters.append(f"{name}=_default_{name}")
        elif "=" in parameters[-1]:
            raise MessageError(f"{tag}.{name}: a field without a default follows one with a default")
        else:
            parameters.append(name)
    names = "".join(f", {name}" for name in hints)
    body = "\n".join([*lines, f"    return _new(_cls, (_tag{names},))"])
    exec(f"def __new__({', '.join(parameters)}):\n{body}", scope)
    keep = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__", "__slots__", *hints)}
    getters = {name: _tuplegetter(place, name) for place, name in enumerate(hints, start=1)}
    made = type(
        cls.__name__,
        (Message,),
        {
            **keep,
            **getters,
            "__slots__": (),
            "__new__": scope["__new__"],
            "__qualname__": cls.__qualname__,
            "tag": tag,
            "fields": tuple(hints),
            "_revivers": tuple(revivers),
            "__match_args__": tuple(hints),
        },
    )
    return typing.cast("type[Message]", made)


def _checker(hint: Any, where: str) -> Check:
    """A function that gives a value back as this field keeps it, or raises MessageError."""

    def refuse(value: Any, wanted: str) -> typing.NoReturn:
        raise MessageError(f"{where}: {value!r} is not {wanted}")

    if hint in _SCALARS:
        wanted = _SCALARS[hint]
        return lambda value: value if type(value) is hint else refuse(value, wanted)
    if hint is float:
        return lambda value: _as_float(value, refuse) if type(value) in (int, float) else refuse(value, "a float")
    if hint is None or hint is type(None):
        return lambda value: None if value is None else refuse(value, "None")
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments, where, refuse)
    if origin is tuple:
        return _tuple(arguments, where, refuse)
    if origin is typing.Literal and all(type(argument) in _PLAIN for argument in arguments):
        return _literal(arguments, refuse)
    if isinstance(hint, type) and issubclass(hint, Message):
        article = "a message" if hint is Message else f"a message {hint.tag}"
        return lambda value: value if isinstance(value, hint) else refuse(value, article)
    raise TypeError(
        f"{hint!r} cannot be a field's type; allowed: int, float, str, bytes, bool, None, tuple[...], "
        "unions and literals of these, a message"
    )


def _as_float(value: float, refuse: Callable[..., Any]) -> Any:
    try:
        return float(value)
    except OverflowError:
        return refuse(value, "a float: it is too large")


def _literal(arguments: tuple[Any, ...], refuse: Callable[..., Any]) -> Check:
    def check(value: Any) -> Any:
        # By type too, since 1, 1.0 and True are equal.
        if any(type(value) is type(argument) and value == argument for argument in arguments):
            return value
        return refuse(value, f"one of {arguments}")

    return check


def _union(arguments: tuple[Any, ...], where: str, refuse: Callable[..., Any]) -> Check:
    arrays = [a for a in arguments if typing.get_origin(a) is tuple]
    revived = [a for a in arguments if _reviver(a) is not None]
    if revived and len({*arrays, *revived}) > 1 and arrays:
        raise TypeError("a message or a tuple, or tuples of several kinds with messages: both are arrays on the wire")
    exact = tuple(a if a is not None else type(None) for a in arguments if typing.get_origin(a) is None)
    plain = _PLAIN if int in arguments else tuple(kind for kind in _PLAIN if kind is not float)
    others = [_checker(a, where) for a in arguments if typing.get_origin(a) is not None or a not in plain]
    names = " | ".join(getattr(a, "__name__", str(a)) for a in arguments)

    def check(value: Any) -> Any:
        if type(value) in exact:
            return value
        for other in others:
            try:
                return other(value)
            except MessageError:
                continue
        return refuse(value, names)

    return check


_PLAIN = (int, float, str, bytes, bool, type(None), None)


def _tuple(arguments: tuple[Any, ...], where: str, refuse: Callable[..., Any]) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _checker(arguments[0], where)
        return lambda value: tuple(map(item, value)) if isinstance(value, tuple) else refuse(value, "a tuple")
    items = [_checker(argument, where) for argument in arguments]

    def check(value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != len(items):
            refuse(value, f"a tuple of {len(items)}")
        return tuple(item(part) for item, part in zip(items, value, strict=True))

    return check


def _reviver(hint: Any) -> Check | None:
    """Turns what msgpack gives back for this field into nested messages; None where there are none."""
    if isinstance(hint, type) and issubclass(hint, Message):
        return revive
    arguments = [a for a in typing.get_args(hint) if a is not Ellipsis]
    revivers = [_reviver(a) for a in arguments]
    if not any(revivers):
        return None
    if typing.get_origin(hint) is tuple and len(arguments) == 1:
        inner = typing.cast("Check", revivers[0])
        return lambda value: tuple(map(inner, value)) if isinstance(value, tuple) else value
    if typing.get_origin(hint) is tuple:

        def revive_items(value: Any) -> Any:
            if not isinstance(value, tuple) or len(value) != len(revivers):
                return value  # the field's check says what is wrong with it
            return tuple(r(v) if r else v for r, v in zip(revivers, value, strict=True))

        return revive_items
    inner = next(r for r in revivers if r)
    return lambda value: inner(value) if isinstance(value, tuple) else value
