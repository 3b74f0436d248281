"""Who lives on the network: one file per kind of node, wired from protocols."""

SYSTEMS = {
    "coverage": "agents.coverage:CoverageSystem",
    "relocation": "agents.relocation:RelocationSystem",
}
"""The systems that a scenario can name."""
