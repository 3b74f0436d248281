"""The report of a run: one page that shows who held what when, what was sent, what was logged, and the verdict."""

from runtime.report.joining import apart, join
from runtime.report.model import Report

__all__ = ["Report", "apart", "join"]
