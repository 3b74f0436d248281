"""Who lives on the network: one file per kind of node, wired from protocols."""

SYSTEMS = {
    "coverage": "agents.coverage:CoverageSystem",
    "dissemination": "agents.dissemination:DisseminationSystem",
    "holistic": "agents.replicas:HolisticSystem",
    "myopic": "agents.replicas:MyopicSystem",
    "overlay": "agents.overlay:OverlaySystem",
    "planning": "agents.planning:PlanningSystem",
    "relocation": "agents.relocation:RelocationSystem",
    "together": "agents.together:TogetherSystem",
}
"""The systems that a scenario can name."""
