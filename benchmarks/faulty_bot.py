"""A program that commits one fault: `python -m benchmarks.faulty_bot FOLDER -h HOST -p PORT -r CODE`.

It plays legal moves otherwise. Which fault it commits follows from the number of programs that were started with the
same FOLDER before it, so that every fault occurs equally often in a match. The first line on standard error names it.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"

import argparse
import fcntl
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import NoReturn

import trio

from spielleiter.client.client_errors import ClientError
from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
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
    "text and silence",
    "half a packet",
    "late",
    "late beside busy threads",
    "late beside busy processes",
    "late beside short processes",
    "late with a low priority",
    "late after stopping itself",
    "thinks in a thread",
    "thinks in a process",
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


def spin(seconds: float) -> None:
    """Use this much processor time in this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


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


def hold_up(fault: str) -> list[subprocess.Popen[bytes]]:
    """Let time pass before the answer; return the processes that have to be ended after it."""
    script = f"import time; time.sleep({SOFT_LIMIT + 0.05})"
    match fault:
        case "late beside busy threads":
            for _ in range(2):
                threading.Thread(target=spin, args=(60,), daemon=True).start()
            time.sleep(SOFT_LIMIT + 0.05)
        case "late beside busy processes":
            busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
            time.sleep(SOFT_LIMIT + 0.05)
            return busy
        case "late beside short processes":
            busy = [subprocess.Popen(["/bin/sh", "-c", "while :; do /bin/true; done"]) for _ in range(2)]
            time.sleep(SOFT_LIMIT + 0.05)
            return busy
        case "late with a low priority":
            os.nice(19)
            end = time.monotonic() + SOFT_LIMIT + 0.05
            while time.monotonic() < end:
                pass
        case "late after stopping itself":
            with subprocess.Popen([sys.executable, "-c", f"{script}; import os; os.kill({os.getpid()}, 18)"]):
                os.kill(os.getpid(), signal.SIGSTOP)
        case "thinks in a thread":
            thread = threading.Thread(target=spin, args=(SOFT_LIMIT / 2,))
            thread.start()
            thread.join()
        case "thinks in a process":
            script = f"import time\nwhile time.process_time() < {SOFT_LIMIT / 3}: pass"
            subprocess.run([sys.executable, "-c", script], check=True)
        case _:
            pass
    return []


async def commit_on_turn(fault: str, player: Player, state: State) -> None:
    """Commit a fault instead of answering a request; play a move if `fault` is none of that kind."""
    room = str(player.room_id).encode()
    chosen = next(iter(state.generate_legal_moves()))
    move = DEFAULT_DIALECT.encode(RoomMessage(player.room_id, MoveData(chosen)))
    processes = hold_up(fault)
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
        case "text and silence":
            await player.send_bytes(b"nonsense")
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
    for process in processes:
        process.kill()
        process.wait()


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
