"""What every test has: the same examples in every run, and compiled modules for the processes that it starts."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

from spielleiter.server.runtime.garbage import keep_frozen
from tests.effort import FACTOR

settings.register_profile(
    "project",
    derandomize=FACTOR == 1,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

# A shell without job control starts what it puts in the background with SIGINT ignored, and everybody inherits that. A
# signal that is caught here is the default again in the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
# `nohup` ignores SIGHUP. It is caught here, and nothing comes of it, so that it is the default in those programs, too.
if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: None)


def pytest_configure(config: pytest.Config) -> None:
    """Give the workers a folder for compiled modules where Python must not keep any beside the sources.

    Otherwise each of the several hundred processes that they start would compile the whole project. Without workers,
    few tests are run, and it would not pay.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix or not config.getoption("numprocesses", None):
        return
    folder = tempfile.mkdtemp(prefix="spielleiter-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder


def pytest_collection_finish() -> None:
    """Keep the tests themselves out of the garbage collector's way.

    Every server begins with a full collection, which would look at all of them each time.
    """
    given(none())(lambda _: None)()  # Hypothesis makes its source of randomness, and asks the collector who holds it
    keep_frozen()
