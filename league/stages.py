"""The stages of a league: practice, frozen, final, over; and the final, as a round robin, by the Swiss system or a
knock-out.

Invariants: the rounds and the results of a final follow from its seeding and its recorded games alone, so a final that
was interrupted goes on as if it had not been. A round of a knock-out or a Swiss final begins when the one before it is
decided. Who can no longer play, because it was removed or paused, loses its meetings; in the table, the games that it
has not played count as lost.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Unpack

import msgspec
from sqlalchemy import Connection

from spielleiter.league import games, log, versions
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import CONTEST_POINTS, FinalKind, Game, Pair, Stage, Version
from spielleiter.league.pairing import round_robin
from spielleiter.league.settings import LeagueSettings, change_settings, load_settings
from spielleiter.league.standings import compute_standings
from spielleiter.match.pairings import (
    Encounter,
    Pairing,
    Reason,
    Round,
    default_rounds,
    knock_out,
    knock_out_standings,
    most_rounds,
    swiss,
    swiss_standings,
)
from spielleiter.match.plan import SEED_BITS

MOST_PLAY_OFFS: Final = 3
"""The most play-offs of an even meeting in a knock-out, each a pair of games; then the game's points decide."""
MOST_REPEATS: Final = 3
"""How often a pair of a meeting is played again because a game of it did not count."""


# -- changing the stage -----------------------------------------------------------------------------------------------


def freeze(db: Connection, now: float, *, by: str = log.TEACHER) -> None:
    """End practice: versions are fixed, games go on. Raises RefusedError in another stage."""
    _require_stage(db, "practice")
    _enter(db, "frozen", now, by)


def back_to_practice(db: Connection, now: float) -> None:
    """Let teams upload again; the open games of a final are dropped. Raises RefusedError in practice."""
    if load_settings(db).stage == "practice":
        raise _WRONG_STAGE
    _drop_final(db, now)
    change_settings(db, freeze_at=None)
    _enter(db, "practice", now)


def begin_final(db: Connection, kind: FinalKind, pairs: int, now: float) -> None:
    """Begin the final of all active versions that may play, seeded by their ratings.

    `pairs` is the number of pairs of games in each meeting. Raises RefusedError if fewer than two can play, or if a
    final is being played.
    """
    settings = load_settings(db)
    if settings.stage == "final":
        raise _WRONG_STAGE
    able = {version.id for version in versions.playing_versions(db) if version.team_id is not None}
    table = compute_standings(versions.list_versions(db), games.pairing_results(db), {})
    seeding = tuple(row.version_id for row in table.rows if row.version_id in able)
    if len(seeding) < 2:
        raise RefusedError(
            "too-few",
            "Für ein Finale braucht es mindestens zwei Teams mit einer Version, die spielt.",
            "A final needs two teams at least that have a version that plays.",
        )
    _drop_final(db, now)
    for pair in games.list_pairs(db, state="open"):
        games.void_pair(db, pair.id, now, by=log.LEAGUE)
    newest = max((pair.id for pair in games.list_pairs(db, purpose="final")), default=0)
    change_settings(
        db,
        final_kind=kind,
        final_pairs=max(1, pairs),
        final_seeding=seeding,
        final_after=newest,
        final_fills_gaps=True,
    )
    _enter(db, "final", now, kind=kind)


def end(db: Connection, now: float) -> None:
    """End the league: nothing is played any more. Raises RefusedError if it has ended."""
    if load_settings(db).stage == "over":
        raise _WRONG_STAGE
    _drop_final(db, now)
    _enter(db, "over", now)


def keep_dates(db: Connection, now: float) -> bool:
    """Freeze the league if the date for that has come; return whether it was frozen now."""
    settings = load_settings(db)
    if settings.stage != "practice" or settings.freeze_at is None or now < settings.freeze_at:
        return False
    freeze(db, now, by=log.LEAGUE)
    return True


def continue_final(db: Connection, now: float, chance: random.Random) -> bool:
    """Open the pairs that the final needs next; return whether there are new ones. Without any, it is decided."""
    settings = load_settings(db)
    if settings.stage != "final":
        return False
    state = _state_of(db, settings)
    for number, first, second, label in state.missing:
        games.open_pair(
            db,
            first,
            second,
            purpose="final",
            stage="final",
            seed=chance.getrandbits(SEED_BITS),
            now=now,
            round=number,
            label=label,
        )
    return bool(state.missing)


_WRONG_STAGE: Final = RefusedError(
    "wrong-stage",
    "Das geht im jetzigen Abschnitt der Liga nicht; lade die Seite neu.",
    "This is not possible in the present stage of the league; load the page again.",
)


def _require_stage(db: Connection, stage: Stage) -> None:
    if load_settings(db).stage != stage:
        raise _WRONG_STAGE


def _enter(db: Connection, stage: Stage, now: float, by: str = log.TEACHER, **details: Unpack[log.Details]) -> None:
    change_settings(db, stage=stage)
    log.note(db, by, "enter-stage", now, stage, **details)


def _drop_final(db: Connection, now: float) -> None:
    """Void the open pairs of a final."""
    for pair in games.list_pairs(db, state="open", purpose="final"):
        games.void_pair(db, pair.id, now, by=log.LEAGUE)


# -- the final as the pages show it -----------------------------------------------------------------------------------


class Side(msgspec.Struct, frozen=True):
    """A version that takes part."""

    version_id: int
    team_id: int | None
    name: str


class Meeting(msgspec.Struct, frozen=True):
    """Two versions that meet, with their score; in a knock-out, without the play-offs."""

    first: Side
    second: Side | None
    """None: the first one has no opponent in this round."""
    score1: float
    score2: float
    winner: int | None
    """0 or 1; None: it is drawn, or open."""
    is_done: bool
    pairs: tuple[int, ...] = ()
    """The ids of the pairs, as far as they were opened."""
    decided_by: Reason | None = None
    """Why it is done: the score alone does not say who has won, if it is even or somebody was absent."""


class FinalRound(msgspec.Struct, frozen=True):
    """The meetings of one round."""

    number: int
    title: str
    """As in `match.pairings`, such as ``final``, ``last 16``, ``third place`` or ``round 2``."""
    meetings: tuple[Meeting, ...]


class FinalRow(msgspec.Struct, frozen=True):
    """A version in the table of the final."""

    rank: int
    team_id: int | None
    name: str
    points: float
    """In a round robin, those of the contest for games; by the Swiss system, 1 for a won meeting and ½ for a drawn one;
    in a knock-out, the number of won meetings."""
    games: int
    wins: int
    draws: int
    losses: int


class Bracket(msgspec.Struct, frozen=True):
    """A final: its rounds as far as they are known, and the table."""

    kind: str
    rounds: tuple[FinalRound, ...]
    table: tuple[FinalRow, ...]
    champion: str | None
    """The name of the winner; None while the final is not decided."""


def bracket(db: Connection) -> Bracket | None:
    """Return the final that is being played, or that was played last; None if there was none."""
    settings = load_settings(db)
    if not settings.final_seeding:
        return None
    state = _state_of(db, settings)
    sides = [Side(version.id, version.team_id, version.team_name) for version in state.seeds]
    shown = []
    for each in state.rounds:
        meetings = [
            Meeting(
                sides[encounter.pairing[0]],
                sides[encounter.pairing[1]],
                *state.scores[each.number, encounter.pairing],
                None if encounter.winner is None else encounter.pairing.index(encounter.winner),
                encounter.reason is not None,
                tuple(pair.id for pair in state.pairs[each.number, encounter.pairing]),
                encounter.reason,
            )
            for encounter in each.encounters
        ]
        meetings += [Meeting(sides[index], None, 0.0, 0.0, 0, True) for index in each.byes]
        shown.append(FinalRound(each.number, each.title, tuple(meetings)))
    table = _table_of(settings, state)
    champion = table[0].name if state.is_decided and table else None
    return Bracket(settings.final_kind, tuple(shown), tuple(table), champion)


# -- rounds from what was recorded ------------------------------------------------------------------------------------


class _State:
    """A final as far as it was played. Versions are indices of `seeds`, the one seeded highest first."""

    def __init__(self, seeds: Sequence[Version]) -> None:
        self.seeds = seeds
        self.rounds: list[Round] = []
        self.pairs: dict[tuple[int, Pairing], list[Pair]] = defaultdict(list)
        """By round and pairing: the pairs of the meeting, in the order in which they were opened."""
        self.repeated: set[int] = set()
        """The pairs in whose place another one is played, since a game of theirs did not count."""
        self.scores: dict[tuple[int, Pairing], tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        self.missing: list[tuple[int, int, int, str]] = []
        """Round, versions and label of the pairs that have to be opened now."""
        self.tallies = [[0, 0, 0] for _ in seeds]
        """Won, drawn and lost games."""
        self.points = [0.0 for _ in seeds]
        """The sums of the points of the game itself."""
        self.is_decided = False


def _state_of(db: Connection, settings: LeagueSettings) -> _State:
    by_id = {version.id: version for version in versions.list_versions(db)}
    seeds = [by_id[version] for version in settings.final_seeding if version in by_id]
    able = {version.id for version in versions.playing_versions(db)}
    pairs = [
        pair
        for pair in games.list_pairs(db, purpose="final")
        if pair.state != "void" and pair.id > settings.final_after and pair.round is not None
    ]
    played: dict[int, list[Game]] = defaultdict(list)
    for game in games.games_of_pairs(db, [pair.id for pair in pairs]):
        played[game.pair_id].append(game)
    return _follow(settings, seeds, {seed for seed, version in enumerate(seeds) if version.id in able}, pairs, played)


def _follow(
    settings: LeagueSettings,
    seeds: Sequence[Version],
    able: Collection[int],
    pairs: Sequence[Pair],
    played: Mapping[int, Sequence[Game]],
) -> _State:
    """Go through the rounds as far as they are decided, and find what has to be played next."""
    state = _State(seeds)
    index_of = {version.id: index for index, version in enumerate(seeds)}
    repeats: Counter[tuple[int, Pairing, str]] = Counter()
    for pair in pairs:
        if pair.first in index_of and pair.second in index_of:
            first, second = index_of[pair.first], index_of[pair.second]
            place = pair.round or 0, (min(first, second), max(first, second))
            state.pairs[place].append(pair)
            is_whole = pair.state != "done" or all(game.is_counted for game in played[pair.id])
            if settings.final_fills_gaps and not is_whole:
                repeats[*place, pair.label] += 1
                if repeats[*place, pair.label] <= MOST_REPEATS:
                    state.repeated.add(pair.id)
                    continue
    state.is_decided = True
    for each in _rounds_of(settings, len(seeds)):
        state.rounds.append(each)
        for encounter in each.encounters:
            _decide(state, settings, each.number, encounter, able, played)
            for pair in state.pairs[each.number, encounter.pairing]:
                if pair.id not in state.repeated:
                    _count(state, (index_of[pair.first], index_of[pair.second]), played[pair.id])
            state.is_decided = state.is_decided and encounter.reason is not None
        if not state.is_decided and settings.final_kind != "round-robin":
            break
    return state


def _rounds_of(settings: LeagueSettings, count: int) -> Iterator[Round]:
    seeding = range(count)
    if settings.final_kind == "knock-out":
        yield from knock_out(seeding, has_third_place=True)
    elif settings.final_kind == "swiss":
        yield from swiss(seeding, min(default_rounds(count), most_rounds(count)))
    else:
        numbers = itertools.count(1)
        pairings = round_robin(seeding, {}, 1)
        size = count // 2
        for number, start in enumerate(range(0, len(pairings), size), 1):
            encounters = [Encounter(next(numbers), number, pairing) for pairing in pairings[start : start + size]]
            yield Round(number, f"round {number}", tuple(encounters))


def _count(state: _State, sides: tuple[int, int], played: Sequence[Game]) -> None:
    for game in played:
        if not game.is_counted or game.is_void:
            continue
        for side, index in enumerate(sides):
            state.tallies[index][1 if game.winner is None else 0 if game.winner == side else 2] += 1
            state.points[index] += ((game.points1, game.points2)[side]) or 0


def _decide(
    state: _State,
    settings: LeagueSettings,
    number: int,
    encounter: Encounter,
    able: Collection[int],
    played: Mapping[int, Sequence[Game]],
) -> None:
    """Decide an encounter from its games, or note what has to be opened for it."""
    own = [pair for pair in state.pairs[number, encounter.pairing] if pair.id not in state.repeated]
    first, second = encounter.pairing
    ids = state.seeds[first].id, state.seeds[second].id
    is_knock_out = settings.final_kind == "knock-out"
    matches = [[pair for pair in own if not pair.label]]
    matches += [[pair for pair in own if pair.label == _play_off(number)] for number in range(1, MOST_PLAY_OFFS + 1)]
    difference = 0.0
    for play_off, match in enumerate(matches):
        wanted = 1 if play_off else settings.final_pairs
        score, points = _score(match, ids, played)
        difference += points
        if not play_off:
            encounter.score = state.scores[number, encounter.pairing] = score
        is_finished = len(match) >= wanted and all(pair.state == "done" for pair in match)
        if not is_finished:
            absent = [index for index in encounter.pairing if index not in able]
            if absent:
                encounter.reason = Reason.ABSENCE
                others = [index for index in encounter.pairing if index in able]
                encounter.winner = others[0] if others else first if is_knock_out else None
                if others and settings.final_fills_gaps:
                    unplayed = 2 * wanted - int(sum(score))
                    state.tallies[others[0]][0] += unplayed
                    state.tallies[absent[0]][2] += unplayed
                return
            label = _play_off(play_off) if play_off else ""
            state.missing += [(number, *ids, label)] * (wanted - len(match))
            return
        if score[0] != score[1]:
            encounter.winner = first if score[0] > score[1] else second
            encounter.reason = Reason.PLAY_OFF if play_off else Reason.SCORE
            return
        if not is_knock_out:
            encounter.reason = Reason.DRAWN
            return
    encounter.winner = first if difference >= 0 else second
    encounter.reason = Reason.POINTS if difference else Reason.SEEDING


def _play_off(number: int) -> str:
    return f"play-off {number}"


def _score(
    pairs: Sequence[Pair], versions_of: tuple[int, int], played: Mapping[int, Sequence[Game]]
) -> tuple[tuple[float, float], float]:
    """The score of both versions in these pairs, and the difference of their points in the game itself."""
    scores, difference = [0.0, 0.0], 0.0
    for pair in pairs:
        side = 0 if pair.first == versions_of[0] else 1
        for game in played[pair.id]:
            if not game.is_counted or game.is_void:
                continue
            for number in (0, 1):
                scores[number] += 0.5 if game.winner is None else float(game.winner == (number ^ side))
            sign = -1 if side else 1
            difference += sign * ((game.points1 or 0) - (game.points2 or 0))
    return (scores[0], scores[1]), difference


def _table_of(settings: LeagueSettings, state: _State) -> list[FinalRow]:
    seeding = range(len(state.seeds))
    encounters = [encounter for each in state.rounds for encounter in each.encounters]
    if settings.final_kind == "knock-out":
        ranks = [(placing.first, placing.program) for placing in knock_out_standings(seeding, state.rounds)]
        points: Mapping[int, float] = {
            index: float(sum(encounter.winner == index for encounter in encounters)) for index in seeding
        }
    elif settings.final_kind == "swiss":
        standings = swiss_standings(seeding, state.rounds)
        ranks = [(place, standing.program) for place, standing in enumerate(standings, 1)]
        points = {standing.program: standing.points for standing in standings}
    else:
        points = {
            index: float(sum(map(int.__mul__, CONTEST_POINTS, tally))) for index, tally in enumerate(state.tallies)
        }
        order = sorted(seeding, key=lambda index: (-points[index], -state.points[index], index))
        ranks = list(enumerate(order, 1))
    return [
        FinalRow(
            rank,
            state.seeds[index].team_id,
            state.seeds[index].team_name,
            points[index],
            sum(state.tallies[index]),
            *state.tallies[index],
        )
        for rank, index in ranks
    ]
