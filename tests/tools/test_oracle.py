"""The lines of an oracle: every game from its start to its end, with moves, verdicts and the result."""

from __future__ import annotations

from typing import Any

from tools.season.oracle import CHOICES, play_games
from tools.season.rules import Rules


class Nim(Rules):
    """A heap from which each team takes one to three; who takes the last one wins. It answers as a release does."""

    def __init__(self) -> None:
        self.heap = 0
        self.turn = 0

    def ask(self, *words: str) -> dict[str, Any]:
        match words:
            case ["start", seed]:
                self.heap, self.turn = 8 + int(seed) % 5, 0
                return {"game": "nim"}
            case ["load", state]:
                self.heap, self.turn = map(int, state.split('"')[1::2])
                return {}
            case ["position", *exact]:
                team = "ONE" if self.turn % 2 == 0 else "TWO"
                place: dict[str, Any] = {"turn": self.turn, "team": team, "over": self.heap == 0}
                place |= {"points": [[0], [0]], "state": f'<state heap="{self.heap}" turn="{self.turn}"/>'}
                return place | {"exact": "<sc.Nim/>"} if exact else place
            case ["moves", _]:
                moves = self.legal()
                return {"count": len(moves), "moves": moves, "sha": "0"}
            case ["sensible"]:
                return {"moves": self.legal()[:2]}
            case ["values", *moves]:
                return {"answers": [(index, 0) for index, _ in enumerate(moves)]}
            case ["foresee", *moves]:
                return {"answers": [index for index, _ in enumerate(moves)]}
            case ["judge", *moves]:
                known = self.legal()
                return {"answers": [{"verdict": "OK" if move in known else "Mistake.NO"} for move in moves]}
            case ["play", move]:
                assert move in self.legal()
                self.heap -= int(move.split('"')[3])
                self.turn += 1
                return {"verdict": "OK"}
            case ["result"]:
                return {
                    "over": True,
                    "winner": "ONE" if self.turn % 2 else "TWO",
                    "reason": "LAST",
                    "packet": "<data/>",
                }
        raise AssertionError(words)

    def legal(self) -> list[str]:
        return [f'<data class="move"><take count="{count}"/></data>' for count in (1, 2, 3) if count <= self.heap]


def test_each_game_is_played_from_its_start_to_its_end() -> None:
    games = len(CHOICES)
    lines = list(play_games(Nim(), games, 100))
    ends = [line for line in lines if line.get("end")]
    assert [line["game"] for line in ends] == list(range(games))
    for game in range(games):
        *positions, end = [line for line in lines if line["game"] == game]
        assert [line["ply"] for line in positions] == list(range(end["ply"]))
        assert (positions[0]["seed"], positions[0]["choice"]) == (100 + game, CHOICES[game])
        assert "exact" in positions[0]
        assert "seed" not in positions[1]
        assert all(line["move"] in line["moves"] for line in positions)
        assert {"winner", "reason", "packet", "state"} <= end.keys()


def test_wrong_moves_are_judged_beside_the_legal_ones() -> None:
    verdicts = {probe["verdict"] for line in play_games(Nim(), 3, 0) for probe in line.get("probes", [])}
    assert verdicts == {"OK", "Mistake.NO"}


def test_games_can_begin_with_given_states() -> None:
    starts = ['<state heap="1" turn="5"/>', '<state heap="0" turn="6"/>']
    lines = list(play_games(Nim(), 3, 0, starts))
    assert [(line["game"], line["turn"], "end" in line) for line in lines] == [
        (0, 5, False),
        (0, 6, True),
        (1, 6, True),
        (2, 5, False),
        (2, 6, True),
    ]


def test_the_same_seed_plays_the_same_games() -> None:
    assert list(play_games(Nim(), 3, 7)) == list(play_games(Nim(), 3, 7))
