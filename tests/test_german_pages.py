"""The commands on the German pages work as shown, page by page, from top to bottom."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.background import background_server
from tests.documents import ROOT, blocks
from tests.shell import saved_game, shell

PAGES = sorted(f"docs/de/{path.name}" for path in (ROOT / "docs" / "de").glob("*.md"))
INSTALLING = "python3 -m venv .venv"  # test_docker.py builds the wheel and starts what is in it


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A whole game, saved."""
    return saved_game(tmp_path_factory.mktemp("replay"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_in_order(page: str, tmp_path: Path, replay: bytes) -> None:
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "NAME.xml").write_bytes(replay)
    with shell(tmp_path) as (here, server):
        for block in blocks(page, "toml"):
            here.write_tournament(block)
        for block in blocks(page, "sh"):
            if block.text.startswith(INSTALLING):
                continue
            if block.text.startswith(("spielleiter play", "java", "python3 mein_spieler.py")):
                server.add_player("random")
            output = here.run(block.text)
            assert "Traceback" not in output
            if "spielleiter serve" in block.text:
                assert "server_started" in output


LAST_LINE = "    return max(state.generate_legal_moves(), key=lambda move: state.play(move).points(seat))"
SAME_AGAIN = "    return globals().setdefault('first', next(iter(state.generate_legal_moves())))"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (LAST_LINE, r"(?:nicht )?gewonnen \(\d+, \d+\)\n"),
        (SAME_AGAIN, r"nicht gewonnen \(\d+, \d+\)\nSpieler 2: .+\n"),
    ],
)
def test_the_function_plays_and_reports_its_mistake(line: str, expected: str, tmp_path: Path) -> None:
    """The player of `erstes-spiel.md`, as it is and with a strategy that always repeats its first move."""
    with shell(tmp_path, seed=1) as (here, server):
        program = tmp_path / "mein_spieler.py"
        text = program.read_text(encoding="utf-8")
        assert LAST_LINE in text
        program.write_text(text.replace(LAST_LINE, line), encoding="utf-8")
        server.add_player("random", seed=1)
        server.wait_for("player_joined")
        assert re.fullmatch(expected, here.run("python3 mein_spieler.py"))


@pytest.mark.slow
def test_the_log_names_the_turn_to_start_from(replay: bytes, tmp_path: Path) -> None:
    """The log names the turn of the replay, as `warum-verloren.md` says, also in a game that began at a later turn."""
    path = tmp_path / "game.xml"
    path.write_bytes(replay)
    with background_server(load_game_file=path, turn=10) as server:
        server.add_player("illegal")
        server.run("play", "-s", "illegal")
        server.wait_for("game_ended")
        (event,) = (json.loads(line) for line in server.log.splitlines() if '"event": "move_refused"' in line)
    assert (event["ply"], event["turn"]) == (0, 10)
