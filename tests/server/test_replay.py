"""A replay has every position once in the official format, is written completely, and can start a game."""

from __future__ import annotations

import gzip
import os
import random
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

from spielleiter.game.api import State
from spielleiter.game.blokus.moves import SkipMove
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import ErrorMessage, Memento, Result, RoomData, RoomMessage
from spielleiter.server.editions import EDITIONS, choose_editions
from spielleiter.server.replay import (
    ReplayError,
    encode_replay,
    load_starting_states,
    replay_name,
    save_beside,
    save_replay,
)
from tests.protocol.streams import LATEST, all_events, stream_of, whole
from tests.server.room_harness import RoomHarness, first_move

R3 = EDITIONS["blokus-2021-r3"]
NOW = datetime(2026, 11, 21, 9, 5, 7, tzinfo=UTC)


def played(plies: int, names: tuple[str, str] = ("Eins", "Zwei")) -> list[RoomData]:
    """The record of a game so far."""
    state: State = R3.game.with_options({"startPiece": "PENTO_L"}).new_state(random.Random(1))
    record: list[RoomData] = [Memento(state, names)]
    for ply in range(plies):
        state = state.play(next(iter(state.generate_legal_moves())) if ply < 4 else SkipMove(None))
        record.append(Memento(state, names))
    return record


def written(directory: Path, content: bytes, name: str = "replay.xml") -> Path:
    path = directory / name
    path.write_bytes(content)
    return path


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LATEST if name.startswith(("memento", "result", "error_"))])
def test_a_packet_in_the_file_is_that_of_the_wire_without_indentation(name: str) -> None:
    message = next(iter(all_events(Connection(Role.CLIENT, R3.dialect), whole(stream_of(LATEST[name])))))
    assert isinstance(message, RoomMessage)
    assert message.room_id is not None
    assert message.data is not None
    unindented = b"\n".join(line.removeprefix(b"  ") for line in LATEST[name].split(b"\n"))
    content = encode_replay(R3.dialect, message.room_id, [message.data, message.data])
    assert content == b"<protocol>" + unindented * 2 + b"\n</protocol>"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Eins", "Zwei"), "Eins_Zwei"),
        (("", ""), "_"),
        (("Anna Müller", 'a/b\\c:d*e?f"g<h>i|j'), "Anna_Müller_a_b_c_d_e_f_g_h_i_j"),
        (("..", "tab\there"), ".._tab_here"),
        (("Eve\u202etnniweg", "\u2067a\u200fb"), "Eve_tnniweg__a_b"),  # shown in another order than they are
        (("x" * 300, "🎲" * 300), "x" * 90 + "_" + "🎲" * 22),
    ],
)
def test_the_name_of_the_file(names: tuple[str, str], expected: str) -> None:
    name = replay_name("swc_2021_blokus", names, NOW)
    assert name == f"replay_swc_2021_blokus_2026-11-21_09-05-07_{expected}.xml"


def test_a_whole_game_has_every_position_once_and_what_ended_it() -> None:
    harness = RoomHarness()
    room, _, one, two = harness.game()
    assert one.moves(room, first_move(room), "a hint") is None
    two.moves(room, SkipMove(None))
    assert [type(data) for data in room.record] == [Memento, Memento, ErrorMessage, Result]
    content = encode_replay(R3.dialect, room.id, room.record)
    assert content.count(b'\n<room roomId="%s">' % room.id.encode()) == 4
    assert content.count(b"a hint") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_replay_overwrites_nothing_not_even_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    plain = written(tmp_path, b"", "plain")
    folder = tmp_path / "new"
    paths = [save_replay(folder / "a.b.xml", b"%d" % number) for number in range(2)]
    assert [path.name for path in paths] == ["a.b.xml", "a.b_2.xml"]
    assert [path.read_bytes() for path in paths] == [b"0", b"1"]
    assert sorted(folder.iterdir()) == sorted(paths)
    assert paths[0].stat().st_mode == plain.stat().st_mode
    (folder / "a.xml").symlink_to("gone")
    assert save_replay(folder / "a.xml", b"content").name == "a_2.xml"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_the_details_beside_a_replay_are_written_through_no_link(tmp_path: Path) -> None:
    other = written(tmp_path, b"precious", "other")
    (tmp_path / "a.json").symlink_to(other)
    for content in (b"one", b"two"):
        save_beside(tmp_path / "a.xml.gz", content)
        assert (tmp_path / "a.json").read_bytes() == content
    assert other.read_bytes() == b"precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json", "other"]


def test_a_replay_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> NoReturn:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_replay(tmp_path / "a.xml", b"content")
    assert list(tmp_path.iterdir()) == []


# -- starting from one ------------------------------------------------------------------------------------------------


def load(path: Path, turn: int) -> State:
    (name, state) = next(iter(load_starting_states(path, turn, {R3.game_type: R3}).items()))
    assert name == R3.name
    return state


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_game_starts_from_the_first_position_with_at_least_this_turn(tmp_path: Path, pack: type[bytes]) -> None:
    record = played(6)
    path = written(tmp_path, pack(encode_replay(R3.dialect, "room", [record[0], *record[3:]])))
    assert [load(path, turn).turn for turn in range(7)] == [0, 3, 3, 3, 4, 5, 6]


def test_a_game_starts_after_a_number_of_moves(tmp_path: Path) -> None:
    """Where colours that are out are passed over, the turn runs ahead of the moves."""
    record = played(6)
    path = written(tmp_path, encode_replay(R3.dialect, "room", [record[0], *record[3:5], *record[4:]]))

    def load_ply(ply: int) -> State:
        return load_starting_states(path, 0, {R3.game_type: R3}, ply)[R3.name]

    assert [load_ply(ply).turn for ply in range(5)] == [0, 3, 4, 5, 6]
    with pytest.raises(ReplayError, match="ends at ply 4, before ply 5"):
        load_ply(5)


@pytest.mark.parametrize("game_types", [list, lambda types: [*types][::-1]])
def test_the_season_of_a_replay_is_recognized(tmp_path: Path, game_types: Callable[[Iterable[str]], list[str]]) -> None:
    """The first position of one season can also be read in another season's dialect."""
    chosen = choose_editions({}, {})
    editions = {game_type: chosen[game_type] for game_type in game_types(chosen)}
    path = written(tmp_path, encode_replay(R3.dialect, "room", played(3)))
    for turn in (0, 2):
        assert list(load_starting_states(path, turn, editions)) == [R3.name]


def test_the_game_continues_with_the_rules_of_this_server(tmp_path: Path) -> None:
    path = written(tmp_path, encode_replay(R3.dialect, "room", played(2)))
    edition = R3.with_options({"gameEnd": "noMovesLeft"})
    state = load_starting_states(path, 1, {edition.game_type: edition})[edition.name]
    assert not state.rules.ends_with_finished_color  # type: ignore[attr-defined]


def test_a_recorded_conversation_can_be_used_as_a_replay(tmp_path: Path) -> None:
    path = written(tmp_path, b"<protocol>" + LATEST["joined"] + LATEST["memento_mid"] + LATEST["result_regular"])
    assert load(path, 0).turn == load(path, 1).turn > 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no position of a game"),
        (b"<protocol/>", "holds no position of a game"),
        (b"<protocol>" + LATEST["joined"], "holds no position of a game"),
        (b"no replay", "is no replay (The stream has to begin with <protocol>"),
        (b"<protocol>" + LATEST["memento_turn0"].replace(b"PENTO_L", b"HEXO"), "holds no position of a game"),
        (b"<protocol>" + LATEST["memento_turn0"] + b"</wrong>", "is no replay (Not well-formed"),
        (b"<protocol>" + LATEST["memento_turn1"], "ends at turn 1, before turn 2"),
        (b"<protocol>" + LATEST["memento_last_validColors_empty"], "the game is over at turn"),
        (b"missing", "cannot be read (No such file or directory)"),
        (b"\x1f\x8b no gzip", "cannot be read ("),
        (gzip.compress(b"<protocol/>", mtime=0)[:-9], "the compressed file is damaged"),
        (gzip.compress(b"<protocol/>", mtime=0)[:10] + b"\xff" * 20, "the compressed file is damaged"),
    ],
)
def test_an_unusable_replay_is_refused_with_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    path = written(tmp_path, content) if content != b"missing" else tmp_path / "missing.xml"
    with pytest.raises(ReplayError) as caught:
        load_starting_states(path, 2, choose_editions({}, {}))
    assert str(caught.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(caught.value)
