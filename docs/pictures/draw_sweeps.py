"""Draws the pictures of sweeps: some of the figures of each, side by side. Run the sweeps first, then

python docs/pictures/draw_sweeps.py runs [planning-sweep ...]

where `runs` is the folder with their results, in runs/NAME-sweep.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURES = {
    "planning-sweep": (
        ("planning", "figure_4"),
        ("planning", "figure_5"),
        ("planning", "figure_9"),
        ("planning-change", "figure_10_gain"),
        ("planning-change", "figure_11"),
        ("planning-change", "figure_11_gain"),
    ),
    "dissemination-sweep": (
        ("dissemination", "map_root"),
        ("dissemination", "map_leaves"),
        ("dissemination-heuristics", "gap"),
        ("dissemination", "video_root"),
        ("dissemination", "video_leaves"),
        ("dissemination", "gap"),
    ),
    "dissemination-load": (
        ("dissemination-load", "figure_5"),
        ("dissemination-load", "paid"),
        ("dissemination-saturation", "brokers_1"),
    ),
    "replicas-sweep": (
        ("replicas-start", "ont_between_random"),
        ("replicas-start", "re_random"),
        ("replicas-start", "re_sparse"),
        ("writers", "converged_clock"),
        ("writers", "converged_regular"),
        ("writers", "traffic_at_end_regular"),
    ),
}
COLUMNS, INCHES, DPI = 3, (4.2, 2.75), 100


def main() -> None:
    folder, wanted = Path(sys.argv[1]), sys.argv[2:] or list(PICTURES)
    for name in wanted:
        parts = PICTURES[name]
        columns = min(COLUMNS, len(parts))
        rows = -(-len(parts) // columns)
        figure, panels = plt.subplots(rows, columns, figsize=(columns * INCHES[0], rows * INCHES[1]))
        for panel, (sweep, part) in zip(panels.flat, parts, strict=False):
            panel.imshow(plt.imread(folder / f"{sweep}-sweep" / "figures" / f"{part}.png"), interpolation="lanczos")
        for panel in panels.flat:
            panel.axis("off")
        figure.subplots_adjust(0, 0, 1, 1, 0, 0)
        figure.savefig(Path(__file__).parent / f"{name}.png", dpi=DPI)


if __name__ == "__main__":
    main()
