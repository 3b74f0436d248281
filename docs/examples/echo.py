from runtime.agent import Protocol, on
from runtime.message import message


@message
class Call:
    sent_at: float


@message
class Echo:
    sent_at: float


class Shout(Protocol):
    """One node calls to its neighbours, and each of them answers."""

    def __init__(self, who: str):
        self.who = who
        self.seconds = {}

    def started(self, node):
        if node.id == self.who:
            node.broadcast(Call(node.now))

    @on(Call)
    def heard(self, node, sender, call):
        node.send(sender, Echo(call.sent_at))

    @on(Echo)
    def answered(self, node, sender, echo):
        self.seconds[sender] = round(node.now - echo.sent_at, 3)

    def result(self):
        return {"echoes": self.seconds}
