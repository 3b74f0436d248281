"""Planted bugs in the hand-over of users between brokers."""

from __future__ import annotations

from typing import Any

from protocols.overlay.content import Floats
from protocols.overlay.knowledge import Departed, Knowledge, State
from protocols.overlay.messages import Ready, Replicate, Replicated
from protocols.overlay.mover import Moving
from protocols.overlay.moves import Candidate, View
from protocols.overlay.serving import Serving
from protocols.overlay.session import Sessions
from protocols.overlay.user import Using
from runtime.agent import Node
from tests.checking.planted import Planted, never, nothing

replicate = Serving.replicate
replicated = Serving.replicated
changes = View.changes
knowledge = Knowledge.__init__


def yes(self: Any, *ignored: Any) -> bool:
    return True


def connected_at_once(self: Serving, node: Node, sender: str, wish: Replicate) -> None:
    """The foreign broker serves the user before it has come."""
    replicate(self, node, sender, wish)
    if wish.user in self.durable.residents:
        self.durable.residents[wish.user].connected = True


def without_waiting(self: Serving, node: Node, sender: str, news: Replicated) -> None:
    """The user is sent away before all brokers know that it will be elsewhere; the foreign one's word finds nobody."""
    replicated(self, node, sender, news)
    self.ready(node, sender, Ready(news.user))


def counts_later_ones_too(self: Serving, gone: Departed) -> bool:
    """As many have arrived as were routed before, but not the same: later ones took a quicker tree."""
    arrived = self.durable.arrived
    return gone.fence is not None and all(arrived.get(b, 0) >= count for b, count in gone.fence.items())


def dearer_is_better(self: View, home: int, user: Candidate) -> Floats:
    return -changes(self, home, user)


def as_if_there_was_room(self: Knowledge, state: State, me: int, links: Floats, capacity: float, channels: int) -> None:
    knowledge(self, state, me, links, 1e9, channels)


def planted(
    name: str, target: type[Any], attribute: str, bug: Any, caught_by: str, seed: int = 1, slow: bool = False
) -> Planted:
    return Planted("overlay", name, target, attribute, bug, caught_by, seed=seed, slow=slow)


PLANTED = [
    planted("redirects nothing", Serving, "redirect", nothing, "nothing-lost-or-doubled"),
    planted("thinks nothing undecided", Serving, "undecided", never, "nobody-gets-it-twice"),
    planted("thinks nothing foreign", Serving, "is_foreign", never, "nobody-gets-it-twice"),
    planted("thinks everything foreign", Serving, "is_foreign", yes, "nothing-lost-or-doubled"),
    planted("ends redirections at once", Serving, "is_past", yes, "nothing-lost-or-doubled"),
    planted("counts later ones too", Serving, "is_past", counts_later_ones_too, "nothing-lost-or-doubled", 2, True),
    planted("keeps what was held", Serving, "give_held", nothing, "nothing-lost-or-doubled"),
    planted("sends nothing on", Serving, "send_on", nothing, "nothing-lost-or-doubled"),
    planted("never disconnects", Serving, "disconnect", nothing, "hand-overs-end"),
    planted("never hears that a redirection is over", Serving, "redirect_over", nothing, "hand-overs-end"),
    planted("says nothing again", Sessions, "again", nothing, "nothing-lost-or-doubled"),
    planted("keeps who has left", Serving, "leave", nothing, "one-broker-each"),
    planted("moves users to where they cost more", View, "changes", dearer_is_better, "one-mover-lowers-the-cost", 10),
    planted("thinks that there is room", Knowledge, "__init__", as_if_there_was_room, "capacities-are-kept"),
    planted("does not introduce itself", Moving, "introduce", nothing, "no-saving-move-is-left"),
    planted("does not see who connects", Moving, "connected", nothing, "no-saving-move-is-left"),
    planted("waits for nobody on the way", Moving, "awaits_somebody", never, "no-saving-move-is-left", slow=True),
    planted("invites nobody", Serving, "invite", nothing, "whoever-fits-is-let-in"),
    planted("follows no invitation", Using, "room", nothing, "whoever-fits-is-let-in"),
    planted("connects at once", Serving, "replicate", connected_at_once, "one-connection-each"),
    planted("does not wait for all", Serving, "replicated", without_waiting, "runs-without-error"),
]
