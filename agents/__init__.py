"""Who lives on the network: one file per kind of node, wired from protocols."""

SYSTEMS = {
    "coverage": "agents.coverage:CoverageSystem",
    "relocation": "agents.relocation:RelocationSystem",
    "dissemination": "agents.dissemination:DisseminationSystem",
    "planning": "agents.planning:PlanningSystem",
    "overlay": "agents.overlay:OverlaySystem",
    "holistic": "agents.replicas:HolisticSystem",
    "myopic": "agents.replicas:MyopicSystem",
}
"""The systems that a scenario can name."""
