"""Filters, subscription tables and the way of publications to subscribers."""
