"""Request and response: stored publications find whoever asks for them (planning, 4.1)."""

from __future__ import annotations

from protocols.presence import Watcher
from protocols.routing.topics import Publish
from protocols.storage.coverage import Coverage
from runtime.agent import Node, on
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
    """A store that is to hold this topic wants all that a nearest holder has; the path is as in a request.

    The number is that of the store's subscription, behind which the fetch travels.
    """

    topic: str
    number: int
    path: tuple[str, ...]


@message
class TopicCopy:
    """All that a store holds on this topic, on its way back along the path of the fetch with this number."""

    topic: str
    number: int
    publications: tuple[Publish, ...]
    path: tuple[str, ...]


class Retrieval(Watcher):
    """Passes requests on towards a nearest store and responses back along the request's path.

    Equally near ways take turns. The paper does not say what becomes of a request for which there is no way:
    it waits until there is one. A request that comes back to a broker it has passed (its way changed meanwhile)
    goes on from there without the detour. Nor does it say what becomes of a request when a broker on its way fails:
    each broker remembers what it has passed on until the first response comes back, and what it passed on to a
    neighbour that is lost, or has lost its memory, it passes on again. Whoever asked may then get a response twice.
    """

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.turns: dict[str, int] = {}
        self.waiting: dict[str, list[Request | FetchTopic]] = {}
        self.passed: dict[tuple[str, str, int], tuple[str, Request | FetchTopic]] = {}
        """By who asked, topic and number: to which neighbour it went; there is no response yet."""
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
        hop = hops[turn % len(hops)]
        self.passed[request.path[0], request.topic, request.number] = hop, request
        node.send(hop, request)

    def route_found(self, node: Node, topic: str) -> None:
        for request in self.waiting.pop(topic, []):
            self.forward(node, request)

    def neighbour_down(self, node: Node, peer: str) -> None:
        for who, (hop, request) in list(self.passed.items()):
            if hop == peer:
                del self.passed[who]
                node.log("passed_again", who=who[0], topic=request.topic, number=request.number)
                self.forward(node, request)

    @on(Response, TopicCopy)
    def responded(self, node: Node, sender: str, response: Response | TopicCopy) -> None:
        topic = response.topic if isinstance(response, TopicCopy) else response.publication.topic
        self.passed.pop((response.path[0], topic, response.number), None)
        node.send(response.path[-1], replace(response, path=response.path[:-1]))
