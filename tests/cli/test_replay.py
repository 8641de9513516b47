"""`spielleiter replay`: the game in the terminal, as JSON, as files; bad files are one line with exit code 2."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Rotation, Shape
from spielleiter.game.hase_und_igel.board import Board
from spielleiter.game.hase_und_igel.state import HaseUndIgelState
from spielleiter.protocol.messages import Memento
from spielleiter.protocol.thinking import Candidate, Thinking
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import StartError
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.game_details import details_beside
from spielleiter.viewer.game_json import describe_game, describe_thinking
from spielleiter.viewer.replay_files import load_replay
from tests.cli.background import run
from tests.documents import blocks
from tests.shell import shell
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import played, record_of, refused_record, replay_of

BLOKUS = EDITIONS["blokus-2021-r3"]  # where players may send hints


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A replay of four plies with hints and think times."""
    record = record_of(BLOKUS, played(BLOKUS, plies=4))
    last = record[2]
    assert isinstance(last, Memento)
    record[2] = Memento(last.state, last.names, ("a hint", "\u202ered"))
    path = tmp_path / "game.xml"
    path.write_bytes(encode_replay(BLOKUS.dialect, "", record))
    (tmp_path / "game.json").write_text(json.dumps({"think_times": [[0.5, 0.25], [1.5]]}))
    return path


def test_text_has_every_move_the_board_and_the_end(saved: Path) -> None:
    done = run("replay", str(saved), "--text")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"Anton against Berta, {BLOKUS.name}, 4 plies"
    game = describe_game(load_replay(saved))
    for ply, line in enumerate(lines[1:5], 1):
        assert line.split()[0] == str(ply)
        assert game["positions"][ply]["lastMove"]["text"] in line
    assert [line.endswith(" s") for line in lines[1:5]] == [True, True, True, False]
    assert lines[1].endswith("0.500 s")
    assert lines[-1] == game["end"]["words"]["en"]
    board = [line.split("   ")[0] for line in lines if line[:2].strip().isdigit() and " · " in line]
    assert len(board) == 20
    assert "\x1b" not in done.stdout


def test_one_ply_in_the_terminal_with_its_hints(saved: Path) -> None:
    done = run("replay", str(saved), "--text", "--ply", "2")
    lines = done.stdout.splitlines()
    assert lines[1].split()[0] == "2"
    assert lines[2:4] == ["     hint: a hint", r"     hint: \u202ered"]
    assert "turn 2, round 1" in done.stdout
    assert "wins" not in done.stdout
    start = run("replay", str(saved), "--text", "--ply", "0").stdout
    assert "turn 0, round 1" in start
    assert "last:" not in start


def test_one_ply_in_the_terminal_with_what_the_program_thought(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = (Candidate("a\u202e", 2.5), Candidate())
    thought = Thinking(value=-1.5, texts=("one", "two"), numbers={"depth": 3.0}, moves=moves)
    game = {**describe_game(load_replay(saved)), "thinking": [describe_thinking(ply, 0, thought) for ply in (1, 3)]}
    monkeypatch.setattr("spielleiter.viewer.game_json.describe_game", lambda *_: game)
    lines = run("replay", str(saved), "--text", "--ply", "3").stdout.splitlines()
    said = ["value: -1.5", "depth: 3", "thinks: one", "thinks: two", r"candidate: a\u202e: 2.5", "candidate: 2"]
    assert lines[2:8] == [f"     {each}" for each in said]


def test_json_is_the_game_or_one_position(saved: Path) -> None:
    game = json.loads(run("replay", str(saved), "--json").stdout)
    assert game == describe_game(load_replay(saved), details_beside(saved))
    assert game["plies"][0]["thinkSeconds"] == 0.5
    assert json.loads(run("replay", str(saved), "--json", "--ply", "3").stdout) == game["positions"][3]


def test_files_are_written_in_one_call(saved: Path, tmp_path: Path) -> None:
    html, png, gif = (tmp_path / name for name in ("a.html", "a.png", "a.gif"))
    done = run("replay", str(saved), "--html", str(html), "--png", str(png), "--gif", str(gif), "--ply", "1")
    assert (done.exit_code, done.output) == (0, "")
    assert b'id="game"' in html.read_bytes()
    assert Image.open(io.BytesIO(png.read_bytes())).format == "PNG"
    assert getattr(Image.open(io.BytesIO(gif.read_bytes())), "n_frames") == 5  # noqa: B009 - not in its type
    last = tmp_path / "last.png"
    run("replay", str(saved), "--png", str(last))
    assert last.read_bytes() != png.read_bytes()


def test_an_illegal_move_is_told_in_the_terminal(tmp_path: Path) -> None:
    states = played(BLOKUS, plies=4)
    move = SetMove(states[-1].color_on_turn, Shape.MONO, Rotation.NONE, is_flipped=False, x=40, y=2)  # type: ignore[attr-defined]
    path = tmp_path / "a.xml"
    path.write_bytes(encode_replay(BLOKUS.dialect, "", refused_record(BLOKUS, states, move, "Text der Ausgabe")))
    output = run("replay", str(path), "--text").stdout
    assert "the server says: “Text der Ausgabe" in output
    assert "the move broke a rule: The piece is not completely on the board. Cells: (40, 2)" in output


def test_a_game_of_a_match_shows_the_verdict_and_the_last_words(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = {
        "words": {"en": "Berta wins."},
        "reason": "",
        "illegal": None,
        "verdictWords": {"en": "new: crashed"},
        "stderr": ["ValueError"],
    }
    game = {**describe_game(load_replay(saved)), "end": end}
    monkeypatch.setattr("spielleiter.viewer.game_json.describe_game", lambda *_: game)
    lines = run("replay", str(saved), "--text").stdout.splitlines()
    assert lines[-3:] == ["Berta wins.", "the match's verdict: new: crashed", "     stderr: ValueError"]
    monkeypatch.setattr("spielleiter.viewer.game_json.describe_game", lambda *_: {**game, "end": None})
    assert run("replay", str(saved), "--text").stdout.splitlines()[-1] == "the file holds no result"


def test_a_picture_without_pillow_says_what_to_install(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spielleiter.viewer.pictures", None)
    done = run("replay", str(saved), "--gif", str(tmp_path / "out"))
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "need Pillow" in line
    assert line.endswith("install it with: pip install 'spielleiter[pictures]'")
    assert not (tmp_path / "out").exists()
    assert run("replay", str(saved), "--text").exit_code == 0


@pytest.mark.parametrize(
    ("content", "problem", "options"),
    [
        (None, "There is no such file.", ("--no-browser",)),
        (b"hello", "The file is not a replay: it holds no XML", ("--text",)),
        (replay_of("blokus-2027", plies=1)[:-20], "The file is incomplete: its end is missing.", ("--json",)),
        (
            b'<protocol><room><data class="memento"><state/></data></room></protocol>',
            "The replay is of a season that this program does not know",
            ("--png", "x.png"),
        ),
    ],
)
def test_a_bad_file_is_one_line(
    content: bytes | None, problem: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("game.xml").write_bytes(content)
    done = run("replay", "game.xml", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"spielleiter: game.xml: {problem}")
    assert done.stderr.count("\n") == 1
    assert not Path("x.png").exists()


def test_the_moves_that_cost_most_are_in_the_text_the_json_and_the_page(tmp_path: Path) -> None:
    edition = EDITIONS["hase-und-igel-2018"]
    path = tmp_path / "a.xml"
    path.write_bytes(encode_replay(edition.dialect, "", record_of(edition, played(edition)[-9:])))
    html = tmp_path / "a.html"
    done = run("replay", str(path), "--text", "--analysis", "--html", str(html))
    assert (done.exit_code, done.stderr) == (0, "")
    game = json.loads(run("replay", str(path), "--json", "--analysis").stdout)
    moments = game["analysis"]["moments"]
    assert moments
    said = done.stdout.splitlines()
    assert [line[5:] for line in said[-len(moments) :]] == [moment["words"]["en"] for moment in moments]
    assert said[-len(moments) - 1] == game["analysis"]["method"]["en"]
    assert game["analysis"]["method"]["de"].encode() in html.read_bytes()
    without = json.loads(run("replay", str(path), "--json").stdout)
    assert "analysis" not in without
    assert {**without, "analysis": game["analysis"]} == game


def test_the_analysis_of_impossible_positions_is_one_line(tmp_path: Path) -> None:
    edition = EDITIONS["hase-und-igel-2018"]
    state = played(edition, plies=0)[0]
    assert isinstance(state, HaseUndIgelState)
    state = replace(state, board=Board.from_letters("SC" + 100 * "H"))
    path = tmp_path / "a.xml"
    path.write_bytes(encode_replay(edition.dialect, "", [Memento(state)]))
    done = run("replay", str(path), "--json", "--analysis")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "spielleiter: a.xml: The file holds positions that cannot occur in a game.\n"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--analysis",), "--analysis needs --html"),
        (("--analysis", "--json", "--ply", "1"), "--analysis needs --html"),
        (("--ply", "5"), "--ply 5: game.xml has 4 plies, expected a number from 0 to 4"),
        (("--ply", "-1", "--json"), "--ply -1: game.xml has 4 plies, expected a number from 0 to 4"),
        (("--ply", "1", "--gif", "out"), "--ply has no effect on --html and --gif"),
        (("--text", "--json"), "expected --text or --json"),
        (("--html", "./game.xml"), "is the replay itself"),
        (("--gif", "./game.xml"), "is the replay itself"),
    ],
)
def test_misuse_is_one_line_and_writes_nothing(
    options: tuple[str, ...], problem: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    files = {path: path.read_bytes() for path in saved.parent.iterdir()}
    done = run("replay", str(saved), *options)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert problem in done.stderr
    assert {path: path.read_bytes() for path in saved.parent.iterdir()} == files


@pytest.mark.parametrize(
    ("place", "reason"), [("/dev/full", "No space left on device"), ("nowhere/a.png", "No such file or directory")]
)
def test_a_file_that_cannot_be_written_is_one_line(place: str, reason: str, saved: Path) -> None:
    if place == "/dev/full" and not Path(place).exists():
        pytest.skip("this system has no device that is always full")
    done = run("replay", str(saved), "--json", "--png", place)
    assert done.exit_code == 1
    assert done.stderr.startswith("spielleiter: ")
    assert done.stderr.endswith(f"{reason}\n")


@pytest.mark.slow
def test_the_commands_of_the_document_work(tmp_path: Path) -> None:
    content = replay_of("blokus-2027", plies=40)
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "NAME.xml").write_bytes(content)
    (tmp_path / "game.xml.gz").write_bytes(gzip.compress(content))
    (tmp_path / "game.xml").write_bytes(encode_replay(BLOKUS.dialect, "", record_of(BLOKUS, played(BLOKUS)[-4:])))
    with shell(tmp_path) as (here, _):
        opened, exported, analysed = (here.run(block.text) for block in blocks("docs/replays.md", "sh"))
    assert "Anton against Berta, blokus-2027, 40 plies" in opened
    assert (tmp_path / "mistake.png").exists()
    assert "turn 37" in exported
    assert exported.splitlines()[-1].startswith("Niemand gewinnt (")
    assert analysed.splitlines()[-1] == "game.xml: no move stands out"  # in four moves


@pytest.mark.slow
def test_the_page_of_a_real_process_shows_the_game(saved: Path) -> None:
    command = [sys.executable, "-m", "spielleiter", "replay", str(saved), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0]
        site, _, route = address.partition("#")
        assert route == "/replay/game.xml/0"
        with urllib.request.urlopen(f"{site}api/replays/game.xml", timeout=HANG_TIMEOUT) as answer:
            game = json.loads(answer.read())
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_TIMEOUT) == 0
    expected = describe_game(load_replay(saved), details_beside(saved))
    assert game["positions"] == expected["positions"]
    assert game["plies"] == expected["plies"]


@pytest.mark.parametrize("options", [("--no-browser",), ("--ply", "3")])
def test_without_options_the_page_is_served(
    options: tuple[str, ...], saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    async def serve(path: Path, on_listening: Any, ply: int) -> None:
        assert path == saved
        on_listening(f"http://127.0.0.1:1/#/replay/game.xml/{ply}")
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("spielleiter.viewer.web.companion.serve_replay", serve)
    done = run("replay", str(saved), *options)
    assert done.exit_code == 0
    address = f"http://127.0.0.1:1/#/replay/game.xml/{3 if '--ply' in options else 0}"
    assert done.stdout == f"{address} shows game.xml; Ctrl-C ends it\n"
    assert opened == ([] if "--no-browser" in options else [address])


def test_a_page_that_cannot_be_served_is_one_line(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(_path: Path, _on_listening: Any, _ply: int) -> None:
        raise StartError("no port is free")

    monkeypatch.setattr("spielleiter.viewer.web.companion.serve_replay", serve)
    done = run("replay", str(saved))
    assert (done.exit_code, done.stderr) == (1, "spielleiter: no port is free\n")
