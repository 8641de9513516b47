"""Compares rules and wire form with the positions, moves, verdicts and results of an official release.

The lines are those of `python -m tools.season oracle`: positions, moves and results in them are XML as on the wire.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from spielleiter.game.api import IncompleteMoveError
from spielleiter.game.piranhas import PiranhasGame, PiranhasState
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import piranhas_2026
from spielleiter.protocol.dialects.piranhas_2026 import describe_move
from spielleiter.protocol.packet_reader import parse_element
from spielleiter.protocol.writer import typed_element
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS

Line: TypeAlias = dict[str, Any]

DATA: Final = Path(__file__).parent / "piranhas"
_INDENT: Final = "\n    "
_NAMES: Final = ("Eins", "Zwei")
_CRASHES: Final = ("java.lang.", "com.thoughtworks.xstream.")


def read_lines(path: Path) -> Iterator[Line]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


class Checker:
    """Follows the games of a file and counts what it has compared."""

    def __init__(self, edition: str) -> None:
        self.edition = EDITIONS[edition]
        self.dialect: Dialect = self.edition.dialect
        self.state: PiranhasState | None = None
        self.positions = self.games = self.probes = 0
        self.verdicts: set[str] = set()
        self.endings: set[str] = set()

    def read_state(self, text: str) -> PiranhasState:
        memento = self._read(f'<data class="memento">{text}</data>')
        assert isinstance(memento, m.Memento)
        assert isinstance(memento.state, PiranhasState)
        return memento.state

    def write_state(self, state: PiranhasState) -> str:
        return self.dialect.data_body(m.Memento(state), "\n      ").children.lstrip()

    def _read(self, text: str) -> m.RoomData:
        """Read data as a server reads what a client sends."""
        return self.dialect.read_data(parse_element(text), Reading(self.dialect, print, is_from_server=False))

    def check(self, line: Line) -> None:
        """Compare one position, or the end of a game."""
        if line["ply"] == 0:
            game = self.edition.game
            assert isinstance(game, PiranhasGame)
            self.state = self.read_state(line["state"])
        state = self.state
        assert state is not None
        assert self.write_state(state) == line["state"]
        assert self.read_state(line["state"]) == state
        assert (state.turn, "ONE" if state.seat_on_turn == 0 else "TWO") == (line["turn"], line["team"])
        assert [list(state.points(seat)) for seat in (0, 1)] == line["points"]
        if "end" in line:
            self._check_end(state, line)
            return
        assert state.outcome() is None
        self.positions += 1
        moves = [self._written(m.MoveData(move)) for move in state.generate_legal_moves()]
        assert sorted(moves) == sorted(line["moves"])
        for probe in line["probes"]:
            self._check_probe(state, probe)
        played = self._read(line["move"])
        assert isinstance(played, m.MoveData)
        assert self._written(played) == line["move"]
        self.state = state.play(played.move)

    def _written(self, data: m.MoveData) -> str:
        return typed_element("\n", "data", self.dialect.data_body(data, "\n")).replace("\n", "")

    def _check_probe(self, state: PiranhasState, probe: Line) -> None:
        self.probes += 1
        verdict, text = probe["verdict"], probe.get("text")
        self.verdicts.add(verdict)
        data = self._read(probe["move"])
        if isinstance(data, m.UnreadableData):
            assert verdict.startswith("com.thoughtworks.xstream."), (probe, data)
            return
        assert isinstance(data, m.MoveData)
        try:
            mistake = state.check(data.move)
        except IncompleteMoveError:
            assert data.problem is not None
            assert verdict.startswith("java.lang."), probe
            return
        if mistake is None:
            assert verdict == "OK", probe
            after = self.write_state(state.play(data.move))
            assert hashlib.sha256(after.encode()).hexdigest()[:16] == probe["sha"]
            return
        assert verdict.rpartition(".")[2] == mistake.name, probe
        refusal = self.dialect.texts.illegal("Eins", mistake, data.move, state)
        assert refusal.reason == text
        is_own = verdict.startswith("PiranhaMoveMistake.")
        called = mistake.name if is_own else piranhas_2026.PIRANHAS_2026.texts.mistake_texts[mistake]
        what = f"InvalidMoveException(mistake={called}, move={describe_move(data.move)})"
        assert refusal.error == f"Ungueltiger Zug von 'Eins'.\n{what}"

    def _check_end(self, state: PiranhasState, line: Line) -> None:
        self.games += 1
        outcome = state.outcome()
        assert outcome is not None
        self.endings.add(line["reason"])
        assert line["winner"] == (None if outcome.winner is None else ("ONE", "TWO")[outcome.winner])
        result = Ending.by_rules(outcome, self.edition, _NAMES).result(self.edition, state, _NAMES)
        assert typed_element("\n    ", "data", self.dialect.data_body(result, "\n      ")).lstrip() == line["packet"]
        self.state = None


def check_file(path: Path, edition: str) -> Checker:
    checker = Checker(edition)
    for line in read_lines(path):
        checker.check(line)
    return checker
