"""Dask distributed, as seen by the process that started the match.

Invariants: all methods of `DaskEngine` block, so they are called in threads. What is started here listens on the
loopback interface only, and talks only to those who have the certificate of this run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from spielleiter.common.errors import ClusterError, SetupError
from spielleiter.common.files import temporary_directory
from spielleiter.server.config import is_loopback

if TYPE_CHECKING:
    from distributed import Client, Security, Worker

MAX_LOCAL_WORKERS: Final = 256
CONNECT_TIMEOUT: Final = 20.0
"""Seconds for a scheduler to answer."""
LOGGER: Final = "distributed.comm.tcp"
"""The logger of Dask for connections."""
TOPIC: Final = "spielleiter-refused"
"""The topic under which workers log the connections that they have refused."""

_LOOPBACK: Final = "127.0.0.1"
_NO_PAGES: Final[dict[str, list[str]]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Dask's pages about the state of a cluster have no TLS."""

_REMOTE: Final = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
_LOCAL: Final = re.compile(r"local:([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """The address of a scheduler, or a number of workers on this machine."""

    text: str
    local_workers: int | None = None
    """The number of worker processes to start here; None: `text` is the address of a scheduler that is running."""

    @property
    def is_open(self) -> bool:
        """Whether others can read the connections to the scheduler, and use it: no TLS, and not on this machine."""
        remote = _REMOTE.fullmatch(self.text)
        return remote is not None and remote[1] == "tcp" and not is_loopback(remote[2].strip("[]"))

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Parse ``tcp://HOST:PORT``, ``tls://HOST:PORT`` or ``local:N``. Raises SetupError."""
        if (local := _LOCAL.fullmatch(text)) and 1 <= int(local[1]) <= MAX_LOCAL_WORKERS:
            return cls(text, int(local[1]))
        if (remote := _REMOTE.fullmatch(text)) and 1 <= int(remote[3]) <= 65535:
            return cls(text)
        raise SetupError(
            f"cluster {text!r}: expected tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler, or local:N for 1 to "
            f"{MAX_LOCAL_WORKERS} worker processes on this machine"
        )


def require_distributed() -> None:
    """Raise SetupError if Dask distributed is not installed."""
    try:
        import cryptography  # noqa: F401 - with it, Dask makes certificates
        import distributed  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"--cluster needs Dask distributed ({error}); install it with: pip install 'spielleiter[cluster]'"
        ) from None


class DaskEngine:
    """A connection to the scheduler at `address`, or to one with workers of its own on this machine.

    `tell` is called with a line of text for people when the latter have refused connections: once for the first, and at
    the end with the number of all.
    """

    def __init__(self, address: ClusterAddress, tell: Callable[[str], object] = lambda _text: None) -> None:
        self._address = address
        self._tell = tell
        self._stack = ExitStack()
        self._client: Client | None = None
        self._scheduler = address.text
        self._security: Security | None = None
        """The certificate of the scheduler that was started here; None for another one."""
        self.refused = 0
        """The number of connections to what was started here that were refused, since they had no certificate of it."""
        self._first_refused = ""
        self._has_told = False

    @property
    def client(self) -> Client:
        """The client. Raises ClusterError if it was closed."""
        if self._client is None:
            raise ClusterError(f"{self._address.text}: there is no connection to the scheduler")
        return self._client

    def open(self) -> None:
        """Connect to the scheduler; start one if the address says so. Raises ClusterError."""
        if self._address.local_workers is not None:
            from distributed import Security

            self._security = Security.temporary()
            self._stack.enter_context(reporting_refusals(self._note_refusal))
            self._scheduler = self._stack.enter_context(_local_scheduler(self._address.local_workers, self._security))
        self._connect()

    def _connect(self) -> None:
        from distributed import Client, Security
        from distributed.comm.core import connect

        # Dask's own log stays off the terminal: what concerns the match is told by the match
        for name in ("distributed", *logging.root.manager.loggerDict):
            if name.startswith("distributed") and name != LOGGER:
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        security = self._security or Security()  # from Dask's configuration
        arguments = security.get_connection_args("client")
        if self._scheduler.startswith("tls:") and not arguments["ssl_context"]:
            raise ClusterError(
                f"{self._address.text}: no certificate; for TLS, name the files of the certificates in Dask's "
                "configuration (docs/cluster.md)"
            )

        async def try_connection() -> None:
            connection = await connect(self._scheduler, timeout=CONNECT_TIMEOUT, **arguments)
            await connection.close()

        try:
            asyncio.run(try_connection())  # a client that has failed prints, and waits as it is deleted
            self._client = Client(
                self._scheduler,
                security=security,
                timeout=CONNECT_TIMEOUT,
                set_as_default=False,
                heartbeat_interval="2s",
            )
            if self._security is not None:
                self._client.subscribe_topic(TOPIC, lambda event: self._note_refusal(event[1]))
        except OSError as error:
            raise ClusterError(
                f"{self._address.text}: no Dask scheduler can be reached there ({_reason(error)}); is `dask scheduler` "
                "running?"
            ) from None
        except Exception as error:  # whatever Dask raises if something else answers, or if TLS is required
            raise ClusterError(
                f"{self._address.text}: this is no Dask scheduler, or it has another version or demands TLS "
                f"({_reason(error)}); see docs/cluster.md"
            ) from None

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, or Dask is making it again at the moment."""
        return self._client is not None and self._client.status in {"running", "connecting", "newly-created"}

    def reconnect(self) -> bool:
        """Connect again after the connection was lost for good; return whether there is one now."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=1)
            self._client = None
        try:
            self._connect()
        except ClusterError:
            return False
        return True

    def _note_refusal(self, address: str) -> None:
        """Called in Dask's thread."""
        self._first_refused = self._first_refused or address
        self.refused += 1

    def _tell_refusals(self) -> None:
        if self.refused and not self._has_told:
            self._has_told = True
            self._tell(
                f"{self._address.text}: another process tried to reach the workers from {self._first_refused}; it was "
                "refused, since it has no certificate of this run"
            )

    def close(self) -> None:
        """Close the connection, and end what was started here."""
        self._tell_refusals()
        if self.refused > 1:
            self._tell(f"{self._address.text}: {self.refused} connections were refused in this way")
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)
            self._client = None
        self._stack.close()

    def workers(self) -> dict[str, str]:
        """The host of each worker, by its address. Raises ClusterError if the scheduler does not answer."""
        try:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise ClusterError(f"{self._address.text}: the scheduler does not answer ({error})") from None
        self._tell_refusals()
        return {str(address): str(worker.get("host", "")) for address, worker in found.items()}

    def call(self, workers: Sequence[str], function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function in some workers, outside their queues of tasks.

        Returns the results in the order of `workers`; the exception for a worker in which one was raised.
        """
        answers = self.client.run(function, *arguments, workers=list(workers), on_error="return")
        return [answers.get(each, OSError("the worker has left")) for each in workers]


def _reason(error: Exception) -> str:
    """The first line of an exception, or its type if it has no text."""
    return (str(error) or type(error).__name__).splitlines()[0]


@contextmanager
def _local_scheduler(workers: int, security: Security) -> Iterator[str]:
    """Start a scheduler and worker processes on this machine, and yield the scheduler's address.

    The key of `security` is in memory, is handed to the workers through pipes, and is in a file only while it is
    loaded, in a folder that nobody else can open.
    """
    import dask
    from distributed import LocalCluster

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with temporary_directory("spielleiter-cluster-") as scratch, ExitStack() as stack:
        with _ignoring_interrupts(), dask.config.set(_NO_PAGES):
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=max(1, cores // workers),
                    processes=True,
                    host=_LOOPBACK,
                    security=security,
                    dashboard_address=f"{_LOOPBACK}:0",
                    scheduler_kwargs={"dashboard": False},
                    preload=__name__,
                    local_directory=scratch,
                    memory_limit=0,  # the games are played in other processes
                    silence_logs=logging.CRITICAL,
                )
            )
        yield str(cluster.scheduler_address)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Let processes that are started in this context ignore Ctrl+C, which is meant for the match."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Reporter(logging.Handler):
    """Calls `report` with the address of each refused connection."""

    def __init__(self, report: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        if "TLS handshake failed" in record.msg and isinstance(record.args, tuple):
            _own_address, address, error = record.args
            if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):  # not one that was cut off
                self._report(str(address))


@contextmanager
def reporting_refusals(report: Callable[[str], object]) -> Iterator[None]:
    """Call `report` in Dask's thread with the address of each connection that this process refuses."""
    reporter = _report_refusals(report)
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

    _report_refusals(report)


def _report_refusals(report: Callable[[str], object]) -> _Reporter:
    logger, reporter = logging.getLogger(LOGGER), _Reporter(report)
    logger.addHandler(reporter)
    logger.setLevel(logging.WARNING)
    logger.propagate = False  # nothing of Dask is printed
    return reporter
