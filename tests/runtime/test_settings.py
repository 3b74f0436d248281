"""A section that is wrong is refused with the key, the problem and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag, ValidationError, model_validator

from runtime.errors import ScenarioError
from runtime.settings import ManyForms, Settings, Several, parse, problem_at, settings_error


class Store(Settings):
    broker: str = Field(min_length=1, max_length=5, pattern="^n", examples=["n1"])
    size: int = Field(default=1, ge=1)


class Drop(Settings):
    kind: Literal["drop"]
    probability: float = Field(default=1.0, ge=0, le=1)


class Crash(Settings):
    kind: Literal["crash"]
    nodes: list[str]


Fault = Annotated[Drop | Crash, Field(discriminator="kind")]


def shape(value: Any) -> str | None:
    return {1: "one", 2: "two"}.get(len(value)) if isinstance(value, list) else None


def whole_hour(hour: int) -> int:
    if hour > 23:
        raise ValueError(f"{hour} o'clock does not exist; write 0 to 23")
    return hour


class Place(ManyForms):
    height: float = Field(default=0.0, gt=-10, lt=10)

    @classmethod
    def form(cls, data: Mapping[str, Any]) -> type[Any]:
        if cls is not Place:
            return cls
        if "street" not in data and "lake" not in data:
            raise ValueError("write a street or a lake")
        return Town if "street" in data else Water


class Town(Place):
    street: str
    number: int


class Water(Place):
    lake: str


class Scenario(Settings):
    title: str = "t"
    count: int = 1
    rate: float = Field(default=0.5, ge=0)
    above: float = Field(default=1.0, gt=0.5)
    quick: bool = False
    algorithm: Literal["holistic", "myopic"] = "holistic"
    stores: dict[str, Store] = Field(default_factory=dict)
    faults: list[Fault] = Field(default_factory=list)
    spare: Fault | None = None
    names: Several[str] = Field(default=(), max_length=3)
    pairs: list[Annotated[list[str], Field(min_length=2)]] = Field(default_factory=list)
    placement: Literal["random"] | dict[str, list[str]] = "random"
    either: Store | int = 1
    shaped: (
        Annotated[Annotated[list[int], Tag("one")] | Annotated[list[str], Tag("two")], Discriminator(shape)] | None
    ) = None
    main: Drop | Crash = Field(default=Drop(kind="drop"), discriminator="kind")
    keyed: dict[Annotated[str, Field(pattern="^n")], int] = Field(default_factory=dict)
    hour: bool | Annotated[int, AfterValidator(whole_hour)] = 0
    place: Place = Water(lake="l")
    odd: int = 1

    @model_validator(mode="after")
    def _odd_is_odd(self) -> Scenario:
        if self.odd == 0:
            raise ValueError("0 is even; write 1")
        if self.odd % 2 == 0:
            raise problem_at("stores", "s1", 2, problem=f"{self.odd} spoils it")
        return self


class Needy(Settings):
    example: float = Field(examples=[3.0])
    listed: list[str] = Field(examples=[["a", "b"]])
    plain: int
    section: Store


def refusal(data: Any, model: type[BaseModel] = Scenario, prefix: str = "") -> str:
    with pytest.raises(ScenarioError) as caught:
        parse(model, data, prefix)
    return str(caught.value)


ALLOWED = ", ".join(Scenario.model_fields)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"zzz": 1}, f"zzz: unknown key; allowed: {ALLOWED}"),
        ({"cuont": 1}, f"cuont: unknown key; allowed: {ALLOWED}; did you mean 'count'?"),
        ({"stores": {"s1": {}}}, 'stores.s1.broker: missing; write e.g. broker = "n1"'),
        ({"stores": {"s1": {"broker": 3}}}, "stores.s1.broker: 3 is not text"),
        ({"stores": {"s1": {"broker": ""}}}, "stores.s1.broker: '' is too short; write at least 1 letter"),
        (
            {"stores": {"s1": {"broker": "n12345"}}},
            "stores.s1.broker: 'n12345' is too long; write at most 5 letters",
        ),
        ({"stores": {"s1": {"broker": "b"}}}, "stores.s1.broker: 'b' does not have the form ^n"),
        ({"stores": {"a.b": {"broker": 3}}}, 'stores."a.b".broker: 3 is not text'),
        ({"stores": {"s1": 7}}, "stores.s1: 7 is not a table"),
        (
            {"stores": {"s1": {"broker": "n1", "size": 0}}},
            "stores.s1.size: 0 is too small; write a number of 1 or more",
        ),
        ({"count": "3"}, "count: '3' is not a whole number"),
        ({"count": 2.0}, "count: 2.0 is not a whole number"),
        ({"count": True}, "count: true is not a whole number"),
        ({"rate": "abc"}, "rate: 'abc' is not a number"),
        ({"rate": True}, "rate: true is not a number"),
        ({"rate": float("nan")}, "rate: nan is not a finite number"),
        ({"rate": -1}, "rate: -1 is negative; write a number of 0 or more"),
        ({"above": 0.5}, "above: 0.5 is too small; write a number above 0.5"),
        ({"place": {"lake": "x", "height": 10}}, "place.height: 10 is too large; write a number below 10"),
        ({"quick": 1}, "quick: 1 is not true or false"),
        ({"algorithm": "foo"}, "algorithm: 'foo' is not one of: holistic, myopic"),
        (
            {"algorithm": "miopic"},
            "algorithm: 'miopic' is not one of: holistic, myopic; did you mean 'myopic'?",
        ),
        ({"names": "n1"}, "names: 'n1' is not a list"),
        ({"names": ["n1", 2]}, "names[1]: 2 is not text"),
        ({"names": ["a"] * 4}, "names: too long; write at most 3, not 4"),
        ({"pairs": [["a", "b"], ["c"]]}, "pairs[1]: too short; write at least 2, not 1"),
        ({"faults": {}}, "faults: {} is not a list"),
        (
            {"faults": [{"kind": "drop"}, {"kind": "drp"}]},
            "faults[1].kind: 'drp' is not one of: drop, crash; did you mean 'drop'?",
        ),
        ({"faults": [{}]}, "faults[0].kind: missing; write one of: drop, crash"),
        ({"faults": [3]}, "faults[0]: 3 is not a table"),
        (
            {"faults": [{"kind": "drop", "nodes": []}]},
            "faults[0].nodes: unknown key; allowed: kind, probability",
        ),
        ({"faults": [{"kind": "crash"}]}, "faults[0].nodes: missing; write nodes = ..."),
        (
            {"spare": {"kind": "drop", "probability": 2}},
            "spare.probability: 2 is too large; write a number of 1 or less",
        ),
        (
            {"spare": {"kind": "crash", "node": []}},
            "spare.node: unknown key; allowed: kind, nodes; did you mean 'nodes'?",
        ),
        ({"placement": 3}, "placement: 3 is not a table, and not one of: random"),
        ({"placement": {"n1": [3]}}, "placement.n1[0]: 3 is not text"),
        ({"either": "n1"}, "either: 'n1' is not a table or a whole number"),
        (
            {"either": {"broker": "n1", "sise": 2}},
            "either.sise: unknown key; allowed: broker, size; did you mean 'size'?",
        ),
        ({"shaped": ["a"]}, "shaped[0]: 'a' is not a whole number"),
        ({"shaped": ["a", 2]}, "shaped[1]: 2 is not text"),
        ({"main": {"kind": "crash", "nodes": [1]}}, "main.nodes[0]: 1 is not text"),
        ({"main": {"kind": "drop", "at": 1}}, "main.at: unknown key; allowed: kind, probability"),
        ({"keyed": {"b": 1}}, "keyed.b: 'b' does not have the form ^n"),
        ({"hour": 24}, "hour: 24 o'clock does not exist; write 0 to 23"),
        ({"place": {}}, "place: write a street or a lake"),
        ({"place": 3}, "place: 3 is not a table"),
        ({"place": {"street": "s"}}, "place.number: missing; write number = ..."),
        ({"place": {"lake": "l", "number": 3}}, "place.number: unknown key; allowed: height, lake"),
        ({"odd": 0}, "0 is even; write 1"),
        ({"odd": 2}, "stores.s1[2]: 2 spoils it"),
        (
            {"title": ["long"] * 20},
            'title: ["long", "long", "long", "long", "long", "long", "long", ... is not text',
        ),
        (3, "3 is not a table"),
    ],
)
def test_the_error_says_where_and_what_is_wrong(data: Any, words: str) -> None:
    assert refusal(data) == words


def test_a_missing_key_is_told_with_an_example() -> None:
    whole = {"example": 1, "listed": [], "plain": 1, "section": {"broker": "n1"}}

    def without(key: str) -> str:
        return refusal({name: value for name, value in whole.items() if name != key}, Needy)

    assert parse(Needy, whole).plain == 1
    assert without("example") == "example: missing; write e.g. example = 3.0"
    assert without("listed") == 'listed: missing; write e.g. listed = ["a", "b"]'
    assert without("plain") == "plain: missing; write plain = ..."
    assert without("section") == "section: missing; write a table [section]"


def test_a_misspelt_key_explains_the_missing_one() -> None:
    assert refusal({"brokr": "n1"}, Store) == "brokr: unknown key; allowed: broker, size; did you mean 'broker'?"
    assert refusal({"zzz": "n1"}, Store).startswith("broker: missing")


def test_prefix_and_file_come_first() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(Store, {"broker": 3}, "storage.stores.s1", "a.toml")
    assert str(caught.value) == "a.toml: storage.stores.s1.broker: 3 is not text"
    assert caught.value.key == "storage.stores.s1.broker"


def test_an_error_that_pydantic_raised_can_be_translated_later() -> None:
    with pytest.raises(ValidationError) as caught:
        Drop.model_validate({"kind": "drop", "at": 3})
    error = settings_error(caught.value, Drop, "faults[2]", "a.toml")
    assert str(error) == "a.toml: faults[2].at: unknown key; allowed: kind, probability"


def test_whole_numbers_are_numbers_and_lists_become_tuples() -> None:
    scenario = parse(Scenario, {"rate": 2, "names": ["a", "b"]})
    assert scenario.rate == 2.0
    assert isinstance(scenario.rate, float)
    assert scenario.names == ("a", "b")


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Store(broker="n1").size = 2  # type: ignore[misc]


def test_a_section_of_many_forms_is_written_out_whole_and_reads_back() -> None:
    scenario = parse(Scenario, {"place": {"street": "s", "number": 3}})
    assert isinstance(scenario.place, Town)
    assert scenario.model_dump()["place"] == {"height": 0.0, "street": "s", "number": 3}
    assert parse(Scenario, scenario.model_dump()) == scenario
