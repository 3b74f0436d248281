"""How all tests run: none is timed, for a machine may be busy with something else."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
