"""The record of a game: its JSON form, which values are refused, and the columns of faults."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.match.records import GameRecord, RecordError, mirrored
from spielleiter.match.verdict import (
    BAD_MESSAGE_VERDICTS,
    CRASH_VERDICTS,
    ILLEGAL_VERDICTS,
    LEFTOVER_VERDICTS,
    TIMEOUT_VERDICTS,
    UNCOUNTED_VERDICTS,
    VERDICTS,
    Verdict,
)

RECORD = GameRecord(
    game=3,
    pair=2,
    game_type="swc_2021_blokus",
    seed=17,
    start="PENTO_L",
    seats=(1, 0),
    names=("new", "old"),
    verdict=Verdict.REGULAR,
    offender=None,
    reason="",
    winner=0,
    is_counted=True,
    points=(70, 65),
    causes=("REGULAR", "REGULAR"),
    plies=84,
    think_times=((0.01, 0.02), (0.5,)),
    cpu_seconds=(1.5, 2.0),
    wall_seconds=3.25,
    started_at="2026-01-02T03:04:05+00:00",
    folder="games/0003",
    replay="replay.xml.gz",
)

_seconds = st.floats(0, 1e6)
_two_times = st.tuples(st.lists(_seconds, max_size=3).map(tuple), st.lists(_seconds, max_size=3).map(tuple))


@settings(deadline=None, max_examples=50)
@given(
    name=st.text(max_size=20),
    winner=st.none() | st.integers(0, 1),
    points=st.tuples(st.none() | st.integers(), st.none() | st.integers()),
    think_times=_two_times,
    start=st.none() | st.text(max_size=10),
    is_counted=st.booleans(),
)
def test_a_record_survives_json(name: str, **changes: Any) -> None:
    record = dataclasses.replace(RECORD, names=(name, "old"), reason=name, **changes)
    assert GameRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_integers_are_accepted_for_seconds() -> None:
    value = {**RECORD.to_json(), "wall_seconds": 3, "cpu_seconds": [1, 2], "think_times": [[1], []]}
    record = GameRecord.from_json(value)
    assert (record.wall_seconds, record.cpu_seconds) == (3.0, (1.0, 2.0))
    assert [list(times) for times in record.think_times] == [[1.0], []]


HAS_DEFAULT: dict[str, object] = {
    field.name: field.default for field in dataclasses.fields(GameRecord) if field.default is not dataclasses.MISSING
} | {"attempts": ({}, {})}
"""Keys that are missing in journals of earlier versions."""


@pytest.mark.parametrize(
    "key", [field.name for field in dataclasses.fields(GameRecord) if field.name not in HAS_DEFAULT]
)
def test_every_key_is_required(key: str) -> None:
    value = RECORD.to_json()
    del value[key]
    with pytest.raises(RecordError, match=key):
        GameRecord.from_json(value)


@pytest.mark.parametrize("key", HAS_DEFAULT)
def test_a_journal_of_an_earlier_version_can_be_read(key: str) -> None:
    value = RECORD.to_json()
    del value[key]
    assert getattr(GameRecord.from_json(value), key) == HAS_DEFAULT[key]


@pytest.mark.parametrize("key", [field.name for field in dataclasses.fields(GameRecord)])
def test_no_field_accepts_an_object(key: str) -> None:
    with pytest.raises(RecordError):
        GameRecord.from_json({**RECORD.to_json(), key: {}})


@pytest.mark.parametrize(
    "change",
    [
        {"game": True},
        {"wall_seconds": True},
        {"is_counted": 1},
        {"seats": [0]},
        {"seats": [0, 1, 0]},
        {"points": [1]},
        {"think_times": [[1.0], ["x"]]},
        {"cpu_seconds": "ab"},
        {"names": ["one", 2]},
    ],
)
def test_values_of_other_types_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not the record of a game"):
        GameRecord.from_json({**RECORD.to_json(), **change})


@pytest.mark.parametrize("value", [None, 3, [], "record"])
def test_a_record_must_be_an_object(value: Any) -> None:
    with pytest.raises(RecordError):
        GameRecord.from_json(value)


def test_a_draw_is_a_counted_game_without_a_winner() -> None:
    assert not RECORD.is_draw
    assert dataclasses.replace(RECORD, winner=None).is_draw
    assert not dataclasses.replace(RECORD, winner=None, is_counted=False).is_draw


def test_each_fault_belongs_to_one_column() -> None:
    columns = [CRASH_VERDICTS, TIMEOUT_VERDICTS, ILLEGAL_VERDICTS, BAD_MESSAGE_VERDICTS, LEFTOVER_VERDICTS]
    assert sum(len(column) for column in columns) == len(frozenset().union(*columns))
    costless = UNCOUNTED_VERDICTS | {Verdict.REGULAR}
    assert frozenset().union(*columns) == set(VERDICTS) - costless


@given(
    winner=st.none() | st.integers(0, 1),
    offender=st.none() | st.integers(0, 1),
    seats=st.permutations((0, 1)),
    times=_two_times,
    counts=st.tuples(*[st.dictionaries(st.text(max_size=3), st.integers(1, 9), max_size=2)] * 2),
)
def test_the_mirrored_record_is_that_of_the_match_in_the_other_order(
    winner: int | None, offender: int | None, seats: list[int], times: Any, counts: Any
) -> None:
    record = dataclasses.replace(
        RECORD,
        winner=winner,
        offender=offender,
        seats=(seats[0], seats[1]),
        think_times=times,
        attempts=counts,
        remarks=(("one",), ()),
        exit_codes=(1, None),
        program_starts=(0.5, None),
    )
    other = mirrored(record)
    assert mirrored(other) == record
    for field in dataclasses.fields(record):
        own, mirror = getattr(record, field.name), getattr(other, field.name)
        if field.name == "seats":
            # each program, by its name, sits where it sat
            assert [other.names[program] for program in mirror] == [record.names[program] for program in own]
        elif field.name in {"winner", "offender"}:
            named = [
                None if program is None else names[program]
                for program, names in zip((own, mirror), (record.names, other.names), strict=True)
            ]
            assert named[0] == named[1]
        elif isinstance(own, tuple):
            assert mirror == own[::-1]
        else:
            assert mirror == own
