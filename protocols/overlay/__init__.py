"""Minimum-cost content-based overlays: who connects to which broker, and the hand-over from one to another."""
