"""A scenario that is wrong is refused before anything runs, in one line: the file, the key and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import ScenarioError
from runtime.scenario import check, find, load, shipped_scenarios
from tests.runtime.command import brokerlab, really

GOOD = """\
protocol = "coverage"
[network]
edges = [["n1", "n2"], ["n2", "n3"]]
[storage]
stores = { s1 = { broker = "n1", topics = ["a"] } }
clients = { c1 = "n3" }
"""


def refused(path: Path | str, *words: object) -> str:
    """What the command says, after its own name; it says nothing else."""
    result = brokerlab("run", path, *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("brokerlab: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("brokerlab: ").rstrip("\n")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.toml"
    path.write_text(GOOD)
    assert brokerlab("run", path).exit_code == 0
    return path


ON_THE_WHOLE = [
    ("", 'protocol: missing; write e.g. protocol = "coverage"'),
    ('protocol = "coverage"\n', "network: missing; write a table [network]"),
    ("protocol = [", "not TOML: "),
    ('protocol = "coverage"\nprotocol = "coverage"\n', "not TOML: "),
]


@pytest.mark.parametrize(("text", "said"), ON_THE_WHOLE)
def test_a_file_that_is_no_scenario(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    assert "wrong.toml: " + said in refused(path)


BY_KEY = {
    "unknown key": ("sede=3", "good.toml: sede: unknown key; allowed: protocol, seed, "),
    "unknown key below": ("network.dealy=3", "good.toml: network.dealy: unknown key; allowed: delay, "),
    "it suggests the right one": ("network.dealy=3", "did you mean 'delay'?"),
    "wrong type": ("seed=often", "good.toml: seed: 'often' is not a whole number"),
    "wrong type below": ("storage.stores.s1.topics=3", "good.toml: storage.stores.s1.topics: 3 is not a list"),
    "missing key": (
        'storage.stores={ s1 = { broker = "n1" } }',
        'good.toml: storage.stores.s1.topics: missing; write e.g. topics = ["a", "b"]',
    ),
    "unknown protocol": ("protocol=coverige", "good.toml: protocol: 'coverige' is not one of: coverage"),
    "protocol file not found": ("protocol=my.py:My", "good.toml: protocol: file my.py not found"),
    "unknown node of a client": ("storage.clients.c1=n7", "good.toml: storage.clients.c1: broker n7 is not in"),
    "unknown node of a fault": (
        'faults=[{ kind = "crash", nodes = ["n7"], at = 1.0 }]',
        "good.toml: faults[0].nodes[0]: node n7 is not in [network]",
    ),
    "unknown link of a fault": (
        'faults=[{ kind = "drop", links = [["n1", "n3"]] }]',
        "good.toml: faults[0].links[0]: n1 and n3 are not linked; n1 is linked to n2, s1",
    ),
    "disconnected": (
        'network.edges=[["n1", "n2"], ["n3", "n4"]]',
        "good.toml: network.edges: not connected: there is no path from n1 to n3",
    ),
    "negative probability": (
        'faults=[{ kind = "drop", probability = -0.1 }]',
        "good.toml: faults[0].probability: -0.1 is negative; write a number of 0 or more",
    ),
    "too much probability": (
        'faults=[{ kind = "drop", probability = 1.5 }]',
        "good.toml: faults[0].probability: 1.5 is too large; write a number of 1 or less",
    ),
    "negative rate": ("network.bandwidth=-1", "good.toml: network.bandwidth: -1 is negative; write a number above 0"),
    "negative time": ("limits.time=-1", "good.toml: limits.time: -1 is negative; write a number above 0"),
    "no delay at all": ("network.delay=0", "good.toml: network.delay: 0 allows a delay of 0; write one above 0"),
    "network file not found": ('network={ file = "x.graphml" }', "good.toml: network.file: x.graphml: not found"),
    "two forms of network": ("network.kind=line", "good.toml: network: write exactly one of edges, file and kind"),
    "unknown kind of fault": ('faults=[{ kind = "drip" }]', "good.toml: faults[0].kind: 'drip' is not one of: drop, "),
    "no key=value": ("seed", "--set seed: write key=value"),
    "a table that is none": ("protocol.x=1", "--set protocol.x=1: protocol is not a table"),
}


@pytest.mark.parametrize(("override", "said"), BY_KEY.values(), ids=BY_KEY)
def test_a_key_that_is_wrong(good: Path, override: str, said: str) -> None:
    assert said in refused(good, "--set", override)


def test_a_file_that_is_not_there() -> None:
    assert refused("nowhere.toml") == "nowhere.toml: file not found; shipped are: " + ", ".join(shipped_scenarios())


def test_a_name_that_no_scenario_has() -> None:
    assert refused("coverige").startswith("coverige: neither a file nor a shipped scenario; shipped are: coverage")


def test_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path}: a folder, not a file; write the name of a .toml file"


def test_a_folder_that_is_called_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").mkdir()
    assert refused(tmp_path / "odd.toml").endswith("odd.toml: a folder, not a file; write the name of a .toml file")


def test_a_folder_does_not_hide_a_shipped_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coverage").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find("coverage") == shipped_scenarios()["coverage"]


def test_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(bytes(range(256)))
    assert refused(path) == f"{path}: not text in UTF-8"
    path.write_bytes(bytes(16))
    assert "binary.toml: not TOML: " in refused(path)


def test_a_negative_seed_on_the_command_line() -> None:
    assert refused("coverage", "--seed", "-1") == "coverage.toml: seed: -1 is negative; write a number of 0 or more"


PROTOCOLS = {
    "class is not there": ("", "mine.py has no Mine"),
    "not a protocol": ("class Mine: pass\n", "mine.py:Mine is neither a Protocol nor a System"),
    "not Python": ("def :\n", "mine.py: SyntaxError: invalid syntax (mine.py, line 1)"),
    "unreadable parameters": (
        "from runtime.agent import Protocol\nclass Mine(Protocol):\n    def __init__(self, x: 'Nobody'): pass\n",
        "mine.py:Mine: the parameters of __init__ cannot be read as [settings]: name 'Nobody' is not defined",
    ),
}


@pytest.mark.parametrize(("code", "said"), PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_protocol_file_that_is_wrong(good: Path, code: str, said: str) -> None:
    (good.parent / "mine.py").write_text(code)
    assert refused(good, "--set", "protocol=mine.py:Mine") == f"good.toml: protocol: {said}"


def test_a_protocol_file_that_fails_shows_where(good: Path) -> None:
    (good.parent / "mine.py").write_text("import math\n\nmath.nothing()\n")
    result = brokerlab("run", good, "--set", "protocol=mine.py:Mine")
    assert result.exit_code == 2
    assert "good.toml: protocol: mine.py: AttributeError: " in result.stderr
    assert 'mine.py", line 3, in <module>\n    math.nothing()' in result.stderr
    assert "importlib" not in result.stderr


def test_overrides_are_toml_or_else_text(good: Path) -> None:
    scenario = load(str(good), ['network.delay="uniform(1, 2)"', "links=reliable", "limits.events=5"], seed=4)
    assert (scenario.seed, scenario.links, scenario.limits.events) == (4, "reliable", 5)
    assert str(scenario.network.default.delay) == "uniform(1.0, 2.0)"
    assert load(str(good), ["network.delay=uniform(1, 2)"]).network == scenario.network


def test_every_shipped_scenario_is_valid() -> None:
    for name in shipped_scenarios():
        assert load(name).name == f"{name}.toml"


def test_a_scenario_can_be_made_without_a_file() -> None:
    with pytest.raises(ScenarioError, match=r"^scenario: network: missing"):
        check({"protocol": "coverage"})


def test_the_same_words_in_a_real_process(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.touch()
    done = really("run", path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == 'brokerlab: empty.toml: protocol: missing; write e.g. protocol = "coverage"\n'
