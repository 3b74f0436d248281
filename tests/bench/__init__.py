"""How fast the kernel is, beside what one would write instead: `python -m tests.bench`."""
