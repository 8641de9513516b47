"""The examples in the READMEs work as shown.

Every block of commands is run by a real shell, in its own directory, with a real server; `spielleiter` there is the
real command, with the port of that server. Blocks that need more than that are listed in `ELSEWHERE`, with the test
that runs them.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spielleiter.game.api import State
from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import Memento, MoveData, MoveRequest, RoomMessage
from spielleiter.server.editions import EDITIONS
from tests.cli.background import background_server
from tests.documents import ROOT, Block, blocks
from tests.shell import end_of, saved_game, shell
from tests.timeouts import HANG_TIMEOUT

READMES = ("README.md", "README.de.md")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

ELSEWHERE = {
    "make serve": "test_make_serve_and_make_demo, test_makefile.py",
    ". .venv/bin/activate": "test_make_serve_and_make_demo: `make serve` installs the command there",
    "uvx spielleiter demo": "once released; test_packaging.py installs the wheel and starts the command",
    "pipx install spielleiter": "the same",
    "python3 -m venv .venv": "test_the_first_command_works_in_a_checkout, test_packaging.py",
    "docker build -f docker/Dockerfile -t spielleiter .": "test_docker.py",
    "spielleiter play --strategy greedy &": "test_the_first_game_looks_as_shown",
    "#!/usr/bin/env bash": "test_the_script_plays_a_prepared_game",
    "spielleiter admin prepare --slot Alice --slot Bob --pause": "test_a_game_in_several_terminals",
    "spielleiter admin observe ROOM": "the same",
    "spielleiter play --reservation CODE-1": "the same",
    "spielleiter play --strategy random --reservation CODE-2": "the same",
    "spielleiter admin step ROOM": "the same",
    "spielleiter check builtin:greedy": "test_check.py: built-in players are fit",
    "python3 -m zipfile -c spieler.zip start.sh spieler.py": "test_german_pages.py, which runs abgabe.md",
}
"""Blocks by their first line, without a comment."""


def first_line(block: Block) -> str:
    return re.sub(r" +#.*", "", block.text.splitlines()[0])


COMMANDS = [block for name in READMES for language in ("sh", "bash") for block in blocks(name, language)]
RUN = {block.text: block for block in COMMANDS if first_line(block) not in ELSEWHERE}  # without repetitions

# -- commands -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def replay(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A whole game, saved."""
    return saved_game(tmp_path_factory.mktemp("replay"))


@pytest.mark.slow
@pytest.mark.parametrize("block", RUN.values(), ids=str)
def test_commands_work_as_shown(block: Block, tmp_path: Path, replay: bytes) -> None:
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "NAME.xml").write_bytes(replay)
    with shell(tmp_path) as (here, server):
        if "play" in block.text and "&" not in block.text:
            server.add_player("illegal")  # an opponent
        output = here.run(block.text)
    assert "Traceback" not in output
    assert "spielleiter: " not in output
    if "spielleiter serve" in block.text:
        assert "server_started" in output


def masked(text: str) -> list[str]:
    """The sorted lines, without parts that differ from game to game; the second player may be late or not."""
    text = re.sub(r"\b(?:won|lost|a draw)\b", "RESULT", re.sub(r"\d+", "N", UUID.sub("ID", text)))
    return sorted(line for line in text.splitlines() if not line.startswith("waiting for an opponent in room "))


@pytest.mark.slow
def test_the_first_game_looks_as_shown(tmp_path: Path) -> None:
    (play,) = blocks("README.md", "sh", "Play a first game")
    (expected,) = blocks("README.md", "text", "Play a first game")
    with shell(tmp_path) as (here, _):
        assert masked(here.run(play.text)) == masked(expected.text)


@pytest.mark.slow
def test_the_ten_lines_play_a_whole_game(tmp_path: Path) -> None:
    with shell(tmp_path) as (here, server):
        for play in ("python3 tiny.py & spielleiter play", "spielleiter play & python3 tiny.py"):
            assert '" regular="true" reason="T' in here.run(play)
        ended = [json.loads(line) for line in server.log.splitlines() if '"game_ended"' in line]
    assert [each["causes"] for each in ended] == [["REGULAR", "REGULAR"]] * 2
    assert {10} < {points for each in ended for _, points in each["parts"]}


@pytest.mark.slow
def test_the_function_plays_a_whole_game(tmp_path: Path) -> None:
    with shell(tmp_path, seed=1) as (here, server):
        server.add_player("random", seed=1)
        server.wait_for("player_joined")  # so that the game is the same in every run
        output = here.run("python3 my_player.py")
    assert re.fullmatch(r"(?:not )?won \(\d+, \d+\) \n", output)


@pytest.mark.parametrize("shape", BLOKUS_2027.rules.start_shapes)
def test_the_ten_lines_know_every_start_piece(shape: Shape) -> None:
    """All four colours place their first piece; then the client skips."""
    (tiny,) = blocks("README.md", "python", "A client in ten lines")
    functions = ast.Module(ast.parse(tiny.text).body[:3], [])
    names: dict[str, Any] = {}
    exec(compile(functions, "tiny.py", "exec"), names)
    dialect = EDITIONS["blokus-2027"].dialect
    server = Connection(Role.SERVER, dialect)
    server.receive_data(b"<protocol>")
    state: State = BLOKUS_2027.with_options({"startPiece": shape.name}).new_state(random.Random(0))
    for _ in range(5):
        packets = [RoomMessage("room", data) for data in (Memento(state), MoveRequest())]
        position = b"".join(dialect.encode(packet) for packet in packets).decode()
        server.receive_data(names["choose_move"](position[position.index("<state ") :]).encode())
        message = server.next_event()
        assert isinstance(message, RoomMessage)
        assert isinstance(message.data, MoveData)
        assert state.check(message.data.move) is None
        state = state.play(message.data.move)
    assert [state.points(0), state.points(1)] == [(10,), (10,)]


@pytest.mark.slow
def test_a_game_in_several_terminals(tmp_path: Path) -> None:
    prepare, observe, first, second, step = (block.text for block in blocks("README.md", "sh", "Administer games"))
    with shell(tmp_path) as (here, server):
        room, code_1, code_2 = UUID.findall(here.run(prepare))
        observing = here.start(observe.replace("ROOM", room))
        server.wait_for("observer_joined")
        playing = [here.start(first.replace("CODE-1", code_1)), here.start(second.replace("CODE-2", code_2))]
        server.wait_for("game_started")
        here.run(step.replace("ROOM", room))
        outputs = [end_of(each) for each in (observing, *playing)]
        assert '"event": "game_stepped"' in server.log
    assert [each.returncode for each in (observing, *playing)] == [0, 0, 0]
    lines = outputs[0].splitlines()
    assert lines[0] == "turn   0  round  1      0:0  the game begins"
    assert re.match(r"over: (Alice|Bob) wins \d+:\d+$", lines[-1])


@pytest.mark.slow
def test_the_script_plays_a_prepared_game(tmp_path: Path) -> None:
    (script,) = blocks("README.md", "bash", "Administer games")
    with shell(tmp_path) as (here, server):
        output = here.run(script.text)
    assert re.search(r"^\[\[\d+\], ?\[\d+\]\]$", output, re.MULTILINE)
    events = [json.loads(line)["event"] for line in server.log.splitlines()]
    assert [each for each in events if each in {"game_stepped", "pause_changed", "game_ended"}] == [
        "game_stepped",
        "pause_changed",
        "game_ended",
    ]
    assert "command_ignored" not in events


ADMINISTRATORS = {"connect_admin()": "connect_admin(port={})", "AdminClient.connect()": "AdminClient.connect(port={})"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_an_administrator_in_python(number: int, tmp_path: Path) -> None:
    scripts = blocks("README.md", "python", "Administer games")
    (connecting,) = [each for each in ADMINISTRATORS if each in scripts[number].text]
    with shell(tmp_path) as (here, server):
        text = scripts[number].text.replace(connecting, ADMINISTRATORS[connecting].format(server.port))
        (tmp_path / "admin.py").write_text(text, encoding="utf-8")
        watching = here.start("python3 admin.py")
        assert watching.stdout
        code_1, code_2 = watching.stdout.readline().split()
        server.wait_for("observer_joined")
        here.run(f"spielleiter play -s illegal -r {code_1} & spielleiter play -r {code_2}")
        output = end_of(watching)
    assert watching.returncode == 0
    assert [line.partition("(")[0] for line in output.splitlines()] == ["Memento", "ErrorMessage", "Result"]


@pytest.mark.slow
def test_make_serve_and_make_demo(tmp_path: Path) -> None:
    """The real targets, but with the environment of the tests instead of a new one."""
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    environment = os.path.relpath(sys.prefix, ROOT)  # make accepts no path with spaces
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}

    def make(target: str, arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["make", "-o", "setup", target, f"VENV={environment}", f"ARGS={arguments}"],
            cwd=ROOT,
            env=inherited,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    demo = make("demo", "--seed 1")
    output, _ = demo.communicate(timeout=HANG_TIMEOUT)
    assert demo.returncode == 0
    assert output.splitlines()[0].endswith("greedy against random")
    assert re.match(r"(greedy|random) wins \d+:\d+$", output.splitlines()[-1])

    serve = make("serve", "--port 0")
    assert serve.stderr
    assert '"addresses": ["127.0.0.1:' in serve.stderr.readline()
    os.killpg(serve.pid, signal.SIGINT)  # as Ctrl-C does
    _, errors = serve.communicate(timeout=HANG_TIMEOUT)
    assert '"event": "server_stopped"' in errors


def test_the_log_looks_as_shown() -> None:
    (expected,) = blocks("README.md", "text", "Logs")
    with background_server(log_format="console") as server:
        server.add_player("illegal")
        server._log.wait_for("player_joined")  # it has the first seat
        server.run("play")
    for line in expected.text.splitlines():
        assert re.search("^" + re.escape(line).replace("…", ".*") + "$", server.log, re.MULTILINE), line
