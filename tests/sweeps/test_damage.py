"""A damaged file is noticed, set aside and computed again; it is never aggregated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sweeps.conftest import EXAMPLE, Finished, sweep_command


def truncate(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    place = random.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [truncate, flip, empty])
@pytest.mark.parametrize("where", ["cells/*.parquet", "events/event=learned/*.parquet"])
def test_damage_is_noticed(copy_of_finished: Finished, where: str, damage: Callable[[bytes], bytes]) -> None:
    wanted, folder = copy_of_finished.csv(), copy_of_finished.folder
    victim = random.choice(sorted(folder.glob(where)))
    whole = victim.read_bytes()
    victim.write_bytes(damage(whole))
    result = sweep_command(EXAMPLE / "sweep.py", "--out", folder, "--json")
    told = json.loads(result.stdout)
    assert (told["computed"], told["reused"], told["failed"]) == (1, 23, 0)
    assert f"damaged, set aside and computed again: {victim}" in result.stderr
    assert Path(f"{victim}.damaged").read_bytes() == damage(whole) or damage is flip
    assert copy_of_finished.csv() == wanted


def test_every_single_flipped_bit_is_noticed(copy_of_finished: Finished) -> None:
    store = copy_of_finished.store
    victim = next(iter(sorted(store.cells.glob("*.parquet"))))
    cell = victim.name.partition(".")[0]
    whole = victim.read_bytes()
    for place in random.sample(range(len(whole)), 200):
        victim.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        found = store.look({cell: None})
        assert (found.damaged, found.files) == ([victim], {})


def test_an_event_file_that_is_gone_costs_its_cell(copy_of_finished: Finished) -> None:
    store = copy_of_finished.store
    lost = next(iter(sorted(store.events("traffic").glob("*.parquet"))))
    lost.unlink()
    assert lost.stem not in store.look({lost.stem: None}).files
