"""Who lives on the network: one file per kind of node, wired from protocols."""

SYSTEMS = {
    "coverage": "agents.coverage:CoverageSystem",
    "dissemination": "agents.dissemination:DisseminationSystem",
}
"""The systems that a scenario can name."""
