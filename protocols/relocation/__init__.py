"""Tracing publications, choosing a broker for their publisher, and moving it there without loss."""
