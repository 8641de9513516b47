"""Compares an edition with positions, moves, verdicts and results of the official rule code.

The lines are those of `python -m tools.season oracle`. Positions, moves and results in them are as on the wire. Nothing
here belongs to one season: what is compared is what the dialect reads and writes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from spielleiter.game.api import IncompleteMoveError, State
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Reading
from spielleiter.protocol.packet_reader import parse_element
from spielleiter.protocol.writer import typed_element
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Ending

Line: TypeAlias = dict[str, Any]

NAMES: Final = ("Eins", "Zwei")
"""What the players are called in the results of the lines."""
_UNREADABLE: Final = "com.thoughtworks.xstream."
_CRASH: Final = "java.lang."
_STATE: Final = "\n      "
_DATA: Final = "\n    "


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file of the oracle."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


class Comparison:
    """Follows the games of a file, and counts what it has compared.

    `start` returns the position that a game begins with; by default, it is what the line shows of it. A game with
    something hidden needs more of the line.
    """

    def __init__(self, edition: Edition, start: Callable[[Line], State] | None = None) -> None:
        self.seen: Counter[str] = Counter()
        """How often each verdict and each end of a game was compared, and the positions as `positions`."""
        self._edition = edition
        self._start = start or (lambda line: edition.game.resume(self._position(line["state"])))

    def games(self, lines: Iterator[Line]) -> None:
        """Compare all games in these lines. Raises AssertionError."""
        state: State | None = None
        for line in lines:
            if line["ply"] == 0:
                assert state is None, "the game before has not ended"
                state = self._start(line)
            assert state is not None
            where = f"game {line['game']}, ply {line['ply']}"
            assert self._written(state) == line["state"], where
            assert self._written(self._position(line["state"])) == line["state"], where
            assert [list(state.points(seat)) for seat in (0, 1)] == line["points"], where
            if "end" in line:
                self._compare_end(state, line, where)
                state = None
            else:
                state = self._compare_moves(state, line, where)
        assert state is None, "the last game has not ended"

    def _compare_moves(self, state: State, line: Line, where: str) -> State:
        """Compare legal moves and verdicts, and return the position after the move that was played."""
        assert state.outcome() is None, where
        assert (state.turn, "ONE" if state.seat_on_turn == 0 else "TWO") == (line["turn"], line["team"]), where
        self.seen["positions"] += 1
        legal = [self._data_text(m.MoveData(move)) for move in state.generate_legal_moves()]
        assert len(set(legal)) == len(legal) == line["count"], where
        # the line has only the first ones of very many
        assert set(line["moves"]) <= set(legal), where
        for probe in line["probes"]:
            self._compare_verdict(state, probe, where)
        played = self._read(line["move"])
        assert isinstance(played, m.MoveData), where
        return state.play(played.move)

    def _compare_verdict(self, state: State, probe: Line, where: str) -> None:
        verdict = probe["verdict"]
        self.seen[verdict] += 1
        data = self._read(probe["move"])
        if verdict.startswith(_UNREADABLE):
            assert isinstance(data, m.UnreadableData), (where, probe)
            return
        assert isinstance(data, m.MoveData), (where, probe, data)
        try:
            mistake = state.check(data.move)
        except IncompleteMoveError:
            assert data.problem, (where, probe)
            assert verdict.startswith(_CRASH), (where, probe)
            return
        if mistake is None:
            assert verdict == "OK", (where, probe)
            after = self._written(state.play(data.move))
            assert hashlib.sha256(after.encode()).hexdigest()[:16] == probe["sha"], (where, probe)
        else:
            refusal = self._edition.dialect.texts.illegal(NAMES[0], mistake, data.move, state)
            assert (refusal.reason, verdict != "OK") == (probe["text"], True), (where, probe)

    def _compare_end(self, state: State, line: Line, where: str) -> None:
        outcome = state.outcome()
        assert outcome is not None, where
        self.seen[line["reason"]] += 1
        assert (None if outcome.winner is None else ("ONE", "TWO")[outcome.winner]) == line["winner"], where
        result = Ending.by_rules(outcome, self._edition, NAMES).result(self._edition, state, NAMES)
        body = self._edition.dialect.data_body(result, _STATE)
        assert typed_element(_DATA, "data", body).lstrip() == line["packet"], where

    def _read(self, text: str) -> m.RoomData:
        """Read data as a server reads what a client sends."""
        return self._edition.dialect.read_data(parse_element(text), Reading(self._edition.dialect, lambda _text: None))

    def _position(self, text: str) -> State:
        memento = self._read(f'<data class="memento">{text}</data>')
        assert isinstance(memento, m.Memento), memento
        return memento.state

    def _written(self, state: State) -> str:
        return self._edition.dialect.data_body(m.Memento(state), _STATE).children.lstrip()

    def _data_text(self, data: m.MoveData) -> str:
        return typed_element("\n", "data", self._edition.dialect.data_body(data, "\n")).replace("\n", "")
