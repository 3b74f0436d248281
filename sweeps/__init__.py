"""Many runs and what they show: grids, the runner on Ray, aggregation on Spark, claims, figures, a report."""

SHIPPED = {
    "coverage": "sweeps.coverage:SWEEP",
    "dissemination": "sweeps.dissemination:PLANS",
    "dissemination-factors": "sweeps.dissemination_load:FACTORS",
    "dissemination-heuristics": "sweeps.dissemination_plans:HEURISTICS",
    "dissemination-load": "sweeps.dissemination_load:CONCURRENT",
    "dissemination-saturation": "sweeps.dissemination_load:SATURATION",
    "dissemination-trees": "sweeps.dissemination_plans:TREES",
    "overlay": "sweeps.overlay:SWEEP",
    "overlay-distributed": "sweeps.overlay_distributed:SWEEP",
    "overlay-optimum": "sweeps.overlay_distributed:OPTIMUM",
    "overlay-ratio": "sweeps.overlay:RATIO",
    "planning": "sweeps.planning:SWEEP",
    "planning-balanced": "sweeps.planning_balanced:SWEEP",
    "planning-change": "sweeps.planning_change:SWEEP",
    "relocation": "sweeps.relocation:SWEEP",
    "relocation-thresholds": "sweeps.relocation_tuning:THRESHOLDS",
    "relocation-weights": "sweeps.relocation_tuning:WEIGHTS",
    "replicas": "sweeps.replicas:SWEEP",
    "replicas-optimum": "sweeps.replicas_optimum:SWEEP",
    "replicas-start": "sweeps.replicas_start:SWEEP",
    "writers": "sweeps.writers:SWEEP",
}
"""The sweeps that come with brokerlab: the name, and where it is declared."""
