"""The base of every section of a scenario, and the words for what is wrong in one."""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    ModelWrapValidatorHandler,
    Strict,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from runtime.errors import ScenarioError

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)

Several = Annotated[tuple[T, ...], Strict(False)]
"""A list in the scenario file, a tuple here."""


class Settings(BaseModel):
    """One section: every key is known, every value has its type, and nothing changes afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ManyForms(Settings):
    """A section that comes in several forms, each a subclass with keys of its own."""

    model_config = ConfigDict(polymorphic_serialization=True)

    @classmethod
    def form(cls, data: Mapping[str, Any]) -> type[Self]:
        """The subclass that reads this data."""
        return cls

    @model_validator(mode="wrap")
    @classmethod
    def _in_its_form(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        form = cls.form(data) if isinstance(data, Mapping) else cls
        return handler(data) if form is cls else form.model_validate(data)


def parse(model: type[Model], data: Any, prefix: str = "", file: str | None = None) -> Model:
    """Reads one section, or raises the ScenarioError that says what to write instead."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise settings_error(error, model, prefix, file, data) from None


def problem_at(*path: str | int, problem: str) -> ValidationError:
    """What a validator raises when the problem is not at its own key but at one below."""
    kind = PydanticCustomError("problem", "{problem}", {"problem": problem})
    return ValidationError.from_exception_data("settings", [{"type": kind, "loc": path, "input": None}])


def settings_error(
    error: ValidationError,
    model: type[BaseModel],
    prefix: str = "",
    file: str | None = None,
    data: Any = None,
) -> ScenarioError:
    """The first problem in our own words. A section of many forms needs the data to name its keys."""
    problems = [_locate(model, details, data) for details in error.errors(include_url=False)]
    told = _most_telling(problems)
    return ScenarioError(_dotted(prefix, told[0].path), _in_words(told), file)


def one_of(value: Any, choices: Sequence[str]) -> str:
    """The problem of a value that is not among the choices."""
    return f"{_shown(value)} is not one of: {', '.join(choices)}{_suggestion(value, choices)}"


# Where the problem is


class _Problem(NamedTuple):
    path: tuple[str | int, ...]  # keys as written in the file
    section: type[BaseModel] | None  # what the last key stands in
    expected: Any  # the type that is wanted at the path
    details: ErrorDetails


def _locate(model: type[BaseModel], details: ErrorDetails, data: Any) -> _Problem:
    """Walks the location along the types, and leaves out the names that pydantic puts in for itself."""
    path: list[str | int] = []
    section: type[BaseModel] | None = None
    here: Any = model
    for step in details["loc"]:
        here = _bare(here)
        if _is_union(here):
            here = _member(here, step)
            continue
        if step == "[key]":
            continue
        section = _form(here, data) if _is_model(here) else None
        here = _below(section or here, step)
        path.append(step)
        data = _item(data, step)
    here = _bare(here)
    if details["type"] in ("union_tag_invalid", "union_tag_not_found"):
        discriminator = details["ctx"]["discriminator"]
        if discriminator.startswith("'"):
            path.append(discriminator.strip("'"))
    return _Problem(tuple(path), section, here, details)


def _form(model: type[BaseModel], data: Any) -> type[BaseModel]:
    if not issubclass(model, ManyForms) or not isinstance(data, Mapping):
        return model
    try:
        return model.form(data)
    except ValueError:  # it has no form, and that is the problem
        return model


def _item(data: Any, step: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(step)
    if isinstance(data, list | tuple) and isinstance(step, int) and step < len(data):
        return data[step]
    return None


def _is_model(here: Any) -> bool:
    return isinstance(here, type) and issubclass(here, BaseModel)


def _is_union(here: Any) -> bool:
    return get_origin(_without_notes(here)) in (Union, types.UnionType)


def _without_notes(here: Any) -> Any:
    return get_args(here)[0] if get_origin(here) is Annotated else here


def _bare(here: Any) -> Any:
    """The type without notes and "or nothing"; a union keeps the note that tells its members apart."""
    bare = _without_notes(here)
    if not _is_union(bare):
        return bare
    members = [member for member in get_args(bare) if member is not types.NoneType]
    if len(members) == 1:
        return _bare(members[0])
    notes = [note for note in get_args(here)[1:] if bare is not here and _tells_apart(note)]
    union: Any = Union.__getitem__(tuple(members))
    return Annotated[union, notes[0]] if notes else union


def _tells_apart(note: Any) -> bool:
    return isinstance(note, Discriminator) or (isinstance(note, FieldInfo) and note.discriminator is not None)


def _below(here: Any, step: str | int) -> Any:
    if _is_model(here):
        field = here.model_fields.get(step)
        return _typed(field) if field else Any
    arguments = get_args(here)
    match get_origin(here):
        case origin if origin is tuple and isinstance(step, int):
            return arguments[0] if arguments[-1] is Ellipsis else arguments[min(step, len(arguments) - 1)]
        case origin if origin is not None and arguments:
            return arguments[-1]
    return Any


def _typed(field: FieldInfo) -> Any:
    notes = [note for note in field.metadata if _tells_apart(note)]
    if field.discriminator is not None:
        notes.append(field)
    return Annotated[field.annotation, notes[0]] if notes else field.annotation


def _member(union: Any, label: str | int) -> Any:
    for member in get_args(_without_notes(union)):
        if label in _labels(member, union) or str(label).startswith(f"{_name(member)}["):
            return member
    return Any


def _labels(member: Any, union: Any) -> list[str]:
    """What pydantic may call this member: its tag, the values of its discriminator, or its name."""
    notes = get_args(member)[1:] if get_origin(member) is Annotated else ()
    tags = [note.tag for note in notes if isinstance(note, Tag)]
    bare = _without_notes(member)
    if get_origin(union) is Annotated and _is_model(bare):
        note = get_args(union)[1]
        field = bare.model_fields.get(note.discriminator)
        return tags + ([str(value) for value in get_args(field.annotation)] if field else [])
    return [*tags, _name(bare)]


def _name(member: Any) -> str:
    bare = _without_notes(member)
    return str(getattr(get_origin(bare) or bare, "__name__", bare))


def _dotted(prefix: str, path: Sequence[str | int]) -> str:
    key = prefix
    for step in path:
        if isinstance(step, int):
            key += f"[{step}]"
        else:
            name = step if re.fullmatch(r"[\w-]+", step) else json.dumps(step)
            key += f".{name}" if key else name
    return key


# What is said about it

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def _most_telling(problems: Sequence[_Problem]) -> list[_Problem]:
    """The problems to speak of, all at one place: the first one, unless another one explains it."""
    first = problems[0]
    if first.details["type"] == "missing":
        misspelt = [problem for problem in problems if _misspells(problem, first)]
        return misspelt[:1] or [first]
    # One alternative of a union may fit better than the first: its problem lies deeper.
    depth = len(first.path)
    first = next((p for p in problems if len(p.path) > depth and p.path[:depth] == first.path), first)
    here = [problem for problem in problems if problem.path == first.path]
    return [p for p in here if p.details["type"] == "value_error"][:1] or here


def _misspells(problem: _Problem, missing: _Problem) -> bool:
    return (
        problem.details["type"] == "extra_forbidden"
        and problem.path[:-1] == missing.path[:-1]
        and bool(difflib.get_close_matches(str(problem.path[-1]), [str(missing.path[-1])]))
    )


def _in_words(told: Sequence[_Problem]) -> str:
    """Several problems at one place are the alternatives of a union: none of them is what was written."""
    wanted = [_WANTED.get(problem.details["type"]) for problem in told]
    types_wanted = [words for words in dict.fromkeys(wanted) if words]
    literals = [choice for problem in told for choice in _choices(problem)]
    value = told[0].details["input"]
    if types_wanted and literals:
        return f"{_shown(value)} is not {' or '.join(types_wanted)}, and not one of: {', '.join(literals)}"
    if types_wanted:
        return f"{_shown(value)} is not {' or '.join(types_wanted)}"
    if literals:
        return one_of(value, literals)
    return _single(told[0])


def _choices(problem: _Problem) -> list[str]:
    details = problem.details
    if details["type"] not in ("literal_error", "enum"):
        return []
    return [choice.strip("'") for choice in re.split(r", | or ", details["ctx"]["expected"])]


def _single(problem: _Problem) -> str:
    details = problem.details
    context = details.get("ctx", {})
    value = _shown(details["input"])
    match details["type"]:
        case "value_error" | "assertion_error":
            return str(context["error"])
        case "extra_forbidden":
            return _unknown(problem)
        case "missing":
            return _missing(problem)
        case "union_tag_invalid":
            return one_of(context["tag"], _tags(problem.expected))
        case "union_tag_not_found":
            return f"missing; write one of: {', '.join(_tags(problem.expected))}"
        case "greater_than_equal":
            return f"{value} is {_low(problem)}; write a number of {_limit(context['ge'])} or more"
        case "greater_than":
            return f"{value} is {_low(problem)}; write a number above {_limit(context['gt'])}"
        case "less_than_equal":
            return f"{value} is too large; write a number of {_limit(context['le'])} or less"
        case "less_than":
            return f"{value} is too large; write a number below {_limit(context['lt'])}"
        case "too_short":
            return f"too short; write at least {context['min_length']}, not {context['actual_length']}"
        case "too_long":
            return f"too long; write at most {context['max_length']}, not {context['actual_length']}"
        case "string_too_short":
            return f"{value} is too short; write at least {_letters(context['min_length'])}"
        case "string_too_long":
            return f"{value} is too long; write at most {_letters(context['max_length'])}"
        case "string_pattern_mismatch":
            return f"{value} does not have the form {context['pattern']}"
    message = details["msg"]
    return f"{value}: {message.replace('Input should', 'should')}" if "Input should" in message else message


def _unknown(problem: _Problem) -> str:
    if problem.section is None:
        return "unknown key"
    allowed = list(problem.section.model_fields)
    return f"unknown key; allowed: {', '.join(allowed)}{_suggestion(problem.path[-1], allowed)}"


def _missing(problem: _Problem) -> str:
    name = problem.path[-1]
    if problem.section is None:
        return "missing"
    examples = problem.section.model_fields[str(name)].examples
    if examples:
        return f"missing; write e.g. {name} = {_toml(examples[0])}"
    return f"missing; write {f'a table [{name}]' if _is_model(problem.expected) else f'{name} = ...'}"


def _tags(union: Any) -> list[str]:
    return [label for member in get_args(_without_notes(union)) for label in _labels(member, union)]


def _suggestion(value: Any, choices: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(value), choices, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _low(problem: _Problem) -> str:
    return "negative" if problem.details["input"] < 0 else "too small"


def _limit(limit: float) -> str:
    return str(int(limit)) if limit == int(limit) else str(limit)


def _letters(count: int) -> str:
    return "1 letter" if count == 1 else f"{count} letters"


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else _toml(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case dict() if value:
            return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    return str(value)
