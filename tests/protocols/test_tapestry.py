"""Tapestry: tables built by messages are those of full knowledge, and every route ends at the same root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.dissemination.identifiers import DIGITS, distance, full_tables, in_digits, nearest, shared, slot_of
from protocols.dissemination.tapestry import Tapestry
from runtime.errors import BrokerlabError
from tests.protocols.tapestry_cases import Mesh, meshes

MANY = settings(max_examples=150, deadline=None)
FEWER = settings(max_examples=80, deadline=None)
FULL = settings(max_examples=3000, deadline=None)
# Orders in which one link starves while timers go on are left out: who joins over a node that is gone asks again and
# again, and the news that it is gone never comes.
FAIR = st.sampled_from(["timed", "random"])


# Identifiers


def test_digits_and_prefixes() -> None:
    assert in_digits(255, 16, 4) == "00ff"
    assert in_digits(5, 2, 2) == "01"  # the last digits only
    assert shared("4227", "42a2") == 2
    assert slot_of("4227", "42a2") == (2, 10)


def test_a_key_without_a_node_goes_to_the_next_higher_digit() -> None:
    # As in Zhao et al., figure 3: where no node has the digit, the next one that some node has is taken, cyclically.
    nodes = ["4227", "42a2", "44af", "6f43"]
    assert nearest("4228", nodes, 16) == "4227"  # 8 is not there; after f comes 0, ..., 7
    assert nearest("4300", nodes, 16) == "44af"  # 3 is not there, 4 is
    assert nearest("5000", nodes, 16) == "6f43"
    assert nearest("7fff", nodes, 16) == "4227"


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 16), st.integers(0, 2**32), st.integers(1, 40))
def test_routes_by_full_tables_end_at_the_nearest_node(base: int, seed: int, count: int) -> None:
    mesh = Mesh(members=count, newcomers=0, seed=seed, base=base, digits=6)
    assert mesh.problems() == []


@settings(max_examples=100, deadline=None)
@given(st.sets(st.text("0123", min_size=4, max_size=4), min_size=1, max_size=30))
def test_a_slot_holds_the_nearest_of_all_that_fit(identifiers: set[str]) -> None:
    tables = full_tables(identifiers, 4)
    for owner in identifiers:
        for level in range(4):
            for digit in range(4):
                prefix = owner[:level] + DIGITS[digit]
                fitting = [i for i in sorted(identifiers) if i.startswith(prefix) and i[level] != owner[level]]
                expected = min(fitting, key=lambda i: distance(owner, i, 4), default=None)
                assert tables[owner].get((level, digit)) == expected


# Joining


@MANY
@given(meshes())
def test_tables_built_by_messages_are_those_of_full_knowledge(mesh: Mesh) -> None:
    assert mesh.problems() == []


def test_a_larger_mesh_grows_from_one_node() -> None:
    assert Mesh(members=1, newcomers=49, seed=3, base=16, digits=8, at_once=True).problems() == []


# Leaving and failing


@FEWER
@given(meshes(leaving="some"), FAIR)
def test_tables_are_right_after_nodes_leave(mesh: Mesh, schedule: str) -> None:
    assert fair(mesh, schedule).problems() == []


@FEWER
@given(meshes(leaving="some", crashes="some", deaths="some"), FAIR)
@example(Mesh(1, 7, seed=3, base=4, digits=5, leaving=3, crashes=2, deaths=3, at_once=True), "timed")
def test_tables_are_right_while_nodes_join_leave_crash_and_recover(mesh: Mesh, schedule: str) -> None:
    assert fair(mesh, schedule).problems() == []


@settings(max_examples=25, deadline=None)
@given(meshes(most=12, leaving="some", crashes="some", deaths="some", reliable=True), FAIR)
def test_tables_are_right_when_a_channel_finds_the_failures(mesh: Mesh, schedule: str) -> None:
    assert fair(mesh, schedule).problems() == []


@pytest.mark.full
@FULL
@given(meshes(leaving="some", crashes="some", deaths="some"), FAIR)
def test_many_more_meshes(mesh: Mesh, schedule: str) -> None:
    assert fair(mesh, schedule).problems() == []


def fair(mesh: Mesh, schedule: str) -> Mesh:
    return Mesh(**{**vars(mesh), "schedule": schedule})


# A planted bug in each rule is found


def nothing(self, *ignored, **more):  # type: ignore[no-untyped-def]
    return None


def nobody(self, *ignored, **more):  # type: ignore[no-untyped-def]
    return []


def any_is_nearer(self, *ignored):  # type: ignore[no-untyped-def]
    return False


def keep_the_dead(self, node, dead):  # type: ignore[no-untyped-def]
    self.gone[dead.name] = dead.life


@pytest.mark.parametrize(
    ("rule", "bug"),
    [
        ("recommend", nothing),
        ("linked", nobody),
        ("is_nearer", any_is_nearer),
        ("bury", keep_the_dead),
        ("refill", nothing),
        ("welcomed", nothing),
    ],
)
def test_a_planted_bug_is_caught(monkeypatch: pytest.MonkeyPatch, rule: str, bug: object) -> None:
    monkeypatch.setattr(Tapestry, rule, bug)
    assert any(goes_wrong(mesh) for mesh in hunt())


def hunt() -> Iterator[Mesh]:
    yield Mesh(1, 9, seed=140, base=2, digits=5, leaving=2, deaths=1)  # a gap that only asking around closes
    for seed in range(150):
        size = {"members": 1 + seed % 7, "newcomers": 1 + seed % 11, "seed": seed, "base": (2, 4, 16)[seed % 3]}
        yield Mesh(**size, digits=6, at_once=seed % 2 == 0, schedule=("timed", "random")[seed // 3 % 2])
        yield Mesh(**size, digits=6, crashes=seed % 3, deaths=seed // 2 % 3)


def goes_wrong(mesh: Mesh) -> bool:
    try:
        return mesh.problems(limit=20_000) != []
    except (BrokerlabError, AttributeError):
        return True
