"""`python -m sweeps NAME`: the command `brokerlab sweep` without the other verbs."""

from __future__ import annotations

import sys

from runtime.cli import Verbs
from sweeps.command import sweep

if __name__ == "__main__":
    Verbs("brokerlab", {"sweep": sweep}).main(["sweep", *sys.argv[1:]])
