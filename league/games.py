"""The pairs of games that are to be played, and the games that were.

Invariants: a game is recorded once, or not at all, however often it is reported. The results of a pairing are the sum
of what `_counts` gives for its pairs, at the end of every change. A pair that is void counts for nothing, and a game of
it that is reported later is not recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    ScalarSelect,
    Select,
    String,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import Insert
from sqlalchemy.dialects.sqlite import insert as upsert

from spielleiter.league import log, schema
from spielleiter.league.database import all_rows, columns_of, in_portions, one_row
from spielleiter.league.errors import RefusedError
from spielleiter.league.model import Game, Pair, PairingResult, PairState, PlayedGame, Purpose, Stage
from spielleiter.league.settings import load_settings

MOST_IN_LIST: Final = 500
_MOST_PARAMETERS: Final = 500
_PORTION: Final = 1000
"""Rows that are read at once."""


class Recording(msgspec.Struct, frozen=True):
    """What is kept of a game beside its result. 1 and 2 are the first and second version of the pair."""

    replay: bytes | None
    details: Any
    stderr1: bytes | None
    stderr2: bytes | None


_PAIR: Final = select(*columns_of(Pair, schema.pairs)).where(schema.pairs.c.id == bindparam("id"))


# -- pairs ----------------------------------------------------------------------------------------------------------


def open_pair(
    db: Connection,
    first: int,
    second: int,
    *,
    purpose: Purpose,
    stage: Stage,
    seed: int,
    now: float,
    games: int = 2,
    round: int | None = None,  # noqa: A002 - the field's name
    label: str = "",
) -> Pair:
    """Add a pair of games between two versions that is to be played, and return it."""
    values = {
        "first": first,
        "second": second,
        "purpose": purpose,
        "stage": stage,
        "seed": seed,
        "games": games,
        "round": round,
        "label": label,
        "created_at": now,
        "state": "open",
    }
    pair_id = db.execute(insert(schema.pairs).values(values).returning(schema.pairs.c.id)).scalar_one()
    return get_pair(db, pair_id)


def get_pair(db: Connection, pair_id: int) -> Pair:
    """Return a pair. Raises RefusedError if there is none with this id."""
    pair = one_row(db, Pair, _PAIR, {"id": pair_id})
    if pair is None:
        raise RefusedError("no-such-pair", "Diese Begegnung gibt es nicht.", "There is no such pair of games.")
    return pair


def list_pairs(
    db: Connection,
    *,
    state: PairState | None = None,
    purpose: Purpose | None = None,
    round: int | None = None,  # noqa: A002 - the field's name
) -> list[Pair]:
    """Return the pairs with this state, purpose and round, in the order in which they were opened."""
    pairs = schema.pairs
    query = select(*columns_of(Pair, pairs)).order_by(pairs.c.id)
    for column, wanted in ((pairs.c.state, state), (pairs.c.purpose, purpose), (pairs.c.round, round)):
        if wanted is not None:
            query = query.where(column == wanted)
    return all_rows(db, Pair, query)


def missing_games(db: Connection, pair_id: int) -> list[int]:
    """Return the numbers of the games of an open pair that are not recorded; none for another pair."""
    pair = get_pair(db, pair_id)
    if pair.state != "open":
        return []
    there = set(db.execute(select(schema.games.c.number).where(schema.games.c.pair_id == pair_id)).scalars())
    return [number for number in range(1, pair.games + 1) if number not in there]


def void_pair(db: Connection, pair_id: int, now: float, *, by: str = log.TEACHER) -> None:
    """Let a pair count no more, neither the games that were played nor those that were not.

    Raises RefusedError for a result of a final that has ended, in whose place nothing would be played.
    """
    pair = get_pair(db, pair_id)
    if pair.purpose == "final" and pair.state == "done" and load_settings(db).stage != "final":
        raise RefusedError(
            "wrong-stage",
            "Dieses Finale ist vorbei, sein Ergebnis bleibt. Sie können das ganze Finale wiederholen.",
            "This final is over, and its result stays. The whole final can be repeated.",
        )
    if pair.state != "void":
        _void(db, pair)
        log.note(db, by, "void-pair", now, _title(db, pair))


def void_open_pairs(db: Connection, versions: Sequence[int] | ScalarSelect[int]) -> None:
    """Let the pairs of these versions that are not finished count no more."""
    pairs = schema.pairs
    is_open = (pairs.c.state == "open") & or_(pairs.c.first.in_(versions), pairs.c.second.in_(versions))
    for pair in all_rows(db, Pair, select(*columns_of(Pair, pairs)).where(is_open)):
        _void(db, pair)


def repeat_pair(db: Connection, pair_id: int, now: float) -> Pair:
    """Void a pair and open another one in its place, with the same seed.

    Raises RefusedError, and changes nothing, if the other one would not be played.
    """
    old = get_pair(db, pair_id)
    if load_settings(db).stage == "over":
        raise RefusedError(
            "wrong-stage",
            "Die Liga ist beendet, und nichts wird mehr gespielt. Gehen Sie zuerst zurück in die Übungszeit.",
            "The league has ended, and nothing is played any more. Go back to practice first.",
        )
    columns = schema.versions.c
    sides = select(func.count()).where(columns.id.in_((old.first, old.second)), columns.is_active)
    if db.execute(sides).scalar_one() < 2:
        raise RefusedError(
            "not-playing",
            "Eine dieser beiden Versionen spielt nicht mehr, deshalb geht keine Wiederholung. Die Begegnung lässt sich "
            "nur für ungültig erklären.",
            "One of these two versions plays no more, so the pair cannot be repeated. It can only be declared void.",
        )
    void_pair(db, pair_id, now)
    # in the final it takes the old one's place in its round, and a challenge still counts for nothing
    purpose: Purpose = "repeat" if old.purpose == "league" else old.purpose
    log.note(db, log.TEACHER, "repeat-pair", now, _title(db, old))
    return open_pair(
        db,
        old.first,
        old.second,
        purpose=purpose,
        stage=old.stage,
        seed=old.seed,
        now=now,
        games=old.games,
        round=old.round,
        label=old.label,
    )


def _title(db: Connection, pair: Pair) -> str:
    """Return the labels of both versions."""
    version, team = schema.versions, schema.teams
    source = version.outerjoin(team, team.c.id == version.c.team_id)
    labels = (
        db.execute(select(_label(version, team)).select_from(source).where(version.c.id == each)).scalar_one()
        for each in (pair.first, pair.second)
    )
    return " – ".join(labels)


def _void(db: Connection, pair: Pair) -> None:
    change: Counter[str] = Counter()
    change.subtract(_counts(pair, db.execute(_GAMES_OF_PAIR, {"pair_id": pair.id})))
    _add_to_results(db, pair, change)
    db.execute(update(schema.games).where(schema.games.c.pair_id == pair.id).values(is_void=True))
    db.execute(update(schema.pairs).where(schema.pairs.c.id == pair.id).values(state="void"))


# -- games ----------------------------------------------------------------------------------------------------------


def record_game(db: Connection, game: PlayedGame, now: float) -> int | None:
    """Record a finished game and return its id; None, and nothing is changed, if the pair does not need it.

    That is so if it was recorded before, or if the pair is void. The pair is done with its last game.
    """
    pair = get_pair(db, game.pair_id)
    if pair.state != "open" or not 1 <= game.number <= pair.games:
        return None
    before = db.execute(_GAMES_OF_PAIR, {"pair_id": pair.id}).all()
    if any(each.number == game.number for each in before):
        return None
    teams = {row.id: row.team_id for row in db.execute(_TEAMS_OF, {"first": pair.first, "second": pair.second})}
    values = {name: getattr(game, name) for name in _REPORTED}
    values |= {"first": pair.first, "second": pair.second, "finished_at": now}
    values |= {"team1": teams[pair.first], "team2": teams[pair.second]}
    game_id: int = db.execute(_ADD_GAME, values).scalar_one()
    kept = {name: getattr(game, name) for name in Recording.__struct_fields__}
    db.execute(_ADD_RECORDING, {"game_id": game_id, **kept})
    change = Counter(_counts(pair, [*before, game]))
    change.subtract(_counts(pair, before))
    _add_to_results(db, pair, change)
    if len(before) + 1 == pair.games:
        db.execute(update(schema.pairs).where(schema.pairs.c.id == pair.id).values(state="done"))
    return game_id


# By the points of the first version, in halves.
_OF_PAIR: Final = ("h0", "h1", "h2", "h3", "h4")
_OF_SINGLE: Final = ("s0", "s1", "s2")


def _counts(pair: Pair, games: Iterable[Any]) -> Mapping[str, int]:
    """What a pair with these games adds to the results of its pairing, by column."""
    # the teams choose whom they challenge: that would let them choose their points, and agree on results
    if pair.purpose in {"check", "challenge"} or pair.state == "void":
        return {}
    found: Counter[str] = Counter()
    halves = []
    for game in games:
        if not game.is_counted:
            continue
        halves.append(1 if game.winner is None else 2 - 2 * game.winner)
        found[("losses", "draws", "wins")[halves[-1]]] += 1
        if game.offender is not None:
            found[("faults1", "faults2")[game.offender]] += 1
        found["points1"] += game.points1 or 0
        found["points2"] += game.points2 or 0
    # a pair of more than two games is as many pairs, and maybe a single game
    for start in range(0, len(halves), 2):
        portion = halves[start : start + 2]
        found[(_OF_PAIR if len(portion) > 1 else _OF_SINGLE)[sum(portion)]] += 1
    return found


_MIRRORED: Final = {
    **dict(zip(_OF_PAIR, reversed(_OF_PAIR), strict=True)),
    **dict(zip(_OF_SINGLE, reversed(_OF_SINGLE), strict=True)),
    "wins": "losses",
    "draws": "draws",
    "losses": "wins",
    "faults1": "faults2",
    "faults2": "faults1",
    "points1": "points2",
    "points2": "points1",
}


def _add_to_results(db: Connection, pair: Pair, change: Mapping[str, int]) -> None:
    """Add to the results of a pairing, by column for the first and the second version of `pair`."""
    if any(change.values()):
        is_mirrored = pair.first > pair.second
        values = {name: change.get(_MIRRORED[name] if is_mirrored else name, 0) for name in _MIRRORED}
        first, second = sorted((pair.first, pair.second))
        db.execute(_ADD_RESULT, {"first": first, "second": second, **values})


# The statements of each game are made once: SQLAlchemy takes longer to make them than SQLite to execute them.


def _adding_result() -> Insert:
    statement = upsert(schema.results)
    added = {name: schema.results.c[name] + statement.excluded[name] for name in _MIRRORED}
    return statement.on_conflict_do_update(index_elements=["first", "second"], set_=added)


_REPORTED: Final = tuple(name for name in PlayedGame.__struct_fields__ if name in schema.games.c)
_ADD_RESULT: Final = _adding_result()
_ADD_GAME: Final = insert(schema.games).returning(schema.games.c.id)
_ADD_RECORDING: Final = insert(schema.recordings)
_GAMES_OF_PAIR: Final = select(
    *(schema.games.c[name] for name in ("number", "winner", "is_counted", "offender", "points1", "points2"))
).where(schema.games.c.pair_id == bindparam("pair_id"))
_TEAMS_OF: Final = select(schema.versions.c.id, schema.versions.c.team_id).where(
    schema.versions.c.id.in_((bindparam("first"), bindparam("second")))
)


def pairing_results(db: Connection) -> list[PairingResult]:
    """Return the results of all pairings that have a counted game."""
    return [
        PairingResult(
            row["first"],
            row["second"],
            (row["h0"], row["h1"], row["h2"], row["h3"], row["h4"]),
            (row["s0"], row["s1"], row["s2"]),
            *(row[name] for name in ("wins", "draws", "losses", "faults1", "faults2", "points1", "points2")),
        )
        for row in db.execute(select(schema.results)).mappings()
        if row["wins"] + row["draws"] + row["losses"]
    ]


def recent_faults(db: Connection, version_id: int, limit: int) -> list[str | None]:
    """Return the newest `limit` games of a version, the newest first: its fault as a verdict, or None.

    Games before it was last resumed are left out.
    """
    games, versions = schema.games, schema.versions
    resumed = select(versions.c.faults_after).where(versions.c.id == version_id).scalar_subquery()
    wanted = (games.c.id, games.c.first, games.c.offender, games.c.verdict)
    query = _newest(
        [games.c.first == version_id, games.c.second == version_id],
        [*wanted],
        limit,
        games.c.is_void.is_(False),
        games.c.id > resumed,
    )
    return [
        row.verdict if row.offender is not None and row.offender == (0 if row.first == version_id else 1) else None
        for row in db.execute(query)
    ]


# -- lists of games -------------------------------------------------------------------------------------------------


def list_games(
    db: Connection,
    *,
    team_id: int | None = None,
    version_id: int | None = None,
    purpose: Purpose | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Game]:
    """Return the newest games of all, of a team or of a version, or the newest of those with an id below `before`."""
    games = schema.games
    if version_id is not None:
        conditions = [games.c.first == version_id, games.c.second == version_id]
    elif team_id is not None:
        conditions = [games.c.team1 == team_id, games.c.team2 == team_id]
    else:
        conditions = [games.c.id > 0]
    shared = [] if before is None else [games.c.id < before]
    if purpose is not None:
        of_purpose = select(schema.pairs.c.id).where(schema.pairs.c.purpose == purpose)
        shared.append(games.c.pair_id.in_(of_purpose))
    newest = _newest(conditions, [games.c.id], min(limit, MOST_IN_LIST), *shared)
    ids = list(db.execute(newest).scalars())
    return _games_with(db, ids)


def all_games(db: Connection) -> Iterator[Game]:
    """Yield all games, the oldest first, without having all of them in memory."""
    rows = db.execute(_GAMES.order_by(schema.games.c.id).execution_options(yield_per=_PORTION))
    for row in rows:
        yield Game(*row)


def games_of_pairs(db: Connection, pair_ids: Iterable[int]) -> list[Game]:
    """Return the games of these pairs in the order in which they were finished."""
    ids: list[int] = []
    for portion in in_portions(list(pair_ids), _MOST_PARAMETERS):
        ids += db.execute(select(schema.games.c.id).where(schema.games.c.pair_id.in_(portion))).scalars()
    return sorted(_games_with(db, ids), key=lambda game: game.id)


def get_game(db: Connection, game_id: int) -> Game:
    """Return a game. Raises RefusedError if there is none with this id."""
    found = _games_with(db, [game_id])
    if not found:
        raise RefusedError("no-such-game", "Dieses Spiel gibt es nicht.", "There is no such game.")
    return found[0]


def get_recording(db: Connection, game_id: int) -> Recording | None:
    """Return what is kept of a game; None if nothing is, or no longer."""
    query = select(*columns_of(Recording, schema.recordings)).where(schema.recordings.c.game_id == game_id)
    return one_row(db, Recording, query)


def drop_old_recordings(db: Connection, kept: int, limit: int = 1000) -> int:
    """Drop the recordings of up to `limit` games, except those of the newest `kept`; return how many."""
    newest = db.execute(select(func.max(schema.games.c.id))).scalar_one_or_none() or 0
    old = select(schema.recordings.c.game_id).where(schema.recordings.c.game_id <= newest - kept).limit(limit)
    result = db.execute(delete(schema.recordings).where(schema.recordings.c.game_id.in_(old.scalar_subquery())))
    return result.rowcount


def _newest(conditions: Sequence[Any], columns: Sequence[Any], limit: int, *shared: Any) -> Any:
    """The newest rows that meet one of the conditions, each of which has an index, and all of the shared ones.

    SQLite would read all rows of both to sort them, were they one condition.
    """
    games = schema.games
    if len(conditions) == 1:
        return select(*columns).where(and_(conditions[0], *shared)).order_by(games.c.id.desc()).limit(limit)
    parts = [
        select(select(*columns).where(and_(each, *shared)).order_by(games.c.id.desc()).limit(limit).subquery())
        for each in conditions
    ]
    union = union_all(*parts).subquery()
    return select(union).distinct().order_by(union.c.id.desc()).limit(limit)


def _games_with(db: Connection, ids: Sequence[int]) -> list[Game]:
    """The games with these ids, the newest first."""
    found: list[Game] = []
    for portion in in_portions(ids, _MOST_PARAMETERS):
        found += all_rows(db, Game, _GAMES.where(schema.games.c.id.in_(portion)))
    return sorted(found, key=lambda game: -game.id)


def _label(version: FromClause, team: FromClause) -> ColumnElement[str]:
    """Return team and version as `Version.label`, in SQL."""
    return func.coalesce(team.c.name + " v" + cast(version.c.number, String), version.c.name)


def _games_query() -> Select[Any]:
    games, pairs = schema.games, schema.pairs
    columns: dict[str, Any] = {name: games.c[name] for name in Game.__struct_fields__ if name in games.c}
    source = games.join(pairs, pairs.c.id == games.c.pair_id)
    for number, column in ((1, games.c.first), (2, games.c.second)):
        version, team = schema.versions.alias(f"version{number}"), schema.teams.alias(f"side{number}")
        source = source.join(version, version.c.id == column).outerjoin(team, team.c.id == version.c.team_id)
        columns[f"label{number}"] = _label(version, team).label(f"label{number}")
    columns |= {"purpose": pairs.c.purpose, "round": pairs.c.round}
    return select(*(columns[name] for name in Game.__struct_fields__)).select_from(source)


_GAMES: Final = _games_query()
