"""Whole games by the rules of an official release, as JSON lines: positions, legal moves, verdicts, results."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tools.season.altered_moves import AlteredMoves
from tools.season.rules import Rules

CHOICES = ("careful", "ahead", "random", "ahead", "uneven", "sensible", "careful", "greedy")
"""How moves are chosen, game by game: so that moves are left in the next turn; the best of these by points; any; team
ONE ahead and team TWO sensible; any that the release thinks sensible; the best by points."""
_MOVES_LISTED = 2000
_MOVES_VALUED = 150
_CANDIDATES = 16  # altered moves that are judged in each position
_PROBES = 10  # and how many of them are kept


def play_games(rules: Rules, games: int, seed: int, starts: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Play games, and yield a description of each position and of each end.

    Everything that is drawn follows from `seed`; game n has the start that ``rules.start(seed + n)`` draws. With
    `starts`, which are states as on the wire, the games begin there by turns: for endings that are seldom reached.
    """
    altered = AlteredMoves(random.Random(seed))
    verdicts_seen: Counter[str] = Counter()
    foreign_moves: list[str] = []
    for game in range(games):
        rng = random.Random(f"{seed} {game}")
        if starts:
            rules.load(starts[game % len(starts)])
        else:
            rules.start(seed + game)
        choice = CHOICES[game % len(CHOICES)]
        start: dict[str, Any] = {"seed": seed + game, "choice": choice}
        for ply in range(1000):
            position = rules.position(exact=ply == 0)
            if position["over"]:
                del position["over"]
                yield {"game": game, "end": True, "ply": ply} | position | _without_over(rules.result())
                break
            del position["over"]
            listed = rules.moves(_MOVES_LISTED)
            moves = listed["moves"]
            for move in rng.sample(moves, min(5, len(moves))):
                altered.learn(move)
                foreign_moves.append(move)
            del foreign_moves[:-2000]
            probes = _probes(rules, moves, altered, foreign_moves, verdicts_seen, rng)
            move = _chosen_move(rules, position["team"], moves, choice, rng)
            yield {"game": game, "ply": ply} | start | position | listed | {"probes": probes, "move": move}
            start = {}
            played = rules.play(move)
            if played["verdict"] != "OK":
                raise AssertionError(f"the release lists a move that it refuses: {move} {played}")


def _without_over(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "over"}


def _chosen_move(rules: Rules, team: str, moves: list[str], choice: str, rng: random.Random) -> str:
    if choice == "uneven":
        choice = "ahead" if team == "ONE" else "sensible"
    if choice == "random":
        return rng.choice(moves)
    sensible = rules.sensible_moves() or moves
    if choice == "sensible":
        return rng.choice(sensible)
    if choice == "greedy":
        tried = moves[:_MOVES_VALUED]
    else:
        tried = rng.sample(sensible, min(8, len(sensible))) + rng.sample(moves, min(8, len(moves)))
        counts = rules.foresee(tried)
        tried = [move for move, count in zip(tried, counts, strict=True) if 2 * count >= max(counts)]
    if choice == "careful":
        return rng.choice(tried)
    values = [(one - two if team == "ONE" else two - one) for one, two in rules.values(tried)]
    return rng.choice([move for move, value in zip(tried, values, strict=True) if value == max(values)])


def _probes(
    rules: Rules, moves: list[str], altered: AlteredMoves, foreign: list[str], seen: Counter[str], rng: random.Random
) -> list[dict[str, str]]:
    """Verdicts about moves that are probably not legal: some of each kind, rare kinds rather than usual ones."""
    candidates = [altered.altered(rng.choice(moves)) for _ in range(_CANDIDATES)]
    candidates += rng.sample(foreign, min(_CANDIDATES // 2, len(foreign)))
    candidates = list(dict.fromkeys(candidates))
    judged = [{"move": move} | verdict for move, verdict in zip(candidates, rules.judge(candidates), strict=True)]
    rng.shuffle(judged)
    judged.sort(key=lambda probe: seen[probe["verdict"]])
    here: Counter[str] = Counter()
    kept: list[dict[str, str]] = []
    for probe in judged:
        verdict = probe["verdict"]
        if here[verdict] < 3 and len(kept) < _PROBES:
            here[verdict] += 1
            seen[verdict] += 1
            kept.append(probe)
    return kept
