"""Many runs and what they show: grids, the runner on Ray, aggregation on Spark, claims, figures, a report."""

SHIPPED = {
    "coverage": "sweeps.coverage:SWEEP",
    "relocation": "sweeps.relocation:SWEEP",
    "relocation-weights": "sweeps.relocation_tuning:WEIGHTS",
    "relocation-thresholds": "sweeps.relocation_tuning:THRESHOLDS",
    "replicas": "sweeps.replicas:SWEEP",
    "replicas-optimum": "sweeps.replicas_optimum:SWEEP",
    "writers": "sweeps.writers:SWEEP",
}
"""The sweeps that come with brokerlab: the name, and where it is declared."""
