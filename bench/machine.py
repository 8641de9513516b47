"""Where figures were measured: processor, cores, kernel, versions of what matters.

Law: what cannot be found out is said to be unknown.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def describe_machine() -> dict[str, str | int]:
    """By name, for the head of the report."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "server": version("spielleiter"),
        **{package: version(package) for package in ("trio", "lxml", "msgspec")},
    }


def _processor(path: Path = Path("/proc/cpuinfo")) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine() or "unknown"
