"""The commands, programs and packets in the READMEs and the documents work as shown."""

from __future__ import annotations

import ast
import json
import random
import re
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from spielleiter.cli.cli import cli
from spielleiter.cli.manual import commands
from spielleiter.game.api import State
from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import Memento, MoveData, MoveRequest, RoomMessage
from spielleiter.server.config import SETTINGS
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


FOREIGN_OPTIONS = frozenset({
    "--add-opens", "--architecture", "--build", "--dashboard-address", "--events", "--kinds", "--level", "--name",
    "--no-dashboard", "--nobook", "--packet", "--player", "--python-version", "--rm", "--survive", "--time",
})  # fmt: skip
"""Options of other programs that documents name."""


def spans(document: str) -> list[str]:
    """Return the pieces of code within the lines of a document."""
    return re.findall(
        r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"^ *```.*?^ *```$", "", read(document), flags=re.DOTALL | re.MULTILINE)
    )


@cache
def own_options() -> tuple[dict[str, set[str]], set[str]]:
    """Return the options of each command by its path, and all of them."""
    by_command = {}
    top = click.Context(cli, info_name="spielleiter")
    for command, context in ((cli, top), *commands(cli, top)):
        options = [each for each in command.params if isinstance(each, click.Option)]
        names = {name for each in options for name in (*each.opts, *each.secondary_opts)}
        by_command[context.command_path] = names | {"--help"}
    by_command["spielleiter serve"] |= {name for each in SETTINGS for name in each.other_options}
    return by_command, set().union(*by_command.values())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_and_options_that_are_named_exist(document: str) -> None:
    by_command, known = own_options()
    wrong = []
    for span in spans(document):
        words = span.partition(" -- ")[0].split()
        if words[0] == "spielleiter":
            named = [word for word in words[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)]
            paths = [" ".join(["spielleiter", *named[:count]]) for count in (2, 1, 0)]
            path = next(path for path in paths if path in by_command)
            if named and path == "spielleiter":
                wrong.append(span)
            allowed = by_command[path]
        elif words[0].startswith("--"):
            allowed = known | FOREIGN_OPTIONS
        else:
            continue  # the command line of another program
        options = {word.partition("=")[0] for word in words if re.match("--[a-z]", word)}
        if not options <= allowed:
            wrong.append(span)
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_files_and_tests_that_are_named_exist(document: str) -> None:
    """Files of this repository, or below `tests/`; a page may show what the files of a new game are called."""
    folders = {path.name for place in (ROOT, ROOT / "tests") for path in place.iterdir() if path.is_dir()}
    wrong = []
    for span in spans(document):
        path, _, test = span.partition("::")
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+\.(?:py|md|toml|js|sh|yml|lock|spec|properties|j2)", path):
            continue
        if path.partition("/")[0] not in folders or re.search(r"nim|sea_horses|X\.md", path):
            continue
        found = [file for file in (ROOT / path, ROOT / "tests" / path) if file.is_file()]
        if not found or (test and f"def {test}(" not in found[0].read_text(encoding="utf-8")):
            wrong.append(span)
    assert wrong == []


PAGES_IN_ENGLISH = ("docs/getting-started.md", "docs/server.md")
READMES = ("README.md", "README.de.md", *PAGES_IN_ENGLISH)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ELSEWHERE = {
    "make serve",  # test_ci.py
    ". .venv/bin/activate",
    "python3 -m venv .venv",  # test_packaging.py
    "spielleiter admin prepare --slot Alice --slot Bob --pause",  # this and the next: test_a_game_in_several_terminals
    "spielleiter admin observe ROOM",
    "spielleiter play --reservation CODE-1",
    "spielleiter play --strategy random --reservation CODE-2",
    "spielleiter admin step ROOM",
    "spielleiter check builtin:greedy",  # tests/contest/test_check.py
    "spielleiter check my-player.zip --html report.html",  # test_the_commands_of_a_page_work_in_order: lektion-4.md
    "spielleiter check mein-spieler.zip --html bericht.html",
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


@pytest.mark.extended
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


@pytest.mark.extended
def test_the_ten_lines_play_a_whole_game(tmp_path: Path) -> None:
    with shell(tmp_path) as (here, server):
        for play in ("python3 tiny.py & spielleiter play", "spielleiter play & python3 tiny.py"):
            assert '" regular="true" reason="T' in here.run(play)
        ended = [json.loads(line) for line in server.log.splitlines() if '"game_ended"' in line]
    assert [each["causes"] for each in ended] == [["REGULAR", "REGULAR"]] * 2
    assert {10} < {points for each in ended for _, points in each["parts"]}


@pytest.mark.extended
def test_the_function_plays_a_whole_game(tmp_path: Path) -> None:
    with shell(tmp_path, seed=1) as (here, server):
        server.add_player("random", seed=1)
        server.wait_for("player_joined")  # so that the game is the same in every run
        output = here.run("python3 my_player.py")
    assert re.fullmatch(r"(?:not )?won \(\d+, \d+\) \n", output)


def test_the_table_of_editions_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "compatibility.md").read_text("utf-8")
    lines = text.partition("\n## Editions\n")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith(("| `swc_", "| | `"))]
    game_type = ""
    for (shown, name, since, follows, _), edition in zip(rows, EDITIONS.values(), strict=True):
        game_type = shown or game_type
        assert (game_type, name, since) == (f"`{edition.game_type}`", f"`{edition.name}`", edition.since or "")
        assert edition.release is None or f"release {edition.release}" in follows


@pytest.mark.parametrize("shape", BLOKUS_2027.rules.start_shapes)
def test_the_ten_lines_know_every_start_piece(shape: Shape) -> None:
    """All four colours place their first piece; then the client skips."""
    (tiny,) = blocks("docs/getting-started.md", "python", "A client in ten lines")
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


@pytest.mark.extended
def test_a_game_in_several_terminals(tmp_path: Path) -> None:
    prepare, observe, first, second, step = (block.text for block in blocks("docs/server.md", "sh", "Administer games"))
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


@pytest.mark.extended
def test_an_administrator_in_python(tmp_path: Path) -> None:
    (script,) = blocks("docs/server.md", "python", "Administer games")
    with shell(tmp_path) as (here, server):
        text = script.text.replace("connect_admin()", f"connect_admin(port={server.port})")
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


PAGES = sorted(f"docs/de/{path.name}" for path in (ROOT / "docs" / "de").glob("*.md"))
INSTALLING = ("python3 -m venv .venv", "pip install")  # test_docker.py builds the wheel and starts what is in it


@pytest.mark.extended
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_in_order(page: str, tmp_path: Path, replay: bytes) -> None:
    (tmp_path / "replays").mkdir()
    (tmp_path / "replays" / "NAME.xml").write_bytes(replay)
    with shell(tmp_path) as (here, server):
        for block in blocks(page, "toml"):
            here.write_tournament(block, "programme.toml")
        for block in blocks(page, "sh"):
            if block.text.startswith(INSTALLING):
                continue
            if block.text.startswith(("spielleiter play", "java", "python3 mein_spieler.py")):
                server.add_player("random")
            output = here.run(block.text)
            assert "Traceback" not in output
            if "spielleiter serve" in block.text:
                assert "server_started" in output
            if "spielleiter league" in block.text:
                assert "is the league" in output


@pytest.mark.extended
def test_the_log_names_the_turn_to_start_from(replay: bytes, tmp_path: Path) -> None:
    """The log names the turn of the replay, as `lektion-2.md` says, also in a game that began at a later turn."""
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
AFTER_A_MOVE = re.compile(r".* turn=\"1\" .*</state>\n    </data>\n  </room>", re.DOTALL)


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


@pytest.fixture
def connect() -> Iterator[Callable[..., Conversation]]:
    """Makes connections to a server whose games begin with PENTO_V, like those in protocol.md."""
    with ExitStack() as stack:
        port = stack.enter_context(background_server(start_piece="PENTO_V")).port

        def new(ids: dict[str, str] | None = None) -> Conversation:
            sock = socket.create_connection(("127.0.0.1", port), timeout=HANG_TIMEOUT)
            return Conversation(stack.enter_context(sock), ids or {})

        yield new


def is_from_server(block: Block) -> bool:
    return "from the server" in block.lead.lower()


def play_block(connection: Conversation, block: Block) -> None:
    if is_from_server(block):
        connection.receive(pattern_of(block.text, connection.ids))
    else:
        connection.send(block.text)


def blocks_of(section: str, *directions: str) -> list[Block]:
    """The XML blocks of the section; their directions must be these."""
    found = blocks("docs/protocol.md", "xml", section)
    assert ["from" if is_from_server(block) else "to" for block in found] == list(directions)
    return found


def test_what_a_client_sees_and_what_a_loss_means(connect: Callable[..., Conversation]) -> None:
    join, joined, start, move, moved = blocks_of("What a client sees", "to", "from", "from", "to", "from")
    skip, refused = blocks_of("What a loss means", "to", "from")
    for rest in ((move, moved), (skip, refused)):
        client = connect()
        play_block(client, join)
        play_block(client, joined)
        play_block(connect(), join)
        for block in (start, *rest):
            play_block(client, block)


def test_the_admin_protocol(connect: Callable[..., Conversation]) -> None:
    prepare, prepared, observe, observed, join_1, join_2, start = blocks_of(
        "The admin protocol", "to", "from", "to", "from", "to", "to", "from"
    )
    move = blocks("docs/protocol.md", "xml", "What a client sees")[3]
    admin = connect()
    for block in (prepare, prepared, observe, observed):
        play_block(admin, block)
    first, second = connect(admin.ids), connect(admin.ids)
    first.send(join_1.text)
    second.send(join_2.text)
    play_block(admin, start)
    admin.send('<step roomId="ROOM"/>')
    first.receive(MOVE_REQUEST)
    first.send(move.text)
    admin.receive(AFTER_A_MOVE)
    admin.send('<pause roomId="ROOM" pause="false"/>')
    admin.receive(re.compile(r".*paused=\"false\"/>\n  </room>.*</state>\n    </data>\n  </room>", re.DOTALL))
    admin.send('<pause roomId="ROOM" pause="true"/>')
    admin.receive(re.compile(r".*paused=\"true\"/>\n  </room>", re.DOTALL))
    admin.send('<cancel roomId="ROOM"/>')
    admin.receive(re.compile(r".*class=\"result\">.*<left roomId=.*/>", re.DOTALL))
    admin.send("<close/>")
    admin.receive(re.compile(r"\n</protocol>"))
    admin.receive_end()
