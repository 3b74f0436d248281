"""What a run counted. A run that is cut into shares has a tally for each, and they add up."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtime.events import EventLog

MASK = (1 << 64) - 1

Counts = dict[str, list[int]]
"""Messages and bytes by the messages' tags."""


@dataclass
class Tally:
    now: float = 0.0
    handled: int = 0
    heard: int = 0
    said: dict[str, int] = field(default_factory=dict)
    waited_s: dict[str, float] = field(default_factory=dict)
    sent: Counts = field(default_factory=dict)
    sent_underlay: Counts = field(default_factory=dict)
    carried: Counts = field(default_factory=dict)
    fired: Counter[str] = field(default_factory=Counter)
    events: EventLog = field(default_factory=EventLog)

    def fingerprint(self) -> str:
        """Equal runs, and only they, have equal fingerprints.

        It covers, in name order, the wire form of everything that each node said, and when and where everything
        arrived: a sum over events that are ordered by what is summed, so that it does not matter how the network is
        cut over processes. Python's hash of a tuple of numbers does not depend on PYTHONHASHSEED.
        """
        digest = hashlib.blake2b((self.heard & MASK).to_bytes(8, "big"), digest_size=16)
        for name, said in sorted(self.said.items()):
            digest.update(f"{name}\0{said}\n".encode())
        return digest.hexdigest()

    @property
    def messages(self) -> int:
        return sum(messages for messages, _ in self.sent.values())

    def queued_s(self) -> float:
        """How long messages waited for busy nodes; summed in name order, so that rounding is the same everywhere."""
        return sum(waited for _, waited in sorted(self.waited_s.items()))


def total(shares: Iterable[Tally]) -> Tally:
    """The tally of the whole run."""
    whole = Tally()
    for share in shares:
        whole.now = max(whole.now, share.now)
        whole.handled += share.handled
        whole.heard += share.heard
        whole.said |= share.said
        whole.waited_s |= share.waited_s
        add_counts(whole.sent, share.sent)
        add_counts(whole.sent_underlay, share.sent_underlay)
        add_counts(whole.carried, share.carried)
        whole.fired += share.fired
        whole.events.extend(share.events)
    return whole


def add_counts(whole: Counts, part: Mapping[str, Iterable[int]]) -> None:
    for tag, (messages, size) in part.items():
        counts = whole.setdefault(tag, [0, 0])
        counts[0] += messages
        counts[1] += size
