"""A damaged file is noticed, set aside and computed again; it is never aggregated."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.sweeps.conftest import EXAMPLE, Finished, sweep_command


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    place = random.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def emptied(content: bytes) -> bytes:
    return b""


def test_damaged_files_are_noticed_set_aside_and_computed_again(copy_of_finished: Finished) -> None:
    wanted, folder = copy_of_finished.csv(), copy_of_finished.folder
    cells = sorted(folder.glob("cells/*.parquet"))
    event = folder / "events" / "event=learned" / f"{cells[3].name.partition('.')[0]}.parquet"
    victims = dict(zip([*cells[:3], event], [truncated, flipped, emptied, flipped], strict=True))
    broken = {path: damage(path.read_bytes()) for path, damage in victims.items()}
    for path, content in broken.items():
        path.write_bytes(content)
    result = sweep_command(EXAMPLE / "sweep.py", "--out", folder, "--json")
    told = json.loads(result.stdout)
    assert (told["computed"], told["reused"], told["failed"]) == (4, 20, 0)
    for path, content in broken.items():
        assert f"damaged, set aside and computed again: {path}" in result.stderr
        assert Path(f"{path}.damaged").read_bytes() == content
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
