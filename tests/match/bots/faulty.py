"""A program that commits one fault: `python -m tests.match.bots.faulty FOLDER -h HOST -p PORT -r CODE`.

It plays legal moves otherwise. Which fault it commits follows from the number of programs that were started with the
same FOLDER before it, so that every fault occurs equally often in a match. The first line on standard error names it.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"

import argparse
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import NoReturn

import trio

from spielleiter.client.errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.strategies import make_responder
from spielleiter.game.api import State
from spielleiter.protocol.current_season import DEFAULT_DIALECT
from spielleiter.protocol.messages import MoveData, RoomMessage
from tests.match.bots.ports import ancestors, ports_of

FAULTS = (
    "none",
    "dies at the start",
    "ends at the start",
    "does not connect",
    "connects and waits",
    "joins and dies",
    "garbage at the start",
    "illegal move",
    "unreadable move",
    "unknown room",
    "two moves",
    "garbage and silence",
    "half a packet",
    "late",
    "silent",
    "crashes",
    "ends",
    "leaves",
    "tries to administrate",
    "takes the seat",
)
"""The faults, in the order in which they are committed."""

SOFT_LIMIT, HARD_LIMIT = 0.5, 1.5
"""The limits of the match in seconds."""

GARBAGE = b"<room <<<"
UNREADABLE = b'<room roomId="ROOM"><data class="move"><nonsense/></data></room>'


def next_number(folder: Path) -> int:
    """Return how many programs have asked before."""
    with (folder / "count").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        number = file.tell()
        file.write(".")
        return number


def wait_for_ever() -> NoReturn:
    while True:
        time.sleep(60)


def take_opponents_seat(host: str, own_port: int) -> list[socket.socket]:
    """Join on every other port of this match."""
    taken = []
    for port in ports_of(ancestors()):
        if port != own_port:
            try:
                sock = socket.create_connection((host, port), timeout=1)
                sock.sendall(b"<protocol><join/>")
                taken.append(sock)
            except OSError:
                pass
    return taken


def commit_before_joining(fault: str, host: str, port: int) -> None:
    """Commit a fault that needs no seat; return if `fault` needs one."""
    match fault:
        case "dies at the start":
            raise RuntimeError("no configuration")
        case "ends at the start":
            sys.exit(0)
        case "does not connect":
            wait_for_ever()
        case "connects and waits":
            with socket.create_connection((host, port)):
                wait_for_ever()
        case "garbage at the start":
            with socket.create_connection((host, port)) as sock:
                sock.sendall(b"<protocol><<<")
                wait_for_ever()


async def commit_on_turn(fault: str, player: Player, state: State) -> None:
    """Commit a fault instead of answering a request; play a move if `fault` is none of that kind."""
    room = str(player.room_id).encode()
    chosen = next(iter(state.generate_legal_moves()))
    move = DEFAULT_DIALECT.encode(RoomMessage(player.room_id, MoveData(chosen)))
    match fault:
        case "illegal move":
            await make_responder("illegal", seed=1)(player, state)
        case "unreadable move":
            await player.send_bytes(UNREADABLE.replace(b"ROOM", room))
        case "unknown room":
            await player.send_bytes(move.replace(room, room[::-1]))
        case "two moves":
            await player.send_bytes(move + move)
        case "garbage and silence":
            await player.send_bytes(b"nonsense < nonsense")
        case "half a packet":
            await player.send_bytes(move[: len(move) // 2])
        case "late":
            await trio.sleep(SOFT_LIMIT + 0.05)
            await player.send_bytes(move)
        case "silent":
            pass
        case "crashes":
            os.abort()
        case "ends":
            os._exit(0)
        case "leaves":
            await player.send_bytes(b"</protocol>")
        case "tries to administrate":
            await player.send_bytes(b'<authenticate password="examplepassword"/>')
            await player.send_move(chosen)
        case _:
            await player.send_move(chosen)


async def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-h", dest="host")
    parser.add_argument("-p", dest="port", type=int)
    parser.add_argument("-r", dest="code")
    given = parser.parse_args()
    number = next_number(given.folder)
    fault = FAULTS[number % len(FAULTS)]
    turn = number // len(FAULTS) % 3  # the number of moves before a fault on turn
    sys.stderr.write(f"fault: {fault}\n")
    sys.stderr.flush()
    commit_before_joining(fault, given.host, given.port)
    taken = take_opponents_seat(given.host, given.port) if fault == "takes the seat" else []
    async with Player.connect(given.host, given.port) as player:
        await player.join_prepared(given.code)
        if fault == "joins and dies":
            os._exit(3)

        moves = 0

        async def answer(player: Player, state: State) -> None:
            nonlocal moves
            moves += 1
            await commit_on_turn(fault if moves > turn else "none", player, state)

        await player.play_with(answer)
    for sock in taken:
        sock.close()


if __name__ == "__main__":
    try:
        trio.run(main)
    except ClientError as error:
        sys.exit(str(error))
