"""Many runs and what they show: grids, the runner on Ray, aggregation on Spark, claims, figures, a report."""

SHIPPED = {
    "coverage": "sweeps.coverage:SWEEP",
    "relocation": "sweeps.relocation:SWEEP",
    "relocation-weights": "sweeps.relocation_tuning:WEIGHTS",
    "relocation-thresholds": "sweeps.relocation_tuning:THRESHOLDS",
    "dissemination": "sweeps.dissemination:PLANS",
    "dissemination-heuristics": "sweeps.dissemination:HEURISTICS",
    "dissemination-trees": "sweeps.dissemination:TREES",
    "dissemination-load": "sweeps.dissemination:CONCURRENT",
    "planning": "sweeps.planning:SWEEP",
    "planning-balanced": "sweeps.planning_balanced:SWEEP",
    "planning-change": "sweeps.planning_change:SWEEP",
    "overlay": "sweeps.overlay:SWEEP",
    "overlay-ratio": "sweeps.overlay:RATIO",
    "overlay-optimum": "sweeps.overlay_distributed:OPTIMUM",
    "overlay-distributed": "sweeps.overlay_distributed:SWEEP",
    "replicas": "sweeps.replicas:SWEEP",
    "replicas-optimum": "sweeps.replicas_optimum:SWEEP",
    "writers": "sweeps.writers:SWEEP",
}
"""The sweeps that come with brokerlab: the name, and where it is declared."""
