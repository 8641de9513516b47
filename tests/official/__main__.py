"""Compares our server with an official one: `python -m tests.official HOST:PORT`.

Holds the conversations of a recording with the official server at HOST:PORT and with our own server, and prints every
difference. `--packet` adds conversations in which a player and a stranger send this packet. `--record FILE` writes what
the official server said; `tests/official/test_official.py` repeats such recordings without that server.

The official server must be an unchanged release, with the usual password, and freshly started. After each step the tool
waits until the official server is idle: it asks on a connection of its own, and goes on when the server has answered
several questions and sent nothing else meanwhile. What our server says plays no part in that.

The releases keep their connections in a list without a lock. If two connections end or begin at the same time, an empty
entry can remain, and from then on every `join` is answered with `joined` and the end of the stream. So conversations
with a `join` are held first, one at a time, and their connections are closed one after another. The releases can also
deadlock when many games begin and end; then the rest of the conversations is not held. The same command, with a freshly
started server, continues a recording.

A conversation that is recorded, or in which the servers differ, is held again. If the official server says something
else then, it is held a third time, with longer waits; the last two have to agree. Otherwise the conversation is listed
as unstable: it is neither recorded nor compared.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import select
import socket
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from spielleiter.server.editions import EDITIONS
from tests.official.conversations import (
    AUTHENTICATE,
    CLOSE,
    CURRENT,
    FIN,
    MOVER,
    PREPARE,
    PROBE,
    RELEASES,
    Conversation,
    Difference,
    Exchange,
    Known,
    NoFirstMoveError,
    Script,
    Step,
    Talk,
    compare,
    is_same_course,
    on_turn,
    read_recording,
    stranger,
    talk_to_ours,
    write_recording,
)

_DRAWS: Final = 200
_QUESTIONS: Final = 3
_PAUSE: Final = 0.2
_HANG: Final = 60.0
_LOGIN: Final = {CURRENT: "<protocol>", "blokus-2021-21.4.0": f"<protocol>{AUTHENTICATE}"}
_QUESTION: Final = {CURRENT: PROBE, "blokus-2021-21.4.0": '<testMode testMode="false"/>'}
_ANSWER: Final = re.compile(rb"</errorpacket>|<testing ")


@dataclass(frozen=True)
class Pace:
    """Seconds between two questions, and those of silence before the next step: after an answer, or without one."""

    pause: float = 0.03
    after_answer: float = 0.1
    without_answer: float = 0.25


class WrongPieceError(Exception):
    """The server has drawn another start piece than the wanted one."""


class BrokenServerError(Exception):
    """The server hangs, or ends the connection of everybody who joins: it has to be started again."""


class Questioner:
    """Asks the server something that changes nothing, on a connection of its own, and waits for the answer."""

    def __init__(self, address: tuple[str, int], edition: str) -> None:
        self._question = _QUESTION[edition].encode()
        self._socket = socket.create_connection(address, _HANG)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(_LOGIN[edition].encode())

    def ask(self) -> None:
        """Ask; raises OSError if the server ends this connection, BrokenServerError if it says nothing for a minute."""
        self._socket.sendall(self._question)
        received = b""
        while _ANSWER.search(received) is None:
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                raise BrokenServerError("the server does not answer questions: it hangs") from None
            if not data:
                raise ConnectionError("the server has ended the connection of the questions")
            received += data

    def close(self) -> None:
        self._socket.close()


class Official:
    """The official server at an address; a context manager that closes the connections of its questions."""

    def __init__(self, address: tuple[str, int], edition: str, pace: Pace) -> None:
        self._address = address
        self._edition = EDITIONS[edition]
        self._pace = pace
        self._questioners: dict[int, Questioner] = {}  # by thread

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._questioners.values():
            each.close()

    def talk(self, conversation: Conversation, start_piece: str = "", wait_factor: int = 1) -> Talk:
        """Hold a conversation; the connections are closed after it.

        The wait after each step is `wait_factor` times as long. With a `start_piece`, games that begin with another one
        are broken off.
        """
        for _ in range(_DRAWS):
            with contextlib.suppress(NoFirstMoveError, WrongPieceError):
                return self._talk(conversation, start_piece, wait_factor)
        raise RuntimeError(f"{_DRAWS} games began with another piece")

    def _talk(self, conversation: Conversation, start_piece: str, wait_factor: int) -> Talk:
        if conversation.is_alone:
            self._fill_open_rooms()
        script = Script(self._edition, conversation)
        exchanges: list[Exchange] = []
        sockets: dict[str, socket.socket] = {}
        try:
            for step in conversation.steps:
                resolved = script.resolve(step)
                if resolved is None:
                    exchanges.append({})
                    continue
                name, data = resolved
                if name not in sockets:
                    sockets[name] = socket.create_connection(self._address)
                    sockets[name].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._act(sockets, name, step, data)
                outcome = self._settle(sockets, step.wait, wait_factor)
                if not exchanges and PREPARE in step.text:  # it always answers, if it does not hang
                    hang = time.monotonic() + _HANG
                    while not outcome[0]:
                        if time.monotonic() > hang:
                            raise BrokenServerError("the server does not answer to a preparation: it hangs")
                        outcome = self._settle(sockets, 0, wait_factor)
                exchanges.append(script.mask(*outcome))
                if start_piece and script.start_piece not in ("", start_piece):
                    raise WrongPieceError
        finally:
            for each in sockets.values():
                each.close()
                if conversation.is_alone:
                    time.sleep(_PAUSE)
        return Talk(conversation, script.start_piece, exchanges)

    def _act(self, sockets: dict[str, socket.socket], name: str, step: Step, data: bytes) -> None:
        try:
            if step.text == FIN:
                sockets[name].shutdown(socket.SHUT_WR)
            elif step.text == CLOSE:
                sockets[name].close()
            else:
                sockets[name].sendall(data)
        except OSError:
            pass  # it has ended, which `_settle` has noticed or will

    def _settle(
        self, sockets: dict[str, socket.socket], wait: float, wait_factor: int
    ) -> tuple[dict[str, bytes], list[str]]:
        """Read until the server has answered several questions in a row and sent nothing else meanwhile.

        If it sends nothing at all, it is asked for a longer time.
        """
        received: dict[str, bytes] = {}
        ended: list[str] = []
        latest = time.monotonic()
        earliest = latest + wait
        answered = 0
        while (
            answered < _QUESTIONS * wait_factor
            or time.monotonic() < earliest
            or time.monotonic()
            < latest + wait_factor * (self._pace.after_answer if received else self._pace.without_answer)
        ):
            self._ask()
            answered += 1
            by_socket = {each: name for name, each in sockets.items() if each.fileno() >= 0}
            ready, _, _ = select.select(list(by_socket), [], [], self._pace.pause)
            for each in ready:
                name = by_socket[each]
                try:
                    data = each.recv(1 << 20)
                except OSError:
                    data = b""
                received[name] = received.get(name, b"") + data
                if not data:
                    ended.append(name)
                    each.close()
                answered, latest = 0, time.monotonic()
        return received, ended

    def _ask(self) -> None:
        """Ask on the connection of this thread, which stays open: the releases end others when one goes."""
        thread = threading.get_ident()
        while True:
            questioner = self._questioners.get(thread)
            if questioner is None:
                self._questioners[thread] = questioner = Questioner(self._address, self._edition.name)
            try:
                return questioner.ask()
            except OSError:  # a release can end a connection because another one has ended
                questioner.close()
                del self._questioners[thread]

    def _fill_open_rooms(self) -> None:
        """Take every free seat, so that the next `join` opens a room."""
        join = Step("x", f'<protocol><join gameType="{self._edition.game_type}"/>')
        has_begun = True
        while has_begun:
            with socket.create_connection(self._address) as connection:
                self._act({"x": connection}, "x", join, join.text.encode())
                received, ended = self._settle({"x": connection}, 0, 3)
            if ended:
                raise BrokenServerError("the server ends every connection that joins")
            has_begun = b"welcome" in received.get("x", b"")
            time.sleep(_PAUSE)


class Comparison:
    """Holds conversations with both servers."""

    def __init__(self, official: Official, edition: str) -> None:
        self.official = official
        self.edition = edition
        self.known: Counter[Known] = Counter()
        self.unstable: list[str] = []

    def compare(self, theirs: Talk) -> Difference | None:
        """Compare what the official server has said with what ours says."""
        ours = talk_to_ours(theirs.conversation, EDITIONS[self.edition], theirs.start_piece or "PENTO_L")
        difference, known = compare(theirs, ours, self.edition)
        self.known.update(known)
        return difference

    def try_once(self, conversation: Conversation, must_repeat: bool = False) -> tuple[Talk | None, Difference | None]:
        """Hold a conversation, and again with longer waits if `must_repeat` or if the servers differ.

        Returns neither a talk nor a difference if the official server contradicts itself twice.
        """
        talk = self.official.talk(conversation)
        if not must_repeat and self.compare(talk) is None:
            return talk, None
        is_random = any(step.peer == MOVER for step in conversation.steps)
        for wait_factor in (1, 3):
            before = talk
            talk = self.official.talk(conversation, before.start_piece if is_random else "", wait_factor)
            if is_same_course(before, talk):
                return talk, self.compare(talk)
        self.unstable.append(conversation.name)
        return None, None


def main(arguments: list[str] | None = None, pace: Pace | None = None) -> int:
    """Run the tool and return its exit code: 1 if there are differences. `pace` replaces its own waiting times."""
    parser = argparse.ArgumentParser(prog="python -m tests.official", description=__doc__)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--edition", choices=RELEASES, default=CURRENT, help="our edition (default: %(default)s)")
    parser.add_argument("--packet", action="append", default=[], help="hold conversations with this packet, too")
    parser.add_argument(
        "--record",
        metavar="FILE",
        type=Path,
        help="write what the official server said; conversations that are in the file are not held again",
    )
    parser.add_argument("--workers", type=int, default=12, help="conversations at a time")
    parser.add_argument("--only", default="", help="conversations whose name begins with this")
    options = parser.parse_args(arguments)
    host, _, port = options.address.rpartition(":")
    recording = Path(__file__).with_name(f"{RELEASES[options.edition]}.jsonl.gz")
    everything = [
        *(talk.conversation for talk in read_recording(recording)),
        *(build(packet) for packet in options.packet for build in (on_turn, stranger)),
    ]
    everything = [each for each in everything if each.name.startswith(options.only)]
    with Official((host, int(port)), options.edition, pace or Pace()) as official:
        return run(official, everything, options)


def run(official: Official, everything: list[Conversation], options: argparse.Namespace) -> int:
    comparison = Comparison(official, options.edition)
    print(f"{len(everything)} conversations", flush=True)
    started = time.monotonic()
    is_begun = options.record is not None and options.record.is_file()
    recorded = {talk.conversation: talk for talk in read_recording(options.record)} if is_begun else {}
    talks: list[Talk] = []
    kinds: dict[str, list[Difference]] = {}
    broken: list[BrokenServerError] = []

    def hold(conversation: Conversation) -> None:
        talk = recorded.get(conversation)
        try:
            if talk is not None:
                difference = comparison.compare(talk)
            elif not broken:
                talk, difference = comparison.try_once(conversation, must_repeat=options.record is not None)
            else:
                return
        except BrokenServerError as error:
            broken.append(error)
            return
        if talk is not None:
            talks.append(talk)
        if difference is not None:
            kinds.setdefault(difference.kind, []).append(difference)

    longest_first = sorted(everything, key=lambda each: -len(each.steps) - sum(step.wait for step in each.steps))
    for each in everything:
        if each.is_alone:
            hold(each)
    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(hold, (each for each in longest_first if not each.is_alone)))
    if options.record is not None:
        write_recording(options.record, talks, comparison.unstable)
    for found in kinds.values():
        print(found[0])
        if len(found) > 1:
            print(f"  ... and {len(found) - 1} more: {', '.join(repr(each.conversation.name) for each in found[1:20])}")
        sys.stdout.flush()
    found_count = sum(map(len, kinds.values()))
    seconds = time.monotonic() - started
    print(f"{len(talks)} conversations, {found_count} differences of {len(kinds)} kinds, {seconds:.0f} s")
    for known, number in comparison.known.most_common():
        print(f"  known, {number} times: {known.place}")
    print(f"  unstable, {len(comparison.unstable)}: {comparison.unstable}")
    if broken:
        print(f"{len(everything) - len(talks) - len(comparison.unstable)} were not held: {broken[0]}; start it again")
    return int(bool(kinds or broken))


if __name__ == "__main__":
    sys.exit(main())
