"""Delays as people write them, and the numbers that come out."""

from __future__ import annotations

import math
import random
import re
from statistics import fmean
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtime.distributions import Delay, Distribution, Duration, parse_distribution
from runtime.errors import ScenarioError
from runtime.settings import Settings, parse

times = st.floats(min_value=0, max_value=1e9)
distributions = st.one_of(
    times.map(lambda low: f"constant({low!r})"),
    st.tuples(times, times).map(lambda ends: f"uniform({min(ends)!r}, {max(ends)!r})"),
    st.tuples(times, times)
    .filter(lambda ends: ends[0] != ends[1])
    .map(lambda ends: f"exponential({min(ends)!r}, {max(ends)!r})"),
).map(parse_distribution)
units = st.floats(min_value=0, max_value=1, exclude_max=True)


@pytest.mark.parametrize(
    ("text", "distribution"),
    [
        (2, Distribution(2.0)),
        (0.25, Distribution(0.25)),
        ("constant(1.0)", Distribution(1.0)),
        ("uniform(0.5, 1.5)", Distribution(0.5, span=1.0)),
        (" uniform ( 0.5 ,1.5 ) ", Distribution(0.5, span=1.0)),
        ("exponential(0.5, 2)", Distribution(0.5, tail=1.5)),
        (Distribution(3.0, span=1.0), Distribution(3.0, span=1.0)),
    ],
)
def test_a_time_is_a_number_or_text(text: Any, distribution: Distribution) -> None:
    assert parse_distribution(text) == distribution


def test_each_shape_maps_a_uniform_number_to_its_own_draw() -> None:
    assert Distribution(2.0).value(0.7) == 2.0
    assert Distribution(2.0, span=4.0).value(0.25) == 3.0
    assert Distribution(2.0, tail=3.0).value(1 - math.exp(-1)) == pytest.approx(5.0)


def test_mean_ceiling_and_linearity() -> None:
    constant, uniform, exponential = Distribution(2.0), Distribution(2.0, 4.0), Distribution(2.0, tail=3.0)
    assert [d.mean for d in (constant, uniform, exponential)] == [2.0, 4.0, 5.0]
    assert [d.ceiling for d in (constant, uniform, exponential)] == [2.0, 6.0, math.inf]
    assert [d.linear for d in (constant, uniform, exponential)] == [True, True, False]


@given(distributions, units)
def test_every_draw_lies_between_floor_and_ceiling(distribution: Distribution, u: float) -> None:
    assert distribution.floor <= distribution.value(u) <= distribution.ceiling


@given(distributions, units, units)
def test_a_larger_number_never_gives_a_smaller_draw(distribution: Distribution, u: float, v: float) -> None:
    low, high = sorted((u, v))
    assert distribution.value(low) <= distribution.value(high)


@pytest.mark.parametrize("text", ["constant(2.0)", "uniform(0.5, 1.5)", "exponential(0.5, 2.0)"])
def test_the_mean_of_many_draws_is_the_mean(text: str) -> None:
    distribution = parse_distribution(text)
    rng = random.Random(1)
    assert fmean(distribution.value(rng.random()) for _ in range(20_000)) == pytest.approx(distribution.mean, rel=0.03)


@given(distributions)
@example(parse_distribution("uniform(0.0562462755292335, 0.5562462755292336)"))  # floor + span misses the end
def test_the_text_form_reads_back_as_the_same_distribution(distribution: Distribution) -> None:
    assert parse_distribution(str(distribution)) == distribution


@pytest.mark.parametrize(
    "text",
    [
        "constant(0.1)",
        "uniform(0.1, 0.3)",
        "uniform(0.36, 1.36)",
        "uniform(5.03, 13.87)",
        "exponential(0.1, 0.7)",
        "exponential(0.0, 1.0)",
    ],
)
def test_the_text_form_is_what_was_written(text: str) -> None:
    assert str(parse_distribution(text)) == text


FORMS = 'write a number, "constant(1.0)", "uniform(0.5, 1.5)" or "exponential(0.5, 1.0)"'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (True, f"true is not a time; {FORMS}"),
        (None, f"None is not a time; {FORMS}"),
        ("1.5", f"'1.5' is not a time; {FORMS}"),
        ("uniform(1, 2", f"'uniform(1, 2' is not a time; {FORMS}"),
        ("zipf(1)", f"zipf is no distribution; {FORMS}"),
        (math.nan, f"nan is not a finite number; {FORMS}"),
        ("constant(inf)", f"inf is not a finite number; {FORMS}"),
        (-1, "-1.0 is negative; write a number of 0 or more"),
        ("uniform(-0.5, 1)", "-0.5 is negative; write a number of 0 or more"),
        ("uniform(2, 1)", "uniform(2, 1): the range is empty; write uniform(1.0, 2.0)"),
        (
            "exponential(2, 2)",
            "exponential(2, 2): the mean must be above the floor; write exponential(floor, mean)",
        ),
        ("constant()", "constant(): constant takes one number; write constant(1.0)"),
        ("uniform(1)", "uniform(1): uniform takes two numbers; write uniform(low, high)"),
        (
            "exponential(1, 2, 3)",
            "exponential(1, 2, 3): exponential takes two numbers; write exponential(floor, mean)",
        ),
        ("uniform(a, 1)", "'a' is not a number"),
        ("uniform(1,)", "'' is not a number"),
        (10**400, f"'{10**400}' is not a number"),
    ],
)
def test_a_bad_time_is_refused_with_what_to_write(text: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        parse_distribution(text)


class Times(Settings):
    delay: Delay = Distribution(1.0)
    pause: Duration = Distribution(0.0)


def test_settings_take_times_as_numbers_or_text_and_write_them_as_text() -> None:
    times = parse(Times, {"delay": "uniform(0.5, 1.5)", "pause": 0})
    assert times == Times(delay=Distribution(0.5, 1.0), pause=Distribution(0.0))
    assert times.model_dump() == {"delay": "uniform(0.5, 1.5)", "pause": "constant(0.0)"}


@pytest.mark.parametrize("delay", [0, "uniform(0, 1)", "exponential(0, 1)"])
def test_a_delay_is_always_above_zero(delay: Any) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(Times, {"delay": delay})
    assert str(caught.value) == (
        f"delay: {delay} allows a delay of 0; write one above 0: a message takes some time, so that the "
        "order of simultaneous events stays defined"
    )
