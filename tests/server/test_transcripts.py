"""The recorded conversations with the official servers come out the same with ours, to the byte.

What differs is a defect of the release that we do not have: DEFECTS says where the conversations part, and everything
before that point is the same.
"""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest

from server.config import Config
from server.editions import EDITIONS
from server.listener import Server
from tests.server.transcripts import DifferenceError, Line, Replayer, moved_shapes, read_transcript
from tests.shared import SHARED, needs_shared

HERE = Path(__file__).parent / "recordings"

DEFECTS = {
    # a second forced step while a request is pending asks again, and both answers are played
    "c14b_step": "2.082 admin",
    # resuming while a request is pending shows the position again, asks again and starts a second clock
    "c14c_pause_unpause_pending": "0.040 admin",
    # a forced step before both players are in starts half a game and cuts the administrator off
    "c14d_step_prepared_not_ready": "0.740 p1",
    "d10_step_forced_no_players": "0.002 admin",
}
"""Case of the release 21.4.0 → instant and connection at which ours goes another way; see docs/compatibility.md."""


def recordings(folder: str) -> list[Path]:
    """All cases where the recordings are at hand, else the few that the project carries."""
    root = SHARED / "transcripts" / folder if SHARED else HERE / folder
    return sorted(root.glob("cases/*.txt")) if SHARED else sorted(root.glob("*.txt"))


async def replay(edition_name: str, lines: list[Line], start_piece: str) -> None:
    edition = EDITIONS[edition_name]
    game = edition.game.with_options({"startPiece": start_piece})
    editions = {edition.game_type: dataclasses.replace(edition, game=game)}
    try:
        await Replayer(Server(Config(), io.StringIO(), editions), lines).run()
    except* DifferenceError as group:
        raise group.exceptions[0] from None


def start_pieces(lines: list[Line]) -> list[str]:
    """The recording does not say which stone was drawn: one of those its players laid first, or, if that was wrong,
    one they did not lay."""
    laid = [shape for shape in moved_shapes(lines) if shape.startswith("PENTO_")]
    return list(dict.fromkeys([*laid[:3], "PENTO_L", "PENTO_I"]))


async def differences(edition_name: str, path: Path) -> list[str]:
    """Where ours goes another way, for each start stone that may have been drawn; empty if one of them fits."""
    lines = read_transcript(path)
    found = []
    for start_piece in start_pieces(lines):
        try:
            await replay(edition_name, lines, start_piece)
        except DifferenceError as error:
            found.append(str(error))
        else:
            return []
    return found


@pytest.mark.parametrize("path", recordings("blokus-2021"), ids=lambda path: path.stem)
async def test_cases_of_release_21_4_0(path: Path, autojump_clock: object) -> None:
    found = await differences("blokus-2021-21.4.0", path)
    parting = DEFECTS.get(path.stem)
    if parting is None:
        assert found == []
    else:
        assert [text for text in found if text.startswith(parting)] != [], found


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["whole_game_admin", "whole_game_join"])
async def test_whole_games_of_release_21_4_0(name: str, autojump_clock: object) -> None:
    assert SHARED is not None
    assert await differences("blokus-2021-21.4.0", SHARED / "transcripts" / "blokus-2021" / f"{name}.txt.gz") == []
