"""The recorded conversations with the official servers come out the same with ours, to the byte."""

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

RELEASE_2021 = "blokus-2021-21.4.0"


def _files(folder: str) -> list[Path]:
    return sorted((SHARED / "transcripts" / folder / "cases").glob("*.txt")) if SHARED else []


async def _replay(edition_name: str, lines: list[Line], start_piece: str) -> None:
    edition = EDITIONS[edition_name]
    config = Config(start_piece=start_piece)
    game = edition.game.with_options({"startPiece": start_piece})
    editions = {edition.game_type: dataclasses.replace(edition, game=game)}
    await Replayer(Server(config, io.StringIO(), editions), lines).run()


@needs_shared
@pytest.mark.parametrize("path", _files("blokus-2021"), ids=lambda path: path.stem)
async def test_cases_of_release_21_4_0(path: Path, autojump_clock: object) -> None:
    lines = read_transcript(path)
    differences = []
    for start_piece in dict.fromkeys([*moved_shapes(lines), "PENTO_L", "PENTO_U", "PENTO_I"]):
        if not start_piece.startswith("PENTO_") or start_piece == "PENTO_X":
            continue
        try:
            await _replay(RELEASE_2021, lines, start_piece)
        except* DifferenceError as group:
            differences.append(f"{start_piece}: {group.exceptions[0]}")
        else:
            return
    pytest.fail("\n".join(differences))
