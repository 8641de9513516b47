"""Clients that put the pages under load, and processes that only use the processor; for `page_load.py`.

Run this file with the arguments KIND PORT, or ``passive SHARE NICENESS``. A line is written when all are running; the
process ends with its input, or when it is killed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

import trio

COUNT: Final = 250
BODY_BYTES: Final = 4 * 1024 * 1024
UNFINISHED: Final = 1  # bytes of a body that are never sent
SLICE: Final = 0.01  # seconds of which a passive load uses its share
HOST: Final = "127.0.0.1"
_LIST: Final = f"GET /api/rooms HTTP/1.1\r\nHost: {HOST}\r\n".encode()


async def get_for_ever(port: int, _number: int) -> None:
    """Ask for the list again and again, on one connection as long as it lasts."""
    async with await trio.open_tcp_stream(HOST, port) as stream:
        while True:
            await stream.send_all(_LIST + b"\r\n")
            data = bytes(await stream.receive_some())
            head, _, body = data.partition(b"\r\n\r\n")
            missing = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) - len(body)
            while missing > 0 and (data := bytes(await stream.receive_some())):
                missing -= len(data)


async def connect_for_ever(port: int, number: int) -> None:
    """Connect once a second."""
    start = trio.current_time() + number / COUNT
    while True:
        await trio.sleep_until(start)
        start = max(start + 1, trio.current_time())
        async with await trio.open_tcp_stream(HOST, port) as stream:
            await stream.send_all(_LIST + b"Connection: close\r\n\r\n")
            async for _ in stream:
                pass


async def send_an_unfinished_body(port: int, _number: int) -> None:
    """Send nearly all of a body, and wait."""
    head = f"POST /api/replays HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {BODY_BYTES}\r\n"
    async with await trio.open_tcp_stream(HOST, port) as stream:
        await stream.send_all(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode())
        await stream.send_all(bytes(BODY_BYTES - UNFINISHED))
        await stream.receive_some()
        await trio.sleep(1)


CLIENTS: Final[dict[str, Callable[[int, int], Awaitable[None]]]] = {
    "gets": get_for_ever,
    "connects": connect_for_ever,
    "bodies": send_an_unfinished_body,
}


async def run_clients(kind: str, port: int) -> None:
    """Run the clients of one kind until standard input ends; one that is disconnected begins again."""

    async def repeat(number: int) -> None:
        while True:
            with contextlib.suppress(OSError, ValueError, trio.BrokenResourceError):
                await CLIENTS[kind](port, number)
            await trio.sleep(0.1)

    async with trio.open_nursery() as nursery:
        for number in range(COUNT):
            nursery.start_soon(repeat, number)
        print("ready", flush=True)
        await trio.to_thread.run_sync(lambda: os.read(0, 1), abandon_on_cancel=True)
        nursery.cancel_scope.cancel()


def be_passive(share: float, niceness: int) -> None:
    """Use this share of a processor until killed."""
    if sys.platform == "win32":
        raise NotImplementedError
    os.nice(niceness)
    print("ready", flush=True)
    while True:
        began, used = time.perf_counter(), time.process_time()
        while time.process_time() - used < share * SLICE:
            pass
        time.sleep(max(0.0, began + SLICE - time.perf_counter()))


if __name__ == "__main__":
    if sys.argv[1] == "passive":
        be_passive(float(sys.argv[2]), int(sys.argv[3]))
    else:
        trio.run(run_clients, sys.argv[1], int(sys.argv[2]))
