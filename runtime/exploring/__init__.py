"""Exhaustive exploration: every order of events of a small network, with the agents as they are."""
