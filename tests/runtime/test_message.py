"""Messages: what goes in comes out, nothing mutable can travel, and bytes that are no message are refused."""

from __future__ import annotations

import pickle
from typing import Any, Literal

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.errors import BrokerlabError, DecodeError, MessageError
from runtime.message import Message, Scalar, decode, encode, message, message_types, replace

quick = settings(max_examples=150)


@message
class Blip:
    """A message without fields."""


@message
class Spot:
    x: int
    y: float = 0.5


@message(tag="all-kinds")
class Everything:
    amount: int
    length: float
    name: str
    blob: bytes
    flag: bool
    nothing: None
    anything: Scalar
    maybe: float | None
    path: tuple[str, ...]
    entry: tuple[str, int, float]
    table: tuple[tuple[str, Scalar], ...]
    choice: Literal["a", "b", 3]
    empty: tuple[()]
    inner: Spot
    one_of_two: Spot | Blip | None
    several: tuple[Spot, ...]
    mixed: tuple[Spot, int, tuple[Blip | None, ...]]
    maybe_several: tuple[Spot, ...] | None
    whatever: Message


@message
class Wrapping:
    content: Message


@message
class Twosome:
    pair: tuple[Blip, int]


@message
class Builtin:
    """Fields may be called what builtin functions are called."""

    type: str
    int: int
    float: float
    str: str
    bytes: bytes
    bool: bool
    tuple: tuple[str, ...]
    len: int


# Round trips

ints = st.integers(min_value=-(2**63), max_value=2**64 - 1)
floats = st.floats(allow_nan=False)
scalars = st.one_of(st.none(), st.booleans(), ints, floats, st.text())
leaves = st.builds(Blip)
points = st.builds(Spot, ints, floats)
messages = st.recursive(st.one_of(leaves, points), lambda inner: st.builds(Wrapping, inner), max_leaves=6)
everything = st.builds(
    Everything,
    amount=ints,
    length=floats,
    name=st.text(),
    blob=st.binary(),
    flag=st.booleans(),
    nothing=st.none(),
    anything=scalars,
    maybe=st.one_of(st.none(), floats),
    path=st.lists(st.text()).map(tuple),
    entry=st.tuples(st.text(), ints, floats),
    table=st.lists(st.tuples(st.text(), scalars)).map(tuple),
    choice=st.sampled_from(["a", "b", 3]),
    empty=st.just(()),
    inner=points,
    one_of_two=st.one_of(points, leaves, st.none()),
    several=st.lists(points, max_size=4).map(tuple),
    mixed=st.tuples(points, ints, st.lists(st.one_of(leaves, st.none()), max_size=3).map(tuple)),
    maybe_several=st.one_of(st.none(), st.lists(points, max_size=3).map(tuple)),
    whatever=messages,
)


def shape(value: Any) -> Any:
    """A value with the exact types of all that is in it: 1, 1.0 and True are equal, but not the same."""
    if isinstance(value, tuple):
        return type(value), tuple(map(shape, value))
    return type(value), value


@quick
@given(everything)
def test_a_message_comes_back_as_it_was_sent(sent: Everything) -> None:
    received = decode(encode(sent))
    assert shape(received) == shape(sent)


@quick
@given(everything)
def test_the_wire_form_is_the_tag_and_the_fields_in_their_order(sent: Everything) -> None:
    # The oracle: msgpack itself, on plain tuples.
    assert msgpack.unpackb(encode(sent), use_list=False) == (
        "all-kinds",
        *(getattr(sent, name) for name in Everything.__annotations__),
    )


@quick
@given(everything)
def test_a_message_survives_pickling(sent: Everything) -> None:
    assert shape(pickle.loads(pickle.dumps(sent))) == shape(sent)


@quick
@given(messages)
def test_nested_messages_come_back_as_messages(sent: Any) -> None:
    depth, received = 0, decode(encode(Wrapping(sent)))
    while isinstance(received, Wrapping):
        depth, received = depth + 1, received.content
    assert isinstance(received, Spot | Blip)
    assert depth == repr(sent).count("Wrapping") + 1


def test_fields_may_have_the_names_of_builtins() -> None:
    sent = Builtin("t", 1, 2.0, "s", b"b", True, ("x",), 3)
    assert shape(decode(encode(sent))) == shape(sent)
    assert (sent.type, sent.int, sent.len) == ("t", 1, 3)
    with pytest.raises(MessageError, match=r"Builtin\.int: 'no' is not an int"):
        replace(sent, int="no")


def test_defaults_fill_what_is_left_out() -> None:
    assert Spot(1) == Spot(1, 0.5) == Spot(x=1, y=0.5)
    with pytest.raises(TypeError, match="x"):
        Spot()


def test_a_message_says_what_it_is() -> None:
    assert repr(Wrapping(Spot(1, 2.0))) == "Wrapping(content=Spot(x=1, y=2.0))"
    assert repr(Blip()) == "Blip()"


def test_messages_are_equal_by_content_and_can_be_matched() -> None:
    assert Spot(1) == Spot(1) != Spot(2)
    assert len({Spot(1), Spot(1), Blip()}) == 2
    match Wrapping(Spot(1, 2.0)):
        case Wrapping(Spot(x, y)):
            assert (x, y) == (1, 2.0)
        case _:
            pytest.fail("no match")


def test_replace_changes_some_fields_and_checks_them() -> None:
    before = Spot(1, 2.0)
    assert replace(before, y=3) == Spot(1, 3.0)
    assert before == Spot(1, 2.0)
    with pytest.raises(MessageError, match=r"Spot\.y"):
        replace(before, y="far")
    with pytest.raises(MessageError, match="not a message"):
        replace("text", y=1)


def test_methods_and_docstrings_of_a_message_stay() -> None:
    @message(tag="test.Named")
    class Named:
        """What it says."""

        first: str
        last: str

        @property
        def full(self) -> str:
            return f"{self.first} {self.last}"

    assert Named.__doc__ == "What it says."
    assert Named("a", "b").full == "a b"


# What a field takes


def everything_with(**changes: Any) -> Everything:
    fine = Everything(
        amount=1,
        length=1.0,
        name="",
        blob=b"",
        flag=True,
        nothing=None,
        anything=None,
        maybe=None,
        path=(),
        entry=("", 0, 0.0),
        table=(),
        choice="a",
        empty=(),
        inner=Spot(1),
        one_of_two=None,
        several=(),
        mixed=(Spot(1), 1, ()),
        maybe_several=None,
        whatever=Blip(),
    )
    return replace(fine, **changes)


class Text(str):
    """A str that can carry along whatever one likes."""


wrong = [
    ("amount", 1.0, "an int"),
    ("amount", True, "an int"),
    ("amount", "1", "an int"),
    ("amount", None, "an int"),
    ("length", "1.0", "a float"),
    ("length", True, "a float"),
    ("name", b"n", "a str"),
    ("name", Text("n"), "a str"),
    ("blob", "b", "bytes"),
    ("blob", bytearray(b"b"), "bytes"),
    ("flag", 1, "a bool"),
    ("nothing", 0, "None"),
    ("anything", (1,), "str | int | float | bool | NoneType"),
    ("maybe", "x", "float | NoneType"),
    ("path", ["a"], "a tuple"),
    ("path", "ab", "a tuple"),
    ("path", (1,), "a str"),
    ("entry", ("a", 1), "a tuple of 3"),
    ("entry", ("a", 1, 2.0, 3), "a tuple of 3"),
    ("entry", ("a", "b", 2.0), "an int"),
    ("table", (("a", []),), "str | int"),
    ("choice", "c", "one of"),
    ("choice", 3.0, "one of"),
    ("choice", Text("a"), "one of"),
    ("empty", (1,), "a tuple of 0"),
    ("inner", (1, 0.5), "a message Spot"),
    ("inner", Blip(), "a message Spot"),
    ("one_of_two", Wrapping(Blip()), "Spot | Blip"),
    ("several", (Blip(),), "a message Spot"),
    ("mixed", (Spot(1), 1, (Spot(1),)), "Blip"),
    ("whatever", ("Blip",), "a message"),
]


@pytest.mark.parametrize(("field", "value", "wanted"), wrong)
def test_a_wrong_value_is_refused_by_field_and_what_is_wanted(field: str, value: Any, wanted: str) -> None:
    with pytest.raises(MessageError) as caught:
        everything_with(**{field: value})
    assert str(caught.value).startswith(f"all-kinds.{field}: ")
    assert wanted in str(caught.value)


def test_one_is_not_true_in_a_literal() -> None:
    @message(tag="test.Switch")
    class Switch:
        state: Literal[0, 1]

    assert Switch(1).state == 1
    with pytest.raises(MessageError, match="one of"):
        Switch(True)


def test_whole_numbers_become_floats_where_floats_are_wanted() -> None:
    assert shape(Spot(1, 2).y) == (float, 2.0)
    assert shape(everything_with(maybe=2).maybe) == (float, 2.0)
    assert shape(everything_with(entry=("a", 1, 2)).entry[2]) == (float, 2.0)
    assert shape(everything_with(anything=2).anything) == (int, 2)


def test_a_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(MessageError, match=r"Spot\.y"):
        Spot(1, 10**400)


def test_what_has_no_wire_form_is_refused_when_it_is_encoded() -> None:
    for value in (2**64, -(2**63) - 1):
        with pytest.raises(MessageError, match="has no wire form"):
            encode(Spot(value))
    with pytest.raises(MessageError, match="has no wire form"):
        encode(everything_with(name="\ud800"))
    # ... and leaves nothing behind in the packer.
    assert decode(encode(Spot(1))) == Spot(1)


@pytest.mark.parametrize("value", ["text", ("Spot", 1, 2.0), None, object(), Spot, [Spot(1)]])
def test_only_messages_are_encoded(value: Any) -> None:
    with pytest.raises(MessageError, match="not a message"):
        encode(value)


# Nothing mutable can travel

mutable: list[Any] = [[], {}, set(), bytearray(), object(), lambda: None, [1], ([],), Text("a"), iter(())]


@pytest.mark.parametrize("value", mutable, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("field", Everything.__annotations__)
def test_no_field_takes_anything_mutable(field: str, value: Any) -> None:
    with pytest.raises(MessageError):
        everything_with(**{field: value})


def immutable(value: Any) -> bool:
    """Made of plain values only, all the way down, with no place to put anything else."""
    if isinstance(value, tuple):
        plain = type(value) is tuple or (isinstance(value, Message) and not hasattr(value, "__dict__"))
        return plain and all(map(immutable, value))
    return type(value) in (int, float, str, bytes, bool, type(None))


@quick
@given(everything)
def test_a_message_is_immutable_all_the_way_down(sent: Everything) -> None:
    assert immutable(sent)
    assert immutable(decode(encode(sent)))


def test_what_the_sender_passed_in_is_copied_where_it_could_be_changed() -> None:
    class Bag(tuple[Any, ...]):
        """A tuple that can carry along whatever one likes."""

    bag = Bag(("a",))
    bag.more = []  # type: ignore[attr-defined]
    assert immutable(everything_with(path=bag))


def test_a_message_cannot_be_changed() -> None:
    point: Any = Spot(1)
    for change in ("x", "new", "tag"):
        with pytest.raises(AttributeError):
            setattr(point, change, Blip)
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(TypeError):
        point[1] = 2
    assert point == Spot(1)


def test_messages_cannot_be_inherited() -> None:
    with pytest.raises(MessageError, match="Farther"):

        class Farther(Spot):  # an instance could be given attributes
            pass

    with pytest.raises(MessageError, match="Nameless"):

        class Nameless(Message):
            pass

    class Base:
        x: int

    with pytest.raises(MessageError, match="Derived"):

        @message
        class Derived(Base):  # x would be lost
            y: int


# Declarations


@pytest.mark.parametrize(
    "hint",
    [list, dict, set, Any, object, tuple, list[int], tuple[list[int], ...], int | list[int], Literal[b"x"] | set],
)
def test_a_field_of_a_mutable_type_cannot_be_declared(hint: Any) -> None:
    with pytest.raises(MessageError, match=r"Bad\.field: .* cannot be a field's type; allowed: int"):
        message(type("Bad", (), {"__annotations__": {"field": hint}}))
    assert "Bad" not in message_types()


@pytest.mark.parametrize("name", ["tag", "fields", "count", "index", "_hidden", "__new__"])
def test_a_field_cannot_have_the_name_of_what_every_message_has(name: str) -> None:
    with pytest.raises(MessageError, match=f"Bad.{name}: a field cannot have this name"):
        message(type("Bad", (), {"__annotations__": {name: int}}))


@pytest.mark.parametrize(
    "hint",
    [Spot | tuple[str, ...], tuple[Spot, ...] | tuple[int, ...], Message | tuple[()], Spot | tuple[Blip, ...]],
)
def test_a_field_cannot_be_a_message_or_a_tuple_because_the_wire_has_arrays_for_both(hint: Any) -> None:
    with pytest.raises(MessageError, match=r"Bad\.field: "):
        message(type("Bad", (), {"__annotations__": {"field": hint}}))


def test_a_field_without_a_default_cannot_follow_one_with_a_default() -> None:
    with pytest.raises(MessageError, match=r"Bad\.b: .*default"):

        @message
        class Bad:
            a: int = 1
            b: int


def test_a_tag_belongs_to_one_class() -> None:
    with pytest.raises(MessageError) as caught:
        message(type("Spot", (), {"__module__": "elsewhere", "__annotations__": {"x": int}}))
    assert f"'Spot' of elsewhere.Spot is taken by {Spot.__module__}.Spot" in str(caught.value)
    assert "@message(tag=...)" in str(caught.value)
    assert decode(encode(Spot(1))) == Spot(1)


def test_another_tag_avoids_the_clash() -> None:
    other = message(tag="elsewhere.Spot")(type("Spot", (), {"__module__": "elsewhere", "__annotations__": {"x": int}}))
    received = decode(encode(other(1)))
    assert type(received) is other
    assert received != Spot(1)
    assert message_types()["elsewhere.Spot"] is other


def test_a_module_that_is_loaded_again_declares_its_messages_again() -> None:
    def load() -> Any:
        return message(type("Again", (), {"__module__": "elsewhere", "__annotations__": {"x": int}}))

    first, second = load(), load()
    assert first is not second
    assert type(decode(encode(first(1)))) is second


# Bytes that are no message


def packed(value: Any) -> bytes:
    return msgpack.packb(value)


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (b"", "not msgpack"),
        (b"\xc1", "not msgpack"),
        (encode(Spot(1))[:-1], "not msgpack"),
        (encode(Spot(1)) + b"\x00", "not msgpack"),
        (packed(7), r"7 is not \[tag, field, ...\]"),
        (packed({"Spot": 1}), "is not"),
        (packed([]), "is not"),
        (packed([1, 2]), "is not"),
        (packed(["Nobody", 1]), "no message has the tag 'Nobody'"),
        (packed(["Spot", 1]), "Spot has 2 fields, not 1"),
        (packed(["Spot", 1, 2.0, 3]), "Spot has 2 fields, not 3"),
        (packed(["Spot", "1", 2.0]), r"Spot\.x: '1' is not an int"),
        (packed(["Spot", True, 2.0]), r"Spot\.x: True is not an int"),
        (packed(["Wrapping", 1]), "is not"),
        (packed(["Wrapping", ["Nobody"]]), "no message has the tag 'Nobody'"),
        (packed(["Wrapping", ["Spot", 1, "y"]]), r"Spot\.y: 'y' is not a float"),
        (packed(["Twosome", 3]), r"Twosome\.pair: 3 is not a tuple of 2"),
        (packed(["Twosome", [["Blip"], 2, 3]]), r"Twosome\.pair: .* is not a tuple of 2"),
        (packed(["Twosome", [["Blip"]]]), r"Twosome\.pair: .* is not a tuple of 2"),
        (packed(["Twosome", ["Blip", 2]]), "is not"),
        (packed(["Twosome", None]), r"Twosome\.pair: None is not a tuple of 2"),
    ],
)
def test_bytes_that_are_no_message_are_refused_with_the_reason(wire: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode(wire)


@pytest.mark.parametrize("depth", [10, 300, 900, 1010, 5000, 100_000])
def test_messages_nested_too_deep_are_refused_and_not_fatal(depth: int) -> None:
    wire = b"\x92\xa8Wrapping" * depth + b"\x91\xa4Blip"
    if depth < 300:
        assert encode(decode(wire)) == wire
        return
    try:
        received = decode(wire)
    except DecodeError:
        return
    assert encode(received) == wire


json_like = st.recursive(
    st.one_of(scalars, st.binary(max_size=5), st.sampled_from(sorted(message_types()))),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=12,
)
tagged = st.tuples(st.sampled_from(sorted(message_types())), st.lists(json_like, max_size=5)).map(
    lambda pair: packed([pair[0], *pair[1]])
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The bytes of a message with some of them overwritten, cut out or put in."""
    wire = bytearray(encode(draw(st.one_of(everything, messages))))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(wire)))
        wire[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(wire)


@settings(max_examples=600)
@given(st.one_of(st.binary(max_size=60), json_like.map(packed), tagged, damaged()))
@example(b"\xd6\xff\x00\x00\x00\x00")  # a timestamp
@example(packed(["Twosome", msgpack.ExtType(1, b"xy")]))
@example(b"\xdd\xff\xff\xff\xff")  # an array of four thousand million elements, of which none follows
@example(b"\x82\x90\x01\x90\x02")  # keys that cannot be keys
def test_whatever_the_bytes_are_they_are_a_message_or_a_decode_error(wire: bytes) -> None:
    try:
        received = decode(wire)
    except DecodeError as error:
        assert str(error)
        assert isinstance(error, BrokerlabError)
    else:
        assert isinstance(received, Message)
        assert immutable(received)
        assert shape(decode(encode(received))) == shape(received) or "nan" in repr(received)
