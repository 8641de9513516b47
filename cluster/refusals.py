"""Connections that a cluster on this machine has refused, since the other end has no certificate of this run.

Dask only writes them to its log. The processes that the match has started report them from there: the workers, which
load this module (`dask_setup`), by an event of Dask with the topic TOPIC.

Invariants: nothing here is loaded or logged for a cluster that somebody else has started; its own log says the same.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from distributed import Worker

LOGGER: Final = "distributed.comm.tcp"
"""The logger of Dask for connections."""
TOPIC: Final = "spielleiter-refused"
_REFUSED: Final = "TLS handshake failed"


class _Reporter(logging.Handler):
    """Calls `report` with the address of each refused connection."""

    def __init__(self, report: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        if _REFUSED in record.msg and isinstance(record.args, tuple):
            _own_address, address, error = record.args
            if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):  # not one that was cut off
                self._report(str(address))


@contextmanager
def reporting_refusals(report: Callable[[str], object]) -> Iterator[None]:
    """Call `report` in Dask's thread with the address of each connection that this process refuses."""
    reporter = _start(report)
    try:
        yield
    finally:
        logger = logging.getLogger(LOGGER)
        logger.removeHandler(reporter)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True


def dask_setup(worker: Worker) -> None:
    """Report the connections that a worker refuses; Dask calls this when the worker's process starts."""

    def report(address: str) -> None:
        with contextlib.suppress(Exception):  # whatever Dask raises while the worker is not connected yet
            worker.log_event(TOPIC, address)

    _start(report)


def _start(report: Callable[[str], object]) -> _Reporter:
    logger, reporter = logging.getLogger(LOGGER), _Reporter(report)
    logger.addHandler(reporter)
    logger.setLevel(logging.WARNING)
    logger.propagate = False  # nothing of Dask is printed
    return reporter
