"""The machine on which figures are measured: its description, and whether the benchmark can run on it."""

from __future__ import annotations

import os
import platform
import select
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

CPU_INFO: Final = Path("/proc/cpuinfo")
PROCESS_STATUS: Final = Path("/proc/self/status")


def describe_machine() -> dict[str, str | int]:
    """Return the processor, cores, kernel and relevant versions, by name, for the head of the report."""
    if sys.platform != "linux":
        raise NotImplementedError
    info = CPU_INFO.read_text(encoding="utf-8", errors="replace") if CPU_INFO.exists() else ""
    models = [line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine() or "unknown",
        "cores": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "server": version("spielleiter"),
        **{package: version(package) for package in ("trio", "lxml", "msgspec")},
    }


def missing_requirement() -> str | None:
    """Return a text that says what the benchmark needs and this machine lacks; None if nothing is missing."""
    if sys.platform != "linux":
        return f"the bench needs Linux, and this is {platform.system() or sys.platform}"
    for module, name in ((select, "epoll"), (os, "sched_getaffinity")):
        if not hasattr(module, name):
            return f"the bench needs {module.__name__}.{name}, which this Python does not have"
    try:
        if "VmRSS:" not in PROCESS_STATUS.read_text(encoding="ascii", errors="replace"):
            return f"the bench needs the memory of processes, and {PROCESS_STATUS} does not show it"
    except OSError as error:
        return f"the bench needs {PROCESS_STATUS}, which cannot be read ({error.strerror or error})"
    try:
        with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname(), 5):
            return None
    except OSError as error:
        return f"the bench needs connections to 127.0.0.1, which are not possible here ({error.strerror or error})"
