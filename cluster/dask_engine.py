"""Dask distributed, as seen by the process that started the match.

Invariants: Dask is called in threads only, and every wait for it can be cancelled. What is started here listens on the
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
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import trio

from spielleiter.common.errors import ClusterError, SetupError
from spielleiter.common.files import temporary_directory
from spielleiter.server.config import is_loopback

if TYPE_CHECKING:
    from distributed import Client, Future, Security, Worker

MAX_LOCAL_WORKERS: Final = 256
CONNECT_TIMEOUT: Final = 20.0
"""Seconds for a scheduler to answer."""
LOGGER: Final = "distributed.comm.tcp"
"""The logger of Dask for connections."""
TOPIC: Final = "spielleiter-refused"
"""The topic under which workers log the connections that they have refused."""

CORES: Final = "cores"
"""The Dask resource that pairs take; a worker without it is given as many as it has threads."""

_LOST_STATES: Final = frozenset({"cancelled", "lost"})
_LOST_ERRORS: Final = frozenset(
    {"CancelledError", "ClosedClientError", "CommClosedError", "FutureCancelledError", "FutureLostError"}
)
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


class TaskLostError(Exception):
    """A task was lost with the connection to the scheduler, or with the scheduler itself, which is nobody's fault."""


class DaskTask:
    """A task that a worker has finished, and its result."""

    def __init__(self, future: Future[Any], result: Any) -> None:
        self.result = result
        self._future = future

    @property
    def is_lost(self) -> bool:
        """Whether the scheduler has forgotten the task, since the connection to it was lost in between."""
        return self._future.status in _LOST_STATES


class DaskEngine:
    """A connection to the scheduler at `address`, or to one with workers of its own on this machine.

    `tell` is called with a line of text for people, in some thread: when the connection was made again, and when the
    workers of this machine have refused connections, once for the first and at the end with the number of all.
    """

    def __init__(self, address: ClusterAddress, tell: Callable[[str], object] = lambda _text: None) -> None:
        self._address = address
        self._tell = tell
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._scheduler = address.text
        self._security: Security | None = None
        """The certificate of the scheduler that was started here; None for another one."""
        self.refused = 0
        """The number of connections to what was started here that were refused, since they had no certificate of it."""

    @property
    def client(self) -> Client:
        """The client. Raises ClusterError if it was closed."""
        if self._client is None:
            raise ClusterError(f"{self._address.text}: there is no connection to the scheduler")
        return self._client

    def open(self) -> None:
        """Connect to the scheduler; start one if the address says so. Blocks. Raises ClusterError."""
        if self._address.local_workers is not None:
            from distributed import Security

            self._security = Security.temporary()
            self._stack.callback(report_refusals(self._note_refusal))
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

    def close(self) -> None:
        """Close the connection, and end what was started here. Blocks."""
        if self.refused > 1:
            self._tell(f"{self._address.text}: {self.refused} connections were refused in this way")
        self._close_client(timeout=5)
        self._stack.close()

    def _close_client(self, timeout: float) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=timeout)
            self._client = None

    def _note_refusal(self, address: str) -> None:
        """Called in threads of Dask."""
        with self._lock:
            self.refused += 1
            is_first = self.refused == 1
        if is_first:
            self._tell(
                f"{self._address.text}: another process tried to reach the workers from {address}; it was refused, "
                "since it has no certificate of this run"
            )

    async def workers(self) -> dict[str, str]:
        """The host of each worker, by its address. Raises ClusterError if the scheduler does not answer.

        Connects again if the connection was lost for good.
        """
        if self._client is None or self._client.status not in {"running", "connecting", "newly-created"}:
            await trio.to_thread.run_sync(self._reconnect)
        return await trio.to_thread.run_sync(self._workers, abandon_on_cancel=True)

    def _reconnect(self) -> None:
        self._close_client(timeout=1)
        self._connect()
        self._tell("connected to the scheduler again")

    def _workers(self) -> dict[str, str]:
        try:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise ClusterError(f"{self._address.text}: the scheduler does not answer ({error})") from None
        return {str(address): str(worker.get("host", "")) for address, worker in found.items()}

    async def call(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the worker at `address`, outside its queue of tasks, and return its result.

        Raises what the function raises, and OSError if the worker has left.
        """

        def call() -> Any:
            return self.client.run(function, *arguments, workers=[address], on_error="return")

        answers = await trio.to_thread.run_sync(call, abandon_on_cancel=True)
        answer = answers.get(address, OSError("the worker has left"))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @asynccontextmanager
    async def task(
        self, address: str, key: str, function: Callable[..., Any], *arguments: Any, cores: float = 0.0
    ) -> AsyncIterator[DaskTask]:
        """Let the worker at `address` call a function when it has `cores` free; yields when it has returned.

        However the context is left, the scheduler then forgets the task, whether it has ended or not. Raises what the
        function raises, TaskLostError, and ClusterError and whatever Dask raises if the worker or the connection fails.
        """
        has_ended, token = trio.Event(), trio.lowlevel.current_trio_token()

        def end(_future: object) -> None:  # in a thread of Dask
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(has_ended.set)

        def submit() -> Future[Any]:
            future = self.client.submit(
                function,
                *arguments,
                key=key,
                workers=[address],
                allow_other_workers=False,
                resources={CORES: cores} if cores else None,
                pure=False,
            )
            future.add_done_callback(end)
            return future

        future = None
        try:
            future = await trio.to_thread.run_sync(submit)
            await has_ended.wait()
            yield DaskTask(future, await trio.to_thread.run_sync(future.result, abandon_on_cancel=True))
        except Exception as error:
            if type(error).__name__ in _LOST_ERRORS or (future is not None and future.status in _LOST_STATES):
                raise TaskLostError(key) from error
            raise
        finally:
            if future is not None:
                with contextlib.suppress(Exception):  # without a connection it is forgotten anyway
                    future.release()


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


def report_refusals(report: Callable[[str], object]) -> Callable[[], None]:
    """Call `report` in Dask's thread with the address of each connection that this process refuses.

    Returns what ends this.
    """
    logger, reporter = logging.getLogger(LOGGER), _Reporter(report)
    logger.addHandler(reporter)
    logger.setLevel(logging.WARNING)
    logger.propagate = False  # nothing of Dask is printed

    def end() -> None:
        logger.removeHandler(reporter)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True

    return end


def dask_setup(worker: Worker) -> None:
    """Report the connections that a worker refuses; Dask calls this when the worker's process starts."""

    def report(address: str) -> None:
        with contextlib.suppress(Exception):  # whatever Dask raises while the worker is not connected yet
            worker.log_event(TOPIC, address)

    report_refusals(report)
