"""A broker: registers users, tells the others what they want, routes publications, hands users over (overlay, V).

How nothing is lost or doubled while users move. A broker's summaries have versions, and a publication names the
versions that its first broker knew when it chose the brokers to send it to. The foreign broker says from which version
of its summary on the user is its own. A publication routed with that version or a later one is the foreign broker's to
deliver, any other one the home broker's: each is delivered by exactly one of them, in whatever order things arrive.

For that, the home broker stays in all summaries until every broker has acknowledged the foreign one's, and the user
connects only then. What still comes to the home broker afterwards is redirected (`redirecting.py`).
"""

from __future__ import annotations

from protocols.overlay.knowledge import Asked, Departed, Resident
from protocols.overlay.messages import (
    Connect,
    Deliver,
    Forget,
    Forward,
    Full,
    Leave,
    Migrate,
    Publish,
    Ready,
    Refuse,
    Register,
    Registered,
    Replicate,
    Replicated,
    Room,
    Update,
)
from protocols.overlay.redirecting import Redirecting
from runtime.agent import Node, on


class Serving(Redirecting):
    """Serves the users of a broker; rules are in the order in which a user meets them."""

    # Users come, change and leave

    @on(Register)
    def register(self, node: Node, sender: str, wish: Register) -> None:
        if sender in self.durable.residents or sender in self.durable.departed:
            self.update(node, sender, wish)
        elif self.knows.room_for_newcomer(wish):
            version = self.durable.version + 1
            self.durable.residents[sender] = Resident(wish, stay=0, since=version, confirm=version)
            self.durable.turned_away.pop(sender, None)
            self.change(node)
        else:
            self.durable.turned_away[sender] = wish
            self.sessions.tell(node, sender, Full())

    def invite(self, node: Node) -> None:
        """Room may come to be when a user leaves or a hand-over ends, here or elsewhere."""
        for user, wish in list(self.durable.turned_away.items()):
            if self.knows.room_for_newcomer(wish):
                del self.durable.turned_away[user]
                self.sessions.tell(node, user, Room())

    @on(Update)
    def updated(self, node: Node, sender: str, news: Update) -> None:
        self.update(node, news.user, news.register)

    def update(self, node: Node, user: str, wish: Register) -> None:
        resident = self.durable.residents.get(user)
        if user in self.durable.asked:
            self.durable.asked[user].updates.append(wish)
        elif resident is None:
            self.send_on(node, user, Update(user, wish))
        elif wish.number > resident.register.number:
            resident.register = wish
            resident.declined = False
            if resident.foreign is not None:
                # Whether it is in force is now for the foreign broker to say.
                resident.updated = True
                self.sessions.tell(node, self.names[resident.foreign], Update(user, wish))
            else:
                resident.confirm = self.durable.version + 1
                self.change(node)

    @on(Leave)
    def leave(self, node: Node, sender: str, news: Leave) -> None:
        self.remove(node, sender)

    @on(Forget)
    def forget(self, node: Node, sender: str, news: Forget) -> None:
        self.remove(node, news.user)

    def remove(self, node: Node, user: str) -> None:
        resident = self.durable.residents.get(user)
        if resident is None:
            self.send_on(node, user, Forget(user))
        elif resident.foreign is not None:
            resident.leaving = True
        else:
            del self.durable.residents[user]
            self.change(node)
            if self.mover is not None:
                self.mover.refused(node, user)

    # When all brokers know

    def settle(self, node: Node) -> None:
        """All brokers know the own summary."""
        state = self.durable
        for user, resident in state.residents.items():
            if not resident.in_force and resident.since <= state.version:
                resident.in_force = True
                if resident.predecessor is not None:
                    self.sessions.tell(node, resident.predecessor, Ready(user))
            if resident.confirm is not None and resident.confirm <= state.version and resident.foreign is None:
                resident.confirm = None
                self.give(node, user, Registered(resident.register.number))
        self.fence_off(node)
        self.invite(node)

    # Publications

    @on(Publish)
    def publish(self, node: Node, sender: str, wish: Publish) -> None:
        tree = self.knows.tree(self.space.channel(wish.content))
        for _, broker in tree:
            self.durable.routed[broker] = self.durable.routed.get(broker, 0) + 1
        publication = Forward(sender, wish.number, wish.content, self.me, self.knows.versions(), tree)
        self.pass_on(node, publication)
        self.deliver(node, publication)

    @on(Forward)
    def forwarded(self, node: Node, sender: str, publication: Forward) -> None:
        self.count(publication)
        self.pass_on(node, publication)
        self.deliver(node, publication)
        self.end_redirection(node)

    def pass_on(self, node: Node, publication: Forward) -> None:
        for parent, child in publication.tree:
            if parent == self.me:
                self.durable.core_paid += float(self.links[child])
                self.sessions.tell(node, self.names[child], publication)

    def deliver(self, node: Node, publication: Forward) -> None:
        """To the users here, and to those gone for whom it was routed here."""
        channel = self.space.channel(publication.content)
        mine = publication.versions[self.me]
        found = Deliver(publication.publisher, publication.number, publication.content)
        for user, resident in self.durable.residents.items():
            wanted = channel in resident.register.interests and user != publication.publisher
            if not wanted or mine < resident.since:
                continue
            if self.undecided(resident, publication):
                resident.held.append(publication)
            elif not self.is_foreign(resident, publication):
                self.give(node, user, found)
        self.redirect_late(node, publication, channel)

    def undecided(self, resident: Resident, publication: Forward) -> bool:
        """Is it perhaps the foreign broker's to deliver? It has not said yet from which version on."""
        if resident.foreign is None or resident.foreign_since is not None:
            return False
        return publication.versions[resident.foreign] > resident.known[resident.foreign]

    def is_foreign(self, resident: Resident, publication: Forward) -> bool:
        if resident.foreign is None or resident.foreign_since is None:
            return False
        return publication.versions[resident.foreign] >= resident.foreign_since

    def give(self, node: Node, user: str, what: Deliver | Registered) -> None:
        resident = self.durable.residents[user]
        if resident.connected:
            self.sessions.tell(node, user, what)
        else:
            resident.waiting.append(what)

    # The hand-over, from home

    def hand_over(self, node: Node, user: str, foreign: int) -> None:
        """The user has accepted: replicate its data."""
        resident = self.durable.residents[user]
        resident.foreign = foreign
        resident.known = self.knows.versions()
        resident.foreign_since = None
        wish = Replicate(user, resident.stay + 1, resident.register, resident.known)
        self.sessions.tell(node, self.names[foreign], wish)

    @on(Replicated)
    def replicated(self, node: Node, sender: str, news: Replicated) -> None:
        resident = self.durable.residents[news.user]
        resident.foreign_since = news.since
        self.give_held(node, news.user)

    @on(Refuse)
    def refused(self, node: Node, sender: str, news: Refuse) -> None:
        resident = self.durable.residents[news.user]
        foreign = self.names.index(sender)
        resident.refused[foreign] = resident.known
        resident.foreign = None
        self.give_held(node, news.user)
        if resident.leaving:
            self.remove(node, news.user)
            return
        if resident.updated:
            # What the user has registered meanwhile was passed on in vain.
            resident.updated = False
            resident.confirm = self.durable.version + 1
            self.change(node)
        if self.mover is not None:
            self.mover.refused(node, news.user)

    def give_held(self, node: Node, user: str) -> None:
        resident = self.durable.residents[user]
        held, resident.held = resident.held, []
        for publication in held:
            if not self.is_foreign(resident, publication):
                self.give(node, user, Deliver(publication.publisher, publication.number, publication.content))

    @on(Ready)
    def ready(self, node: Node, sender: str, news: Ready) -> None:
        state = self.durable
        resident = state.residents.pop(news.user)
        assert resident.foreign is not None and resident.foreign_since is not None
        if resident.leaving:
            self.sessions.tell(node, sender, Forget(news.user))
        else:
            state.departed.setdefault(news.user, {})[resident.stay] = Departed(
                since=resident.since,
                next=resident.foreign,
                next_since=resident.foreign_since,
                interests=frozenset(resident.register.interests),
                shrunk=state.version + 1,
                predecessor=resident.predecessor,
            )
            self.sessions.tell(node, news.user, Migrate(sender))
            self.limit(node, news.user, resident.stay)
        self.change(node)

    # The hand-over, at the foreign broker

    @on(Replicate)
    def replicate(self, node: Node, sender: str, wish: Replicate) -> None:
        self.durable.asked[wish.user] = Asked(sender, wish)
        self.answer(node, wish.user)

    def learned(self, node: Node) -> None:
        for user in list(self.durable.asked):
            self.answer(node, user)
        self.invite(node)

    def answer(self, node: Node, user: str) -> None:
        """Refuse only if all is known here that the home broker knew: it will not ask again before it knows more."""
        asked = self.durable.asked[user]
        home, wish = asked.home, asked.wish
        room = self.knows.room_for(wish.register)
        if not room and not self.knows.as_much_as(wish.versions):
            return
        del self.durable.asked[user]
        if room:
            self.take_over(node, home, wish)
        else:
            self.sessions.tell(node, home, Refuse(user))
        for register in asked.updates:
            self.update(node, user, register)

    def take_over(self, node: Node, home: str, wish: Replicate) -> None:
        version = self.durable.version + 1
        self.durable.residents[wish.user] = Resident(
            wish.register, wish.stay, since=version, predecessor=home, connected=False
        )
        self.sessions.tell(node, home, Replicated(wish.user, version))
        self.change(node)

    @on(Connect)
    def connect(self, node: Node, sender: str, news: Connect) -> None:
        resident = self.durable.residents.get(sender)
        if resident is not None:
            resident.connected = True
            waiting, resident.waiting = resident.waiting, []
            for what in waiting:
                self.give(node, sender, what)
            if self.mover is not None:
                self.mover.connected(node)
