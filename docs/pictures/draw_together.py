"""Draws docs/pictures/together.png: what sharing the links costs each part, and whose bytes are on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from agents.together import FIVE
from runtime.api import Run, run_scenario

SEEDS = (1, 2, 3, 4)
BANDWIDTHS = (40_000, 20_000, 12_000, 8_000, 5_000)
SHIPPED = 8_000
COLOURS = dict(zip(FIVE, ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#e69f00"), strict=True))


def run(seed: int, bandwidth: int, *parts: str) -> Run:
    change = {"together.parts": list(parts), "network.bandwidth": bandwidth}
    found = run_scenario("together", seed=seed, change=change)
    assert found.verdict == "valid"
    return found


def delivery_s(found: Run) -> float:
    return float(found.summary["relocation.delivery_delay_s"])


def settled_s(found: Run) -> float:
    """How long the stores need for a new equilibrium after the rates have changed."""
    changed = found.outcome.scenario.data["storage"]["changes"][0]["at"]
    return max(0.0, float(found.summary["holistic.settled_at"]) - float(changed))


def served_s(found: Run) -> float:
    """How long it takes from a publication until the last subscriber has it in its format."""
    issued = [row["at"] for row in found.outcome.scenario.data["dissemination"]["publications"]]
    times = [row["time"] for row in found.outcome.tally.events.rows("delivered")]
    ends = [*issued[1:], float("inf")]
    return mean(max(time for time in times if at <= time < end) - at for at, end in zip(issued, ends, strict=True))


def moving_s(found: Run) -> float:
    """When the last user has been handed over."""
    return float(max(row["time"] for row in found.outcome.tally.events.rows("move")))


MEASURED: dict[str, tuple[str, Callable[[Run], float]]] = {
    "relocation": ("a publication reaches a subscriber", delivery_s),
    "dissemination": ("a map reaches the last subscriber", served_s),
    "holistic": ("stores find a new equilibrium", settled_s),
    "overlay": ("the last user has moved", moving_s),
}


def main() -> None:
    shared = {bandwidth: [run(seed, bandwidth, *FIVE) for seed in SEEDS] for bandwidth in BANDWIDTHS}
    figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), gridspec_kw={"width_ratios": [1.2, 1.2, 1]})
    print("| bandwidth | " + " | ".join(f"{part}: {what}" for part, (what, _) in MEASURED.items()) + " |")
    for part, (what, measure) in MEASURED.items():
        alone = [mean(measure(run(seed, bandwidth, part)) for seed in SEEDS) for bandwidth in BANDWIDTHS]
        together = [mean(map(measure, shared[bandwidth])) for bandwidth in BANDWIDTHS]
        print(part, what, [f"{one:.3f} -> {both:.3f}" for one, both in zip(alone, together, strict=True)], flush=True)
        label = f"{part}: {what}"
        ratio = [both / one for one, both in zip(alone, together, strict=True)]
        panels[1].plot(BANDWIDTHS, ratio, "o-", color=COLOURS[part], label=label)
        if part == "relocation":
            panels[0].plot(BANDWIDTHS, alone, "o--", color=COLOURS[part], label="alone")
            panels[0].plot(BANDWIDTHS, together, "o-", color=COLOURS[part], label="together")
    for panel, title in (
        (panels[0], "seconds from publisher to subscriber"),
        (panels[1], "time together / time alone"),
    ):
        panel.set_xscale("log")
        panel.set_xticks(BANDWIDTHS, [f"{bandwidth // 1000}" for bandwidth in BANDWIDTHS])
        panel.minorticks_off()
        panel.set_xlabel("bandwidth of each link, kB/s")
        panel.set_title(title, fontsize=10)
        panel.legend(fontsize=7, frameon=False)
    traffic = {part: mean(found.summary["by_part"][part]["bytes"] for found in shared[SHIPPED]) / 1000 for part in FIVE}
    print({part: round(size) for part, size in traffic.items()})
    panels[2].barh(list(traffic), list(traffic.values()), color=[COLOURS[part] for part in traffic])
    panels[2].invert_yaxis()
    panels[2].set_title("kB on the links, hop by hop", fontsize=10)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "together.png", dpi=110)


if __name__ == "__main__":
    main()
