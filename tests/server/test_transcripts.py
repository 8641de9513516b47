"""Our server answers the recorded conversations with the official servers in the same way, byte for byte.

The differences are defects of the release that we do not have, or documented choices. DIVERGENCES says where the
conversations diverge; everything before that point is the same.
"""

from __future__ import annotations

import io
import random
import re
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from spielleiter.common.errors import first_error
from spielleiter.game.hase_und_igel import FieldType, generate_board
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.server.net.fair_queue import WorkMeter
from tests.server.transcripts import (
    DifferenceError,
    Line,
    Replayer,
    Transcript,
    moved_shapes,
    read_transcript,
    with_recorded_start,
)
from tests.shared import SHARED, needs_shared

HERE = Path(__file__).parent / "recordings"

BOARDS = 60
"""The number of boards tried for a case of Hase und Igel whose board the recording does not show."""

BY_THE_KIT = [name for name in EDITIONS if not name.startswith(("blokus-", "hase-und-igel-"))]
"""Editions with recordings of `python -m tools.season record`, in which the same case has the same name."""

DEFECTS = {
    # a reservation of a closed room is answered with `joined`, and then nothing happens
    **dict.fromkeys([f"{name}/leaving_before_the_start" for name in BY_THE_KIT], "0.020 b"),
    # a second forced step while a request is pending requests another move, and both answers are played
    "blokus-2021/c14b_step": "2.082 admin",
    # resuming while a request is pending sends position and request again and starts a second clock
    "blokus-2021/c14c_pause_unpause_pending": "0.040 admin",
    # a forced step before the start starts half a game and disconnects the administrator
    "blokus-2021/c14d_step_prepared_not_ready": "0.740 p1",
    "blokus-2021/d10_step_forced_no_players": "0.002 admin",
    # a reservation of a closed room is answered with `joined`, and then nothing happens
    "blokus-2027/cancel_before_start_no_players": "0.411 a",
    # a step with a pending request sends position and request again and starts a second clock
    "blokus-2027/pause_step_cancel_midgame": "0.819 A",
    "blokus-2027/step_twice_stale_hard_timer": "0.386 A",
    # resuming before the start ends the game
    "blokus-2027/unpause_before_any_joined": "0.003 A",
    # observers get nothing while the game is paused; `cancel` disconnects the administrator without a result
    "hase-und-igel-2018/pause_step_unpause_cancel": "1.794 A",
    # a forced step before the start starts half a game
    "hase-und-igel-2018/step_forced_before_start": "0.002 A",
    # who breaks a rule before the other player has come wins, as does the other one
    "penguins-2023/move_before_the_start": "0.015 a",
}
"""Differences because the release is wrong; see docs/compatibility.md."""

CHOICES = {
    # the release waits for ever after bytes that are no XML
    "blokus-2027/malformed_http": "0.002 c",
    **dict.fromkeys([f"{name}/stranger_http" for name in BY_THE_KIT], "0.003 c"),
    # the releases since 2024 name the soft limit
    **dict.fromkeys([f"{name}/hard_timeout" for name in BY_THE_KIT if name != "penguins-2023"], "10.039"),
    # bytes and requests that cannot be understood are answered with a reason; the release is silent
    "hase-und-igel-2018/auth_unknownroom_observe": "0.403 c",
    "hase-und-igel-2018/auth_unknownroom_step": "0.402 c",
    "hase-und-igel-2018/malformed": "0.001 c",
    "hase-und-igel-2018/prepare_3": "0.403 c",
    "hase-und-igel-2018/room_unknown": "0.002 c",
    "hase-und-igel-2018/unauth_prepare": "0.401 c",
    "hase-und-igel-2018/unknown_gametype_join": "0.001 c",
    "hase-und-igel-2018/unknown_tag": "0.001 c",
    # either attribute may contain the password
    "hase-und-igel-2018/auth_password_attr": "0.001 c",
    # when the peer ends its stream, our server ends its own
    "blokus-2027/nothing": "0.000 c",
    # observers get the position of a paused game, too
    "hase-und-igel-2018/whole_game_admin": "3.505 admin",
    # skipped colours count as turns, as documented; release 21.1.0 does not count them
    "blokus-2021-r1/whole_game_join": "4.260 p1",
    # the release prints the memory address of a request
    "blokus-2027/illegal_xml_moverequest_as_move": "0.035 a",
    # when the observer ends its stream, our server ends its own
    "penguins-2023/leaving_observer_fin": "0.036 A",
    **dict.fromkeys([f"{name}/packet_move_request" for name in BY_THE_KIT], "0.025 a"),
}
"""Differences that documents or users require; see docs/compatibility.md."""

DIVERGENCES = DEFECTS | CHOICES
"""Case → instant and connection of the first difference."""


def case_of(path: Path) -> str:
    """Return the name of a case, without the suffixes of its file."""
    return path.name.partition(".")[0]


def recordings(folder: str) -> list[Path]:
    """Return the cases that the project contains and, if they are available, all others."""
    cases = {case_of(path): path for path in (HERE / folder).glob("*.txt*")}
    if SHARED:
        shared = SHARED / "transcripts" / folder
        cases |= {case_of(path): path for path in shared.glob("cases/*.txt*")}
    return [cases[name] for name in sorted(cases)]


async def replay(edition: Edition, lines: list[Line]) -> None:
    """Raise DifferenceError if our server answers differently.

    A strict edition ends a stream where the release does, but may say why before.
    """
    difference: BaseException | None = None
    try:
        server = Server(Config(), io.StringIO(), {edition.game_type: edition}, WorkMeter(lambda: 0.0, lambda: 0.0))
        may_explain = edition.dialect.is_strict and edition.policy.explains_protocol_errors
        await Replayer(server, lines, may_explain=may_explain).run()
    except* DifferenceError as group:
        # raised after this block: before Python 3.11.4, what an `except*` block raises is wrapped in another group
        difference = group
    if difference is not None:
        raise first_error(difference)


def start_pieces(lines: list[Line]) -> list[str]:
    """Return the pieces that may have been drawn, which the recording does not say.

    It is one that a player placed first, or, if these moves were wrong, one that was not placed.
    """
    placed = [shape for shape in moved_shapes(lines) if shape.startswith("PENTO_")]
    return list(dict.fromkeys([*placed[:3], "PENTO_L", "PENTO_I"]))


def possible_starts(edition: Edition, lines: Transcript) -> list[Edition]:
    """Return the edition with each start that may have been drawn in the recording."""
    if "startPiece" in edition.game.option_names:
        return [edition.with_options({"startPiece": start_piece}) for start_piece in start_pieces(lines)]
    if "board" in edition.game.option_names:
        recorded = recorded_board(lines)
        boards = [recorded] if recorded else [str(generate_board(random.Random(seed))) for seed in range(BOARDS)]
        return [edition.with_options({"board": board}) for board in boards]
    return [with_recorded_start(edition, lines)]


def recorded_board(lines: list[Line]) -> str | None:
    """Return the board of Hase und Igel if the recording shows it; most cases have cut it."""
    for line in lines:
        fields = re.findall(r'<fields index="\d+" type="(\w+)"/>', line.text)
        if fields:
            return "".join(FieldType[name].value for name in fields)
    return None


async def differences(edition: Edition, path: Path, divergence: str | None = None) -> list[str]:
    """Return the differences for each start piece or board that may have been drawn; none if one of them fits.

    A documented `divergence` does not depend on what was drawn: nothing else is tried after it.
    """
    lines = read_transcript(path)
    found = []
    for start in possible_starts(edition, lines):
        try:
            await replay(start, lines)
        except DifferenceError as error:
            found.append(str(error))
            if divergence is not None and found[-1].startswith(divergence):
                break
        else:
            return []
    return found


def _with_policy(name: str, **changes: bool) -> Edition:
    """Return an edition with the policy values in which its release differs from the season's documents."""
    edition = EDITIONS[name]
    return replace(edition, policy=edition.policy.evolve(**changes))


RELEASES = {
    "blokus-2021": EDITIONS["blokus-2021-21.4.0"],
    "blokus-2027": EDITIONS["blokus-2027"],
    "hase-und-igel-2018": _with_policy("hase-und-igel-2018", ends_players_streams=False),
}
"""The edition to compare with the recordings of each folder. A later release's folder has the name of its edition."""
RELEASES |= {name: edition for name, edition in EDITIONS.items() if name not in RELEASES}

_R1 = EDITIONS["blokus-2021-r1"]
WITHOUT_COLOR_FINISH = {_R1.name: _R1.with_options({"gameEnd": "noMovesLeft"})}
"""Release 21.1.0 by edition name, with games that continue after a colour has placed all its pieces."""


def assert_diverges(found: list[str], divergence: str | None) -> None:
    """Check that no difference was found, or only the documented one at `divergence`."""
    if divergence is None:
        assert found == []
    else:
        assert [text for text in found if text.startswith(divergence)] != [], found


CASES = [(folder, path) for folder in RELEASES for path in recordings(folder)]


@pytest.mark.parametrize(("folder", "path"), CASES, ids=[f"{folder}/{case_of(path)}" for folder, path in CASES])
async def test_a_recorded_case_of_the_release(folder: str, path: Path, autojump_clock: object) -> None:
    divergence = DIVERGENCES.get(f"{folder}/{case_of(path)}")
    assert_diverges(await differences(RELEASES[folder], path, divergence), divergence)


WHOLE_GAMES = [
    *product(("blokus-2021", "blokus-2027", "hase-und-igel-2018"), ("whole_game_admin", "whole_game_join")),
    ("blokus-2021-r1", "whole_game_join"),
]


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name"), WHOLE_GAMES)
async def test_a_recorded_game_of_the_release(folder: str, name: str, autojump_clock: object) -> None:
    assert SHARED is not None
    edition = RELEASES.get(folder) or WITHOUT_COLOR_FINISH["blokus-2021-r1"]
    divergence = DIVERGENCES.get(f"{folder}/{name}")
    path = SHARED / "transcripts" / folder / f"{name}.txt.gz"
    assert_diverges(await differences(edition, path, divergence), divergence)


def later_games(name: str) -> list[object]:
    """Return the games that the project contains, and, if they are available, all others."""
    own, shared = HERE / name / "games", SHARED and SHARED / "transcripts" / name / "games"
    paths = {case_of(path): path for folder in (shared, own) if folder for path in folder.glob("*.txt.gz")}
    return [
        pytest.param(
            name, path, marks=pytest.mark.slow if path.parent == own else pytest.mark.extended, id=f"{name}/{case}"
        )
        for case, path in sorted(paths.items())
    ]


@pytest.mark.parametrize(("name", "path"), [game for name in BY_THE_KIT for game in later_games(name)])
async def test_a_recorded_game_of_a_later_release(name: str, path: Path, autojump_clock: object) -> None:
    assert await differences(RELEASES[name], path) == []
