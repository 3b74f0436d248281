"""What can go wrong, by whose fault it is."""

from __future__ import annotations


class BrokerlabError(Exception):
    """Every error that brokerlab raises on purpose."""


class ScenarioError(BrokerlabError):
    """The scenario is at fault: says which file and key, and what is allowed."""

    def __init__(self, key: str, problem: str, file: str | None = None) -> None:
        super().__init__(key, problem, file)
        self.key = key
        self.problem = problem
        self.file = file

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.key, self.problem) if part)


class OutputError(BrokerlabError):
    """Results cannot be written there: says why, and what to write instead."""


class MessageError(BrokerlabError):
    """A message was declared or filled in wrongly: the protocol is at fault."""


class DecodeError(BrokerlabError):
    """Bytes that are no message of ours: whoever sent them is at fault."""


class WiringError(BrokerlabError):
    """An agent's protocols do not fit together."""


class LocalityError(BrokerlabError):
    """A node reached for something that is not its neighbour."""


class AgentError(BrokerlabError):
    """A handler raised: names the node, the time and the message."""


class ClusterError(BrokerlabError):
    """Ray did not give what the run needs: no cluster, no actors, no memory."""


class ReplayError(BrokerlabError):
    """A recording does not belong to the run that is to follow it."""
