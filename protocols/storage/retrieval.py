"""Request and response: stored publications find whoever asks for them (planning, 4.1)."""

from __future__ import annotations

from protocols.routing.topics import Publish
from protocols.storage.coverage import Coverage
from runtime.agent import Node, Protocol, on
from runtime.message import Scalar, message, replace


@message
class Request:
    """Give me what you stored on this topic, as far as it meets the conditions.

    `path` is built hop by hop (source routing): the client, then every broker passed.
    """

    client: str
    number: int
    topic: str
    conditions: tuple[tuple[str, str, Scalar], ...]
    path: tuple[str, ...]


@message
class Response:
    """One stored publication, on its way back along the path of the request."""

    client: str
    number: int
    store: str
    distance_hops: int
    publication: Publish
    path: tuple[str, ...]


@message
class FetchTopic:
    """A store that is to hold this topic wants all that a nearest holder has; the path is as in a request."""

    topic: str
    path: tuple[str, ...]


@message
class TopicCopy:
    """All that a store holds on this topic, on its way back along the path of the fetch."""

    topic: str
    publications: tuple[Publish, ...]
    path: tuple[str, ...]


class Retrieval(Protocol):
    """Passes requests on towards a nearest store and responses back along the request's path.

    Equally near ways take turns. The paper does not say what becomes of a request for which there is no way:
    it waits until there is one. A request that comes back to a broker it has passed (its way changed meanwhile)
    goes on from there without the detour.
    """

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.turns: dict[str, int] = {}
        self.waiting: dict[str, list[Request | FetchTopic]] = {}
        coverage.route_found = self.route_found

    @on(Request, FetchTopic)
    def requested(self, node: Node, sender: str, request: Request | FetchTopic) -> None:
        path = (*request.path, sender)
        if node.id in path:
            path = path[: path.index(node.id)]
        self.forward(node, replace(request, path=path))

    def forward(self, node: Node, request: Request | FetchTopic) -> None:
        hops = self.coverage.next_hops(request.topic)
        if not hops:
            self.waiting.setdefault(request.topic, []).append(request)
            return
        turn = self.turns.get(request.topic, 0)
        self.turns[request.topic] = turn + 1
        node.send(hops[turn % len(hops)], request)

    def route_found(self, node: Node, topic: str) -> None:
        for request in self.waiting.pop(topic, []):
            self.forward(node, request)

    @on(Response, TopicCopy)
    def responded(self, node: Node, sender: str, response: Response | TopicCopy) -> None:
        node.send(response.path[-1], replace(response, path=response.path[:-1]))
