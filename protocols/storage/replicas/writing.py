"""Whose turn is it? Tokens that visit the stores (replicas, IV.A: a single node modifies at a time).

One token is the paper's single writer. It tours the stores over neighbour links and carries the number of the last
change: the token may overtake the flood, so a store acts only when it has applied every change up to that number.
As many quiet visits in a row as there are stores, with nothing new learnt meanwhile: equilibrium, told to all.

A token can be lost, its holder can crash or be slow. A store that misses it for too long claims a new epoch. Whoever
hears of a higher epoch promises, durably, to accept nothing older, and repeats what it holds under the new one; the
claimer makes a token when every store it can reach has done so. So an old token finds no store that would act, and
what was changed under it is part of what the promises say. (Our own: the paper assumes the single writer. The
promises are why nothing has to be undone, and why the last replica stays even then.)

More tokens than one are writers with stale information: each store then waits only for the changes of the token
that visits it. There the paper expects "convergence questionable".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocols.storage.replicas.facts import NO_EPOCH, Epoch, Fact, Holding, LinkState, Rates, stamp
from protocols.storage.replicas.knowledge import Knowledge
from protocols.storage.replicas.replacing import Replacing
from protocols.storage.replicas.writer import Writer
from runtime.agent import Node, Timer, on
from runtime.message import message, replace


@message
class Claim:
    """The token is missing: a new epoch begins."""

    epoch: int
    claimer: str


@message
class Token:
    """Whoever has it may change its storage."""

    epoch: int
    claimer: str
    which: int
    hop: int
    travels: int
    """So many stores it passes before the first one acts: several tokens start spread over the tour."""

    position: int
    quiet: int
    news: int


@message
class Equilibrium:
    """All stores in a row found nothing to do, knowing this much."""

    epoch: int
    claimer: str
    which: int
    news: int


@message
class Applied:
    """You now know what I know: all changes up to these positions, if your holdings have this digest."""

    epoch: int
    claimer: str
    positions: tuple[int, ...]
    digest: int


@message
class Missed:
    """A timer: has the token been here lately?"""


@message
class Decide:
    """A timer: the holder has thought long enough."""

    which: int
    hop: int


@dataclass
class Seen:
    """The last hop of each token that was here, so that a copy of it is known as one, even after a crash."""

    epoch: Epoch = NO_EPOCH
    hops: dict[int, int] = field(default_factory=dict)


@dataclass
class Held:
    token: Token
    sender: str
    since: float
    thinking: bool = False
    thought: bool = False
    parked: bool = False


class Writing(Writer):
    """Holds, passes on, misses and renews the tokens."""

    durable: Seen

    def __init__(
        self,
        knowledge: Knowledge,
        replacing: Replacing,
        writers: int,
        patience_s: float | None,
        thinking_s: float = 0.0,
    ) -> None:
        """Without patience_s nobody ever misses a token: the paper's own assumption."""
        super().__init__()
        self.knowledge = knowledge
        self.replacing = replacing
        self.writers = writers
        self.patience_s = patience_s
        self.thinking_s = thinking_s
        self.durable = Seen()
        self.held: dict[int, Held] = {}
        self.acting: int | None = None
        self.claiming = False
        self.settled: dict[int, int] = {}
        self.waits = 0
        self.waited_s = 0.0
        self._applied = [0] * writers
        self._early: list[set[int]] = [set() for _ in range(writers)]
        self._told: Applied | None = None
        self._last_sign = 0.0
        self._watch: Timer | None = None
        knowledge.writer = self

    @property
    def epoch(self) -> Epoch:
        return self.knowledge.durable.epoch

    def started(self, node: Node) -> None:
        self._claim_first(node)
        self._keep_watch(node)

    def recovered(self, node: Node) -> None:
        self._last_sign = node.now
        if self.epoch != NO_EPOCH:
            self._applied = [-1] * self.writers  # a neighbour says what is applied, with what it tells me
            self.knowledge.tell_holding(node, self.knowledge.durable.items, self.epoch)
        self.started(node)

    # Epochs

    def _claim_first(self, node: Node) -> None:
        """The first epoch is claimed by the first name, once it knows that it is the first."""
        if self.epoch == NO_EPOCH and self.knowledge.closed and self.knowledge.topology().members[0] == node.id:
            self._claim(node)

    def _claim(self, node: Node) -> None:
        self._adopt(node, (self.epoch[0] + 1, node.id))
        self.claiming = True
        node.log("claim", epoch=self.epoch[0])
        self._mint(node)

    def _adopt(self, node: Node, epoch: Epoch) -> None:
        """Promise to accept nothing older, and say so with what I hold."""
        for held in self.held.values():
            node.log("fenced", epoch=held.token.epoch, token=held.token.which)
        self.held.clear()
        self.replacing.abandon()
        self.acting = None
        self.claiming = False
        self.settled.clear()
        self._applied = [0] * self.writers
        self._early = [set() for _ in range(self.writers)]
        self._last_sign = node.now
        self.knowledge.durable.epoch = epoch  # before it is told: what is told comes back as news
        node.broadcast(Claim(*epoch))
        self.knowledge.tell_holding(node, self.knowledge.durable.items, epoch)
        self._keep_watch(node)

    @on(Claim)
    def claimed(self, node: Node, sender: str, claim: Claim) -> None:
        if (claim.epoch, claim.claimer) > self.epoch:
            self._adopt(node, (claim.epoch, claim.claimer))

    def _mint(self, node: Node) -> None:
        if not self.claiming or not self.knowledge.complete(self.epoch):
            return
        self.claiming = False
        stores = len(self.knowledge.topology().members)
        writers = min(self.writers, stores)
        for which in range(writers):
            token = Token(*self.epoch, which, 0, which * stores // writers, 0, 0, self.knowledge.news)
            self._take(node, node.id, token)
        self._proceed(node)

    # The token comes

    @on(Token)
    def visited(self, node: Node, sender: str, token: Token) -> None:
        epoch = (token.epoch, token.claimer)
        if epoch < self.epoch or self.stopped:
            node.log("fenced", epoch=token.epoch, token=token.which)
            return
        if epoch > self.epoch:
            self._adopt(node, epoch)
        if self.durable.epoch == epoch and token.hop <= self.durable.hops.get(token.which, -1):
            return  # a copy
        self._take(node, sender, token)
        self._proceed(node)

    def _take(self, node: Node, sender: str, token: Token) -> None:
        if self.durable.epoch != self.epoch:
            self.durable.epoch, self.durable.hops = self.epoch, {}
        self.durable.hops[token.which] = token.hop
        self._last_sign = node.now
        self.held[token.which] = Held(token, sender, node.now)

    def _proceed(self, node: Node) -> None:
        """Go on with every token that is here, as far as what is known allows."""
        for which in sorted(self.held):
            held = self.held.get(which)
            while held is not None and self._step(node, held):
                held = self.held.get(which)

    def _step(self, node: Node, held: Held) -> bool:
        """One step with this token; true if it is still here and can go on at once."""
        knowledge, token = self.knowledge, held.token
        if self.stopped or held.thinking or not knowledge.complete(self.epoch):
            return False
        if held.parked:
            if knowledge.news <= token.news:
                return False
            held.parked = held.thought = False
            held.since = node.now
        topology = knowledge.topology()
        if not topology.visits(node.id, held.sender):
            return self._pass_on(node, held)
        if token.travels:
            held.token = replace(token, travels=token.travels - 1)
            return self._pass_on(node, held)
        if self.acting is not None or self._applied[token.which] < token.position:
            return False
        if self.thinking_s and not held.thought:
            held.thinking = True
            node.after(self.thinking_s, Decide(token.which, token.hop))
            return False
        return self._execute(node, held, len(topology.members))

    @on(Decide)
    def thought(self, node: Node, sender: str, timer: Decide) -> None:
        held = self.held.get(timer.which)
        if held is not None and held.token.hop == timer.hop and held.thinking:
            held.thinking, held.thought = False, True
            self._proceed(node)

    def _execute(self, node: Node, held: Held, stores: int) -> bool:
        knowledge, token = self.knowledge, held.token
        chosen = self.replacing.plan()
        if chosen is not None:
            self._count(node, held)
            self.acting = token.which
            self.replacing.start(node, chosen, self._fetched)
            return False
        if knowledge.news < token.news:
            return False  # others know more; perhaps then there is something to do
        self._count(node, held)
        quiet = token.quiet + 1 if knowledge.news == token.news else 1
        held.token = token = replace(token, quiet=quiet, news=knowledge.news)
        if quiet < stores:
            return self._pass_on(node, held)
        held.parked = True
        node.log("equilibrium", epoch=token.epoch, token=token.which)
        self._settle(node, Equilibrium(token.epoch, token.claimer, token.which, token.news))
        return False

    def _count(self, node: Node, held: Held) -> None:
        self.replacing.durable.iterations += 1
        if node.now > held.since:
            self.waits += 1
            self.waited_s += node.now - held.since
            held.since = node.now

    def _fetched(self, node: Node, arrived: bool) -> None:
        assert self.acting is not None
        held = self.held[self.acting]
        if arrived and (self.writers == 1 or self.replacing.may_commit()):
            token = replace(held.token, position=held.token.position + 1, quiet=0)
            why = self.replacing.commit(node, self.epoch, token.which, token.position)
            held.token = replace(token, news=self.knowledge.news)
            if why:
                self.stop(node, why)
                return
            self._pass_on(node, held)
        else:
            self.replacing.abandon()
        self.acting = None
        self._proceed(node)

    def _pass_on(self, node: Node, held: Held) -> bool:
        token, me = held.token, node.id
        goes_to = self.knowledge.topology().next_stop(me, held.sender)
        if goes_to == me:
            self.held[token.which] = Held(token, me, node.now)
            return True
        del self.held[token.which]
        node.send(goes_to, replace(token, hop=token.hop + 1))
        return False

    # Equilibrium

    @on(Equilibrium)
    def told(self, node: Node, sender: str, news: Equilibrium) -> None:
        if (news.epoch, news.claimer) > self.epoch:
            self._adopt(node, (news.epoch, news.claimer))
        if (news.epoch, news.claimer) == self.epoch and news.news > self.settled.get(news.which, -1):
            self._settle(node, news, sender)

    def _settle(self, node: Node, news: Equilibrium, sender: str | None = None) -> None:
        self.settled[news.which] = news.news
        node.broadcast(news, skip=sender)
        if self.at_rest and self._watch is not None:
            node.cancel(self._watch)
            self._watch = None

    @property
    def at_rest(self) -> bool:
        """Has every token come to rest, and nothing been learnt since?"""
        if self.stopped:
            return True
        if not self.settled:
            return False
        tokens = min(self.writers, len(self.knowledge.topology().members))
        return all(self.settled.get(which, -1) >= self.knowledge.news for which in range(tokens))

    # News

    def learnt(self, node: Node, fact: Fact) -> None:
        kind = fact.__class__
        if kind is Holding:
            self._applies(node, fact)  # type: ignore[arg-type]
        elif kind is Rates:
            self.replacing.rates_changed()
        elif kind is LinkState and self.acting is not None:
            # The way to what is being fetched may be gone.
            self.acting = None
            self.replacing.abandon()
        if self._watch is None:
            self._keep_watch(node)
        if self.claiming:
            self._mint(node)
        elif self.held:
            self._proceed(node)
        elif kind is LinkState:
            self._claim_first(node)

    def _applies(self, node: Node, holding: Holding) -> None:
        epoch = stamp(holding)
        if epoch > self.epoch:
            self._adopt(node, epoch)
        if epoch != self.epoch or not holding.position:
            return
        which, early = holding.token, self._early[holding.token]
        early.add(holding.position)
        while self._applied[which] + 1 in early:
            self._applied[which] += 1
            early.discard(self._applied[which])
        if self._told is not None:
            self._believe(self._told)

    def introduced(self, node: Node, peer: str) -> None:
        """After everything I know: what it amounts to."""
        super().introduced(node, peer)
        node.send(peer, Claim(*self.epoch))
        if min(self._applied) >= 0 and self.epoch != NO_EPOCH:
            node.send(peer, Applied(*self.epoch, tuple(self._applied), self.knowledge.holdings_digest()))
        for which, news in self.settled.items():
            node.send(peer, Equilibrium(*self.epoch, which, news))

    @on(Applied)
    def caught_up(self, node: Node, sender: str, told: Applied) -> None:
        self._told = told
        self._believe(told)
        self._proceed(node)

    def _believe(self, told: Applied) -> None:
        if (told.epoch, told.claimer) != self.epoch or told.digest != self.knowledge.holdings_digest():
            return
        self._told = None
        for which, position in enumerate(told.positions):
            if position > self._applied[which]:
                self._applied[which] = position
                self._early[which] = {early for early in self._early[which] if early > position}

    # Missing the token

    def _keep_watch(self, node: Node) -> None:
        if self._watch is None and self.patience_s is not None and not self.at_rest:
            self._last_sign = node.now
            self._watch = node.after(self._patience(node, self.patience_s), Missed())

    def _patience(self, node: Node, first_s: float) -> float:
        """Doubled with every epoch, so that one day it is long enough; the first names are the first to lose it."""
        members = self.knowledge.topology().members if self.knowledge.links else (node.id,)
        return first_s * 2.0 ** min(self.epoch[0], 16) * (1 + members.index(node.id) / len(members))

    @on(Missed)
    def missed(self, node: Node, sender: str, timer: Missed) -> None:
        self._watch = None
        if self.patience_s is None or self.at_rest:
            return
        left = self._last_sign + self._patience(node, self.patience_s) - node.now
        if left > 0:
            self._watch = node.after(left, Missed())
        else:
            self._claim(node)
            self._keep_watch(node)

    def halt(self, node: Node) -> None:
        self.held.clear()
        self.replacing.abandon()
        self.acting = None
        if self._watch is not None:
            node.cancel(self._watch)
            self._watch = None
