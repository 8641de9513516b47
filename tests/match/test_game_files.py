"""Which files of a game are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from spielleiter.match.game_folder import REPLAY, SERVER_LOG, WIRE_LOG, KeepPolicy, write_replay
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.referee import VERDICT, play_game
from spielleiter.match.verdict import Verdict
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from spielleiter.server.replay import load_starting_states
from tests.match.sample_records import fault, game
from tests.timeouts import HANG_TIMEOUT


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_every_game_that_is_not_regular_counts_as_failed() -> None:
    assert KeepPolicy.FAILED.keeps(fault(1, 0, Verdict.CRASH))
    assert KeepPolicy.FAILED.keeps(game(verdict=Verdict.OVERLOAD, is_counted=False))
    assert not KeepPolicy.FAILED.keeps(game())
    assert KeepPolicy.ALL.keeps(game())
    assert not KeepPolicy.NONE.keeps(fault(1, 0, Verdict.CRASH))


def test_a_kept_replay_can_be_started_from(tmp_path: Path, replay: bytes) -> None:
    name = write_replay(tmp_path, replay)
    assert (tmp_path / name).stat().st_size < len(replay) / 4
    editions = choose_editions({}, {})
    assert load_starting_states(tmp_path / name, 1, {DEFAULT_GAME_TYPE: editions[DEFAULT_GAME_TYPE]})


@pytest.mark.slow
@pytest.mark.parametrize("keep", KeepPolicy)
async def test_a_regular_game_keeps_its_folder_according_to_the_policy(keep: KeepPolicy, tmp_path: Path) -> None:
    setup = MatchSetup(
        entrants=(Entrant("new", "builtin:first"), Entrant("old", "builtin:first")),
        game_type=DEFAULT_GAME_TYPE,
        games=1,
        seed=1,
        run_id=str(tmp_path),
        timeouts=ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT),
        server_options={"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT},
    )
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            record = await play_game(setup, setup.plan()[0], tmp_path, match_server=match_server, keep=keep)
    assert (record.verdict, record.plies > 20) == (Verdict.REGULAR, True)
    left = files_in(tmp_path)
    if keep is KeepPolicy.ALL:
        assert {REPLAY, VERDICT, SERVER_LOG, WIRE_LOG} <= left
        assert (record.folder, record.replay) == ("games/0001", REPLAY)
    else:
        assert not left
        assert (record.folder, record.replay) == ("", None)
