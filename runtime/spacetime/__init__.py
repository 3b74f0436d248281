"""Space-time diagrams: who sent what to whom, when it arrived, what it changed, and what had to happen before it.

collector = Collector(sim)
sim.run()                       # or steer(sim, choose)
spacetime = collector.finish()
"""

from runtime.spacetime.collector import Collector
from runtime.spacetime.model import Arrow, Caption, Happening, Mark, SpaceTime
from runtime.spacetime.states import Change, StateWatch

__all__ = [
    "Arrow",
    "Caption",
    "Change",
    "Collector",
    "Happening",
    "Mark",
    "SpaceTime",
    "StateWatch",
]
