"""What a broker does for users that have gone: it redirects publications that come too late (overlay, V).

The paper ends that after a fixed TTL and loses what is slower; here each acknowledgement of the summary without the
user says how many publications the acknowledging broker had routed here before, and the redirection ends when all of
them have arrived. Those are the ones that name an older version of the summary; later ones go over other trees, may be
quicker, and do not count. `redirect_ttl` brings the paper's rule back.
"""

from __future__ import annotations

from protocols.overlay.knowledge import Departed
from protocols.overlay.messages import (
    Deliver,
    Disconnect,
    Forget,
    Forward,
    Redirect,
    RedirectOver,
    Registered,
    TimeToLive,
    Update,
)
from protocols.overlay.summaries import Summaries
from runtime.agent import Node, on


class Redirecting(Summaries):
    """Keeps the stays that are over, until nothing can come for them any more."""

    def recovered(self, node: Node) -> None:
        for user, stays in self.durable.departed.items():
            for stay in stays:
                self.limit(node, user, stay)

    def give(self, node: Node, user: str, what: Deliver | Registered) -> None:
        """To a user that is here."""

    # What comes too late

    def redirect_late(self, node: Node, publication: Forward, channel: int) -> None:
        """To those gone for whom it was routed here."""
        mine = publication.versions[self.me]
        found = Deliver(publication.publisher, publication.number, publication.content)
        for user, stays in self.durable.departed.items():
            for gone in stays.values():
                wanted = channel in gone.interests and user != publication.publisher and not gone.expired
                if wanted and mine >= gone.since and publication.versions[gone.next] < gone.next_since:
                    self.redirect(node, user, found)

    def redirect(self, node: Node, user: str, found: Deliver) -> None:
        if user in self.durable.residents:
            self.give(node, user, found)  # it is back
        else:
            self.durable.redirected += 1
            stays = self.durable.departed.get(user)
            if stays:
                self.durable.redirect_paid += float(self.links[stays[max(stays)].next])
            self.send_on(node, user, Redirect(user, found))

    @on(Redirect)
    def redirected(self, node: Node, sender: str, late: Redirect) -> None:
        self.redirect(node, late.user, late.publication)

    def send_on(self, node: Node, user: str, news: Update | Forget | Redirect) -> None:
        """To where the user went last from here; if it is known nowhere, it has left."""
        stays = self.durable.departed.get(user)
        if stays:
            self.sessions.tell(node, self.names[stays[max(stays)].next], news)
        elif isinstance(news, Redirect):
            self.durable.astray += 1

    # When it ends

    def limit(self, node: Node, user: str, stay: int) -> None:
        if self.redirect_ttl is not None:
            node.after(self.redirect_ttl, TimeToLive(user, stay))

    @on(TimeToLive)
    def time_is_over(self, node: Node, sender: str, timer: TimeToLive) -> None:
        gone = self.durable.departed.get(timer.user, {}).get(timer.stay)
        if gone is not None:
            gone.expired = True

    def fence_off(self, node: Node) -> None:
        """All brokers know the own summary, and have said what they had routed here before."""
        state = self.durable
        for stays in state.departed.values():
            for departed in stays.values():
                if departed.fence is None and departed.shrunk <= state.version:
                    departed.fence = dict(state.acknowledged)
        self.end_redirection(node)

    def count(self, publication: Forward) -> None:
        """It has arrived; for stays that were over when it was routed, as one that nobody waits for."""
        source, arrived = publication.source, self.durable.arrived
        arrived[source] = arrived.get(source, 0) + 1
        for stays in self.durable.departed.values():
            for gone in stays.values():
                if publication.versions[self.me] >= gone.shrunk:
                    gone.later[source] = gone.later.get(source, 0) + 1

    @on(Disconnect)
    def disconnect(self, node: Node, sender: str, news: Disconnect) -> None:
        waiting = [gone for gone in self.durable.departed.get(sender, {}).values() if not gone.disconnected]
        if waiting:  # the earliest, since they come in order
            waiting[0].disconnected = True
            self.end_redirection(node)

    def end_redirection(self, node: Node) -> None:
        """Close the stays for which nothing can come any more: neither publications nor a word of the user."""
        if not self.durable.departed:
            return
        over = [
            (user, stay)
            for user, stays in self.durable.departed.items()
            for stay, gone in stays.items()
            if gone.disconnected and gone.predecessor is None and self.is_past(gone)
        ]
        for user, stay in over:
            self.close(node, user, stay)

    def is_past(self, gone: Departed) -> bool:
        """Has all arrived that was routed before its broker heard that the user had gone?"""
        if gone.fence is None:
            return False
        arrived, later = self.durable.arrived, gone.later
        return all(arrived.get(b, 0) - later.get(b, 0) >= count for b, count in gone.fence.items())

    def close(self, node: Node, user: str, stay: int) -> None:
        stays = self.durable.departed[user]
        gone = stays.pop(stay)
        if not stays:
            del self.durable.departed[user]
        self.sessions.tell(node, self.names[gone.next], RedirectOver(user, stay + 1))

    @on(RedirectOver)
    def redirect_over(self, node: Node, sender: str, news: RedirectOver) -> None:
        resident = self.durable.residents.get(news.user)
        if resident is not None and resident.stay == news.stay:
            resident.predecessor = None
        gone = self.durable.departed.get(news.user, {}).get(news.stay)
        if gone is not None:
            gone.predecessor = None
            self.end_redirection(node)
