"""A program that plays legal moves and tries one thing besides; `python -m tests.match.bots.attacker ATTACK -h ...`.

Invariants: each attack is tried once, before the first move unless it needs another moment; what the server answers is
not looked at. Whoever is not sent away plays on.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import trio

from spielleiter.client.errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.strategies import make_responder
from spielleiter.game.api import State
from spielleiter.server.editions import choose_editions

ROOM = "ROOM"
BYTES = {
    "authenticate": b'<authenticate password="examplepassword"/>',
    "cancel": b'<authenticate password="examplepassword"/><cancel roomId="ROOM"/>',
    "pause": b'<authenticate password="examplepassword"/><pause roomId="ROOM" pause="true"/>',
    "observe": b'<authenticate password="examplepassword"/><observe roomId="ROOM"/>',
    "undeclared-prefix": b'<joinRoom xmlns="u"><p:b/></joinRoom>',
    "flood": b" " * 700_000,
    "nothing": b"",
}
"""What is sent before the first move, over the seat's own connection."""


def sockets(host: str, port: int) -> None:
    """Open as many connections as there can be, and keep them."""
    for _ in range(200):
        try:
            kept.append(socket.create_connection((host, port), timeout=1))
        except OSError:
            return


def steal(host: str, own_port: int, own_code: str) -> None:
    """Find the opponent's command line, and take its seat before it does, on either port."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = place.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            is_sibling = grandparent_of(place.parent) == grandparent_of(Path("/proc/self"))
            if is_sibling and "-r" in words and "-p" in words and own_code not in words:
                code, port = words[words.index("-r") + 1], int(words[words.index("-p") + 1])
                for each in (own_port, port):
                    try:
                        sock = socket.create_connection((host, each), timeout=1)
                        sock.sendall(f'<protocol><joinPrepared reservationCode="{code}"/>'.encode())
                        kept.append(sock)
                    except OSError:
                        pass
                return
        time.sleep(0.01)


def hide(environment: dict[str, str]) -> None:
    """Leave a process behind that has left our session, has lost its parent, and has this environment."""
    if os.fork():
        return
    os.setsid()
    hidden = os.fork()
    if hidden:
        sys.stderr.write(f"hidden {hidden}\n")
        sys.stderr.flush()
        os._exit(0)
    for descriptor in range(3):
        os.close(descriptor)
    os.execve("/bin/sleep", ["sleep", "500"], environment)


def frame() -> None:
    """The same, in the name of the opponent: with its environment."""
    wanted = f"MATCHED_PROGRAM={os.environ['MATCHED_PROGRAM'].removesuffix('1')}2".encode()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for place in Path("/proc").glob("[0-9]*/environ"):
            try:
                words = place.read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in words:
                hide(dict(word.decode().split("=", 1) for word in words if b"=" in word))
                return
        time.sleep(0.01)


def kill_parent() -> None:
    """End the process that has started us, and play on."""
    os.kill(os.getppid(), signal.SIGKILL)


def stop_parent(times: int | None) -> None:
    """Stop the process that has started us so often (None: for ever), from another process."""
    keeper = os.getppid()
    if os.fork():
        return
    os.setsid()
    while times is None or times > 0:
        os.kill(keeper, signal.SIGSTOP)
        time.sleep(0.001)
        times = None if times is None else times - 1
    os._exit(0)


def guess(host: str, port: int, own_code: str) -> None:
    """Try codes that are near to our own, and those that well-known seeds would give."""
    near = [own_code[:-1] + chr(ord(own_code[-1]) ^ flip) for flip in (1, 2)]
    for code in [*near, str(uuid.UUID(int=random.Random(1).getrandbits(128), version=4))]:
        with socket.create_connection((host, port), timeout=10) as sock:
            sock.sendall(f'<protocol><joinPrepared reservationCode="{code}"/>'.encode())
            sock.recv(4096)


def make_noise() -> None:
    """Write more than anybody wants to keep, with what a terminal would obey."""
    for _ in range(12):
        sys.stderr.write("\x1b[2J" + "x" * 1024 * 1024 + "\n")
        sys.stderr.flush()


def parent_of(process: Path) -> int:
    """The process that has started another one; -1 where that has ended."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def grandparent_of(process: Path) -> int:
    return parent_of(Path("/proc", str(parent_of(process))))


kept: list[socket.socket] = []
BEFORE: dict[str, Callable[[str, int, str], None]] = {
    "sockets": lambda host, port, _code: sockets(host, port),
    "steal": steal,
    "hide": lambda _host, _port, _code: hide({}),
    "frame": lambda _host, _port, _code: frame(),
    "kill-parent": lambda _host, _port, _code: kill_parent(),
    "guess": guess,
    "noise": lambda _host, _port, _code: make_noise(),
    "absent": lambda _host, _port, _code: sys.exit(0),
    "stop-parent": lambda _host, _port, _code: stop_parent(1),
    "stop-parent-for-ever": lambda _host, _port, _code: stop_parent(None),
}
"""What is done before the program takes its own seat."""


async def main() -> int:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("attack")
    parser.add_argument("--game")
    parser.add_argument("-h", dest="host")
    parser.add_argument("-p", dest="port", type=int)
    parser.add_argument("-r", dest="code")
    given = parser.parse_args()
    edition = choose_editions({}, {})[given.game]
    responder = make_responder("first", seed=1)
    has_tried = False

    async def play(player: Player, state: State) -> None:
        nonlocal has_tried
        if not has_tried:
            has_tried = True
            data = BYTES.get(given.attack, b"")
            if given.attack == "stop-parent-for-ever":
                await trio.sleep_forever()
            await player.send_bytes(data.replace(b"ROOM", str(player.room_id).encode()))
        await responder(player, state)

    if given.attack in BEFORE:
        BEFORE[given.attack](given.host, given.port, given.code)
    async with Player.connect(given.host, given.port, dialect=edition.dialect) as player:
        await player.join_prepared(given.code)
        await player.play_with(play)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(trio.run(main))
    except ClientError as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os._exit(1)
