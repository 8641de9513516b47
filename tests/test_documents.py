"""The commands, programs and packets in the READMEs and the documents work as shown."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest

from spielleiter.cli.cli import cli
from spielleiter.game.api import State
from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import Memento, MoveData, MoveRequest, RoomMessage
from spielleiter.server.editions import EDITIONS
from tests.cli.background import background_server
from tests.documents import ROOT, Block, blocks, read
from tests.shell import end_of, saved_game, shell
from tests.timeouts import HANG_TIMEOUT

DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))


def shown_commands() -> list[str]:
    """Return the lines in the code blocks of all documents that start with the command `spielleiter`."""
    text = "".join(block.text for document in DOCUMENTS for block in blocks(document)).replace("\\\n", " ")
    return sorted(set(re.findall(r"^ *(?:- )?(spielleiter .*)$", text, re.MULTILINE)))


def parse(line: str) -> None:
    """Parse a line as a shell and click do. Raises click.UsageError."""
    name: str | None
    command: click.Command | None = cli
    context: click.Context | None = None
    filled_in = re.sub(r"\$\(.*?\)|\$\w+", "1", line)
    name, *words = shlex.split(re.split(r"[|&;>]", filled_in)[0], comments=True)
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, info_name=name)
        name, command, words = command.resolve_command(context, words)
    assert command is not None
    for file in (word for word in words if word.endswith(".toml")):  # the command reads it while parsing its options
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text('[[program]]\ncommand = "builtin:first"\n' * 2, encoding="utf-8")
    command.make_context(name, words, parent=context)


def test_the_commands_in_documents_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = shown_commands()
    assert len(lines) > 50
    refused = {}
    for line in lines:
        try:
            parse(line)
        except click.UsageError as error:
            refused[line] = error.format_message()
    assert refused == {}


def test_an_option_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(click.UsageError, match="No such option"):
        parse("spielleiter serve --no-such-option")


READMES = ("README.md", "README.de.md")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ELSEWHERE = {
    "make serve": "test_make_serve_and_make_demo, test_ci.py",
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
    "python3 -m zipfile -c spieler.zip start.sh spieler.py": "test_the_commands_of_a_page_work_in_order: abgabe.md",
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
    first, *others = output.splitlines()
    assert first == "turn 0, last move: None"
    assert [line.partition("(")[0] for line in others] == ["ErrorMessage", "Result"]


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


PAGES = sorted(f"docs/de/{path.name}" for path in (ROOT / "docs" / "de").glob("*.md"))
INSTALLING = "python3 -m venv .venv"  # test_docker.py builds the wheel and starts what is in it


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


TOKEN = re.compile(r"(ROOM|CODE-[12]|^…\n)", re.MULTILINE)
MOVE_REQUEST = re.compile(r".*moveRequest\"/>\n  </room>", re.DOTALL)


def pattern_of(text: str, known: dict[str, str]) -> re.Pattern[str]:
    """A pattern that matches the block; known ids must be equal, others are groups."""
    regex, groups = "", set[str]()
    for token in TOKEN.split(text.removesuffix("\n")):
        name = token.replace("-", "_")
        if token == "…\n":
            regex += r"(?:[^\n]*\n)*?"
        elif not TOKEN.fullmatch(token):
            regex += re.escape(token)
        elif token in known:
            regex += re.escape(known[token])
        else:
            regex += f"(?P={name})" if name in groups else f"(?P<{name}>[0-9a-f-]{{36}})"
            groups.add(name)
    return re.compile(regex if text.startswith("<protocol>") else r"\n" + regex)


@dataclass
class Conversation:
    sock: socket.socket
    ids: dict[str, str] = field(default_factory=dict)
    unread: str = ""

    def send(self, text: str) -> None:
        for name, value in self.ids.items():
            text = text.replace(name, value)
        self.sock.sendall(text.removesuffix("\n").encode())

    def receive(self, wanted: re.Pattern[str]) -> None:
        """Read until `wanted` matches everything that was received, and store the new ids."""
        while not (found := wanted.fullmatch(self.unread)):
            try:
                data = self.sock.recv(65536)
            except TimeoutError:
                data = b""
            assert data, "expected:\n" + wanted.pattern.replace("\\", "") + "\n\ngot:\n" + self.unread
            self.unread += data.decode()
        self.ids |= {name.replace("_", "-"): value for name, value in found.groupdict().items()}
        self.unread = ""

    def receive_end(self) -> None:
        assert (self.unread, self.sock.recv(1)) == ("", b"")


class Server:
    """A server whose games begin with PENTO_V, like those in the README."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: list[socket.socket] = []

    def connect(self, ids: dict[str, str] | None = None) -> Conversation:
        """A new connection; `ids` are the ids that it knows already."""
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=HANG_TIMEOUT)
        self._sockets.append(sock)
        return Conversation(sock, {} if ids is None else ids)

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with background_server(start_piece="PENTO_V") as background:
        found = Server(background.port)
        try:
            yield found
        finally:
            found.close()


def is_from_server(block: Block) -> bool:
    return "from the server" in block.lead.lower()


def play_block(connection: Conversation, block: Block) -> None:
    if is_from_server(block):
        connection.receive(pattern_of(block.text, connection.ids))
    else:
        connection.send(block.text)


def blocks_of(section: str, *directions: str) -> list[Block]:
    """The XML blocks of the section; their directions must be these."""
    found = blocks("README.md", "xml", section)
    assert ["from" if is_from_server(block) else "to" for block in found] == list(directions)
    return found


def join_second(server: Server) -> Conversation:
    (join, *_) = blocks("README.md", "xml", "What a client sees")
    second = server.connect()
    second.send(join.text)
    return second


def test_what_a_client_sees(server: Server) -> None:
    join, joined, start, move, moved = blocks_of("What a client sees", "to", "from", "from", "to", "from")
    client = server.connect()
    play_block(client, join)
    play_block(client, joined)
    join_second(server)
    for block in (start, move, moved):
        play_block(client, block)


def test_what_a_loss_means(server: Server) -> None:
    join, joined, start, *_ = blocks("README.md", "xml", "What a client sees")
    skip, refused = blocks_of("What a loss means", "to", "from")
    client = server.connect()
    play_block(client, join)
    play_block(client, joined)
    join_second(server)
    for block in (start, skip, refused):
        play_block(client, block)


def test_the_admin_protocol(server: Server) -> None:
    (prepare, prepared, observe, observed, join_1, join_2, start, step, stepped, pause, paused, cancel, cancelled,
     again, refused, goodbye, end, _) = blocks_of(
        "The admin protocol",
        "to", "from", "to", "from", "to", "to", "from", "to", "from", "to", "from", "to", "from",
        "to", "from", "to", "from", "to",
    )  # fmt: skip
    move = blocks("README.md", "xml", "What a client sees")[3]
    admin = server.connect()
    for block in (prepare, prepared, observe, observed):
        play_block(admin, block)
    first, second = server.connect(admin.ids), server.connect(admin.ids)
    first.send(join_1.text)
    second.send(join_2.text)
    play_block(admin, start)
    play_block(admin, step)
    first.receive(MOVE_REQUEST)
    first.send(move.text)
    for block in (stepped, pause, paused, cancel, cancelled, again, refused, goodbye, end):
        play_block(admin, block)
    admin.receive_end()


def test_the_score_sheet_of_2021(server: Server) -> None:
    prepare, prepared, _, _, join_1, join_2, *_, score = blocks("README.md", "xml", "The admin protocol")
    (skip, _) = blocks("README.md", "xml", "What a loss means")
    test_mode, score_for_player = score.text.splitlines()
    admin = server.connect()
    admin.send(prepare.text.replace(' pause="true"', "").replace("2027", "2021"))
    play_block(admin, prepared)
    admin.send(test_mode)
    admin.receive(pattern_of('  <testing testMode="true"/>\n', {}))
    first, second = server.connect(admin.ids), server.connect(admin.ids)
    first.send(join_1.text)
    second.send(join_2.text)
    first.receive(re.compile(r".*\.MoveRequest\"/>\n  </room>", re.DOTALL))
    first.send(skip.text.replace("2027", "2021"))
    second.receive(re.compile(r".*</protocol>", re.DOTALL))
    admin.send(score_for_player)
    admin.receive(re.compile(r'\n  <playerScore>\n    <score displayName="Alice" numb.*\n  </playerScore>', re.DOTALL))


def test_other_ways_to_take_a_seat(server: Server) -> None:
    """The packets that the README only mentions in a sentence."""
    by_code, by_room, join_2021 = re.findall(r"`(<join\w* [^`]*/>)`", read("README.md"))
    assert by_code in blocks("README.md", "xml", "The admin protocol")[4].text.replace("CODE-1", "CODE")
    first = server.connect()
    first.send("<protocol>" + join_2021)
    first.receive(pattern_of('<protocol>\n  <joined roomId="ROOM"/>\n', {}))
    second = server.connect(first.ids)
    second.send("<protocol>" + by_room)
    second.receive(
        re.compile(r'<protocol>\n  <joined .*TWO".* startPiece="PENTO_V".*</state>\n    </data>\n  </room>', re.DOTALL)
    )
