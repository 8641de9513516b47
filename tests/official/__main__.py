"""Compares our server with an official one: `python -m tests.official HOST:PORT`.

Holds scripted conversations with the official server at HOST:PORT and with our own server, which it starts itself, and
prints every difference with the shortest conversation that shows it. `--record FILE` writes what the official server
said; `tests/official/test_official.py` repeats such recordings without that server.

The official server must be an unchanged release, with the usual password. Conversations that leave rooms open are held
one at a time. A difference counts only if it shows again when the tool waits much longer for every answer.
"""

from __future__ import annotations

import argparse
import select
import socket
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from spielleiter.server.editions import EDITIONS
from tests.official.conversations import (
    CLOSE,
    CURRENT,
    ENDED,
    FIN,
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
    count_packets,
    scripted,
    talk_to_ours,
    varied,
    whole_game,
    write_recording,
)

_DRAWS: Final = 20
_CONFIRMATIONS: Final = 3
_PAUSE: Final = 0.5


@dataclass(frozen=True)
class Patience:
    """Seconds to wait: for the answers that our server gives to a step, and for others."""

    expected: float
    other: float


QUICK: Final = Patience(1.0, 0.05)
CAREFUL: Final = Patience(6.0, 0.4)


class Official:
    """The official server at an address."""

    def __init__(self, address: tuple[str, int], edition: str) -> None:
        self._address = address
        self._edition = EDITIONS[edition]

    def talk(self, conversation: Conversation, patience: Patience) -> Talk:
        """Hold a conversation; the connections are closed after it."""
        for _ in range(_DRAWS):
            try:
                return self._talk(conversation, patience)
            except NoFirstMoveError:
                pass
        raise RuntimeError(f"{_DRAWS} games began with a piece that fits into no corner")

    def _talk(self, conversation: Conversation, patience: Patience) -> Talk:
        if conversation.is_alone:
            self._fill_open_rooms()
        script = Script(self._edition, conversation)
        ours = talk_to_ours(conversation, self._edition, "PENTO_L")
        exchanges: list[Exchange] = []
        sockets: dict[str, socket.socket] = {}
        try:
            for number, step in enumerate(conversation.steps):
                if script.start_piece not in ("", ours.start_piece):
                    ours = talk_to_ours(conversation, self._edition, script.start_piece)
                resolved = script.resolve(step)
                if resolved is None:
                    exchanges.append({})
                    continue
                name, data = resolved
                if name not in sockets:
                    sockets[name] = socket.create_connection(self._address)
                    sockets[name].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._act(sockets, name, step, data)
                received, ended = self._settle(sockets, ours.exchanges[number], patience, step.wait)
                exchanges.append(script.mask(received, ended))
        finally:
            for each in sockets.values():
                each.close()
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
        self, sockets: dict[str, socket.socket], expected: Exchange, patience: Patience, wait: float
    ) -> tuple[dict[str, bytes], list[str]]:
        """Read until what is expected has come, and nothing else for a while."""
        received: dict[str, bytes] = {}
        ended: list[str] = []
        now = time.monotonic()
        latest, quiet = now + patience.expected, now + max(patience.other, wait)
        while True:
            missing = any(
                (ENDED in packets and name not in ended)
                or count_packets(received.get(name, b"")) < len(packets) - packets.count(ENDED)
                for name, packets in expected.items()
                if name in sockets and (sockets[name].fileno() >= 0 or name in ended)
            )
            left = (max(latest, quiet) if missing else quiet) - time.monotonic()
            if left <= 0:
                return received, ended
            by_socket = {each: name for name, each in sockets.items() if each.fileno() >= 0}
            ready, _, _ = select.select(list(by_socket), [], [], left)
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
            if ready:
                quiet = max(quiet, time.monotonic() + patience.other)

    def _fill_open_rooms(self) -> None:
        """Take every free seat, so that the next `join` opens a room.

        Before that, games of the last conversation must have ended: release 27.0.4 deadlocks if one ends at a `join`.
        """
        time.sleep(_PAUSE)
        join = Step("a", f'<protocol><join gameType="{self._edition.game_type}"/>')
        for _ in range(100):
            sockets = {name: socket.create_connection(self._address) for name in ("a", "b")}
            try:
                self._act(sockets, "a", join, join.text.encode())
                received, _ended = self._settle(sockets, {}, CAREFUL, 0)
                if b"welcome" in received.get("a", b""):
                    continue
                self._act(sockets, "b", join, join.text.encode())
                self._settle(sockets, {}, CAREFUL, 0)
                return
            finally:
                for each in sockets.values():
                    each.close()


class Comparison:
    """Holds conversations with both servers."""

    def __init__(self, official: Official, edition: str, quick: Patience = QUICK, careful: Patience = CAREFUL) -> None:
        self.official = official
        self.edition = edition
        self.quick = quick
        self._careful = careful
        self.known: Counter[Known] = Counter()

    def try_once(self, conversation: Conversation, patience: Patience) -> tuple[Talk, Difference | None]:
        theirs = self.official.talk(conversation, patience)
        ours = talk_to_ours(conversation, EDITIONS[self.edition], theirs.start_piece or "PENTO_L")
        difference, known = compare(theirs, ours, self.edition)
        self.known.update(known)
        return theirs, difference

    def confirm(self, conversation: Conversation) -> tuple[Talk, Difference | None]:
        """Hold a conversation carefully; a difference has to show twice in the same way."""
        talk, difference = self.try_once(conversation, self._careful)
        for _ in range(_CONFIRMATIONS):
            if difference is None:
                break
            before = difference.kind
            talk, difference = self.try_once(conversation, self._careful)
            if difference is not None and difference.kind == before:
                break
        return talk, difference

    def shorten(self, difference: Difference) -> Difference:
        """Return the same kind of difference in a conversation from which no step can be left out."""
        best = difference
        steps = best.conversation.steps[: best.step + 1]
        place = len(steps) - 2
        while place >= 0:
            rest = steps[:place] + steps[place + 1 :]
            found = self.try_once(replace(best.conversation, steps=rest), self.quick)[1]
            if found is not None and found.kind == best.kind:
                best, steps = found, rest[: found.step + 1]
            place = min(place, len(steps) - 1) - 1
        confirmed = self.confirm(best.conversation)[1]
        return best if confirmed is not None and confirmed.kind == best.kind else difference


def main(arguments: list[str] | None = None, patience: Patience | None = None) -> int:
    """Run the tool and return its exit code: 1 if there are differences. `patience` replaces its own waiting times."""
    parser = argparse.ArgumentParser(prog="python -m tests.official", description=__doc__)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--edition", choices=RELEASES, default=CURRENT, help="our edition (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="conversations with varied packets")
    parser.add_argument("--games", type=int, default=10, help="whole games")
    parser.add_argument("--record", metavar="FILE", help="write what the official server said")
    parser.add_argument("--workers", type=int, default=6, help="conversations at a time")
    parser.add_argument("--only", default="", help="conversations whose name begins with this")
    parser.add_argument(
        "--no-shorten", dest="shorten", action="store_false", help="print conversations as they were held"
    )
    options = parser.parse_args(arguments)
    host, _, port = options.address.rpartition(":")
    official = Official((host, int(port)), options.edition)
    comparison = Comparison(official, options.edition, patience or QUICK, patience or CAREFUL)
    everything = [
        each
        for each in chain(
            scripted(options.edition),
            varied(options.edition, options.seed, options.count),
            (whole_game(options.seed * 1000 + number) for number in range(options.games)),
        )
        if each.name.startswith(options.only)
    ]
    print(f"{len(everything)} conversations", flush=True)
    started = time.monotonic()
    talks: list[Talk] = []
    suspects: list[Conversation] = []

    def hold(conversation: Conversation) -> None:
        talk, difference = comparison.try_once(conversation, comparison.quick)
        if difference is None:
            talks.append(talk)
        else:
            suspects.append(conversation)

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(hold, (each for each in everything if not each.is_alone)))
    for each in everything:
        if each.is_alone:
            hold(each)
    print(f"{len(suspects)} to look at again, after {time.monotonic() - started:.0f} s", flush=True)
    kinds: dict[str, list[Difference]] = {}

    def look_again(conversation: Conversation) -> None:
        talk, difference = comparison.confirm(conversation)
        talks.append(talk)
        if difference is not None:
            kinds.setdefault(difference.kind, []).append(difference)

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(look_again, (each for each in suspects if not each.is_alone)))
    for each in suspects:
        if each.is_alone:
            look_again(each)
    for found in kinds.values():
        print(comparison.shorten(found[0]) if options.shorten else found[0])
        if len(found) > 1:
            print(f"  ... and {len(found) - 1} more: {', '.join(repr(each.conversation.name) for each in found[1:20])}")
        sys.stdout.flush()
    if options.record:
        write_recording(options.record, talks)
    found_count = sum(map(len, kinds.values()))
    seconds = time.monotonic() - started
    print(f"{len(everything)} conversations, {found_count} differences of {len(kinds)} kinds, {seconds:.0f} s")
    for known, number in comparison.known.most_common():
        print(f"  known, {number} times: {known.place}")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
