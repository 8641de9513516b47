"""The fork server: the process that forks the supervisors and forwards requests to them.

Invariants:

- It is the child subreaper of all supervisors. If a supervisor is killed, everything below it is killed at once.
- A request goes to a supervisor without a program, or to a new one.
- Once the other end of its socket is closed, it ends. Supervisors with a program outlive it; the others are killed.

A supervisor sends a READY byte when it can take another program.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"  # before the imports, which other platforms lack

import contextlib
import gc
import json
import os
import select
import signal
import socket
from collections.abc import Iterable

from .messages import HEAD, READY, receive_request
from .process_tree import become_subreaper, find_descendants, kill_all, send_signal
from .supervisor import run_supervisor
from .wakeup import drain, open_child_wakeup


def main() -> None:
    """Serve the requests that arrive on the socket that is standard input."""
    become_subreaper()
    gc.disable()
    gc.freeze()  # memory pages that are never written to are not copied for each supervisor
    _ForkServer(socket.socket(fileno=0)).run()


class _ForkServer:
    """The supervisors, and the socket `requests` to the match."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._supervisors: dict[int, socket.socket] = {}
        """The socket that each supervisor receives its requests on, by process id."""
        self._idle: list[int] = []

    def run(self) -> None:
        wakeup = open_child_wakeup()
        try:
            self._requests.sendall(READY)
        except BrokenPipeError:  # the match has ended already
            return
        while True:
            poll = select.poll()
            for sock in (self._requests, wakeup, *self._supervisors.values()):
                poll.register(sock, select.POLLIN)
            readable = {descriptor for descriptor, _ in poll.poll()}
            drain(wakeup)
            for pid, sock in self._supervisors.items():
                if sock.fileno() in readable and _receive_byte(sock):
                    self._idle.append(pid)
            if self._reap():  # what was below the killed supervisor is now below this process
                kill_all(lambda: find_descendants(os.getpid(), self._supervisors), lambda: not self._reap())
            if self._requests.fileno() in readable:
                request = receive_request(self._requests)
                if request is None:
                    self._close()
                    return
                self._forward(*request)
                for descriptor in request[1]:
                    os.close(descriptor)

    def _close(self) -> None:
        """Kill the supervisors that have no program; the others stay until their programs end."""
        signal.set_wakeup_fd(-1)
        send_signal(self._idle, signal.SIGKILL)  # there is nothing below them, and a program may have stopped them
        for sock in self._supervisors.values():
            sock.close()
        send_signal(self._supervisors, signal.SIGCONT)
        for pid in self._idle:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _forward(self, options: bytes, descriptors: list[int]) -> None:
        """Give a request to an idle supervisor or to a new one.

        If neither is possible, the match notices that the program's socket is closed.
        """
        with contextlib.suppress(OSError):
            pid = self._idle.pop() if self._idle else self._fork_supervisor(descriptors)
            os.kill(pid, signal.SIGCONT)  # a program may have stopped it
            os.write(
                descriptors[0], json.dumps({"supervisor": pid}).encode() + b"\n"
            )  # so that the match can resume it
            socket.send_fds(self._supervisors[pid], [HEAD.pack(len(options)) + options], descriptors)

    def _fork_supervisor(self, unrelated: Iterable[int]) -> int:
        """Fork a supervisor, which closes the `unrelated` descriptors; return its process id."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            for sock in (self._requests, ours, *self._supervisors.values()):
                sock.close()  # an inherited copy would keep the connection open after the other process closes it
            for descriptor in unrelated:
                os.close(descriptor)
            run_supervisor(theirs)
        theirs.close()
        self._supervisors[pid] = ours
        return pid

    def _reap(self) -> bool:
        """Wait for children that have ended; return whether one of them was a supervisor that failed or was killed."""
        has_failed = False
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                sock = self._supervisors.pop(pid, None)
                if sock is not None:
                    has_failed |= status != 0
                    sock.close()
                    if pid in self._idle:
                        self._idle.remove(pid)
        return has_failed


def _receive_byte(sock: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        return bool(sock.recv(1))
    return False
