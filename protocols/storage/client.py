"""What a client does: it publishes, and it asks for what was published before (planning, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from protocols.routing.filters import Content, Filter
from protocols.routing.topics import Publish
from protocols.storage.retrieval import Request, Response
from runtime.agent import Node, Protocol, on
from runtime.message import Scalar, message


@message
class PublishNow:
    """A timer: time to publish this."""

    topic: str
    content: tuple[tuple[str, Scalar], ...]


@message
class RequestNow:
    """A timer: time to ask for this."""

    topic: str
    conditions: tuple[tuple[str, str, Scalar], ...]


class Asking(Protocol):
    """Publishes and requests at planned times and keeps every response."""

    def __init__(
        self,
        home: str,
        publications: Sequence[tuple[float, str, Content]] = (),
        requests: Sequence[tuple[float, str, Filter]] = (),
    ) -> None:
        self.home = home
        self.publications = tuple(publications)
        self.requests = tuple(requests)
        self.published = 0
        self.asked = 0
        self.responses: dict[int, list[Response]] = {}

    def started(self, node: Node) -> None:
        for at, topic, content in self.publications:
            node.after(at, PublishNow(topic, content))
        for at, topic, conditions in self.requests:
            node.after(at, RequestNow(topic, conditions))

    @on(PublishNow)
    def publish(self, node: Node, sender: str, order: PublishNow) -> None:
        self.published += 1
        node.send(self.home, Publish(order.topic, node.id, self.published, order.content))

    @on(RequestNow)
    def ask(self, node: Node, sender: str, order: RequestNow) -> None:
        self.asked += 1
        node.send(self.home, Request(node.id, self.asked, order.topic, order.conditions, ()))

    @on(Response)
    def answered(self, node: Node, sender: str, response: Response) -> None:
        self.responses.setdefault(response.number, []).append(response)
        node.log(
            "response",
            request=response.number,
            topic=response.publication.topic,
            store=response.store,
            distance_hops=response.distance_hops,
        )
