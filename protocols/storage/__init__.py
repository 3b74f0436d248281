"""Stores in a publish/subscribe network: advertising, coverage, retrieval."""
