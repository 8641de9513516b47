"""`spielleiter play`: games against a real server and with a GTP engine, output, exit codes and errors."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.game.blokus.state import BlokusState
from spielleiter.server.editions import EDITIONS
from tests.cli.background import END, BackgroundServer, background_server, run, scripted_server
from tests.interpreter import PYTHON
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/players/blokus_engine.py"
ENGINE = f"{PYTHON} {shlex.quote(str(PROGRAM))}"
LONG_TIMEOUT = ("--engine-timeout", str(HANG_TIMEOUT))
PENTOBI = "pentobi-gtp"
BLOKUS = ("blokus-2027", "blokus-2021-r3")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_room_goes_to_standard_error_and_the_outcome_to_standard_output(form: list[str]) -> None:
    with background_server() as server:
        server.add_player("illegal")
        result = server.run("play", *form)
        (room,) = {event["room"] for event in map(json.loads, server.log.splitlines()) if "room" in event}
    announced, start = (line for line in result.stderr.splitlines() if not line.startswith("waiting "))
    assert announced == f"room {room}"
    # either player may be the first one
    assert start.removeprefix("the game begins: you are player ") in {"ONE (BLUE, RED)", "TWO (YELLOW, GREEN)"}
    assert len(result.stdout.splitlines()) == 1


def test_a_lost_game_is_not_a_failure() -> None:
    with background_server() as server:
        server.add_player("first")
        result = server.run("play", "-s", "illegal", "--seed", "3", "--json")
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    assert (value["outcome"], value["end"], value["cause"]) == ("lost", "result", "RULE_VIOLATION")
    assert value["reason"].startswith("Nur eigene Spielfiguren können gezogen werden")
    assert value["movesPlayed"] == 1
    assert value["points"][1 - value["seat"]] == [5 * value["seat"]]
    assert len(value["errors"]) == 1
    assert set(value) == {
        "outcome", "seat", "roomId", "end", "cause", "reason", "points", "movesPlayed", "errors",
    }  # fmt: skip


def _prepare(server: BackgroundServer, edition: str) -> tuple[str, list[str]]:
    value = json.loads(server.run("admin", "prepare", "--json", "--edition", edition).stdout)
    return value["roomId"], value["reservations"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_season_of_a_seat_need_not_be_named(edition: str) -> None:
    with background_server(editions={EDITIONS[edition].game_type: edition}) as server:
        _, codes = _prepare(server, edition)
        server.add_player("illegal", reservation=codes[1], edition=edition)
        reserved = server.run("play", "-s", "first", "-r", codes[0])
        server.add_player("illegal", edition=edition)
        server.wait_for("room_opened", times=2)
        room = [event["room"] for event in map(json.loads, server.log.splitlines()) if "room" in event][-1]
        joined = server.run("play", "-s", "first", "--room", room)
    assert (reserved.exit_code, joined.exit_code) == (0, 0)
    assert reserved.stdout.startswith("won as player 1")
    assert joined.stdout.startswith("won as player 2")
    chosen = EDITIONS[edition]
    is_blokus = isinstance(chosen.game.new_state(random.Random(1)), BlokusState)
    name = chosen.dialect.team_names[0] + (" (BLUE, RED)" if is_blokus else "")
    assert reserved.stderr.splitlines()[-1] == f"the game begins: you are player {name}"


def test_a_strategy_for_another_game_than_that_of_its_room_is_refused() -> None:
    with background_server() as server:
        _, codes = _prepare(server, "blokus-2021-r3")
        server.add_player("first", reservation=codes[1], edition="blokus-2021-r3")
        result = server.run("play", "-s", "hui-greedy", "-r", codes[0])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        "spielleiter: the strategy hui-greedy does not play swc_2021_blokus, the game of this room"
    )


@pytest.mark.parametrize("as_json", [True, False])
def test_a_room_that_is_closed_without_a_result_is_a_failure(as_json: bool) -> None:
    with scripted_server('<joined roomId="r"/><left roomId="r"/>') as port:
        result = run("play", "-p", str(port), *(["--json"] if as_json else []))
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["room r", "spielleiter: the room was closed without a result"]
    if as_json:
        value = json.loads(result.stdout)
        assert (value["outcome"], value["end"], value["roomId"]) == ("none", "left", "r")


def test_a_goodbye_without_a_reason_suggests_another_season() -> None:
    with scripted_server(END, END) as port:
        errors = [run("play", "-p", str(port), *more).stderr for more in ((), ("--edition", "blokus-2021-r1"))]
    line = "spielleiter: the server ended the connection instead of giving a seat"
    assert errors == [f"{line}; if this server plays another season, name it with --game or --edition\n", f"{line}\n"]


@pytest.mark.slow
@pytest.mark.parametrize("seat", ["room", "reservation"])
def test_waiting_is_announced(seat: str) -> None:
    """The opponent joins after the player has announced what it is waiting for."""
    with background_server() as server:
        options: list[str] = []
        code = None
        if seat == "reservation":
            _, (first_code, code) = _prepare(server, "blokus-2027")
            options = ["-r", first_code]
        else:
            prepared = server.run("admin", "prepare", "--json", "--open")
            options = ["--room", json.loads(prepared.stdout)["roomId"]]
        command = [sys.executable, "-m", "spielleiter", "play", "-s", "first", "-p", str(server.port), *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as player:
            assert player.stderr
            # on a busy machine waiting may be announced before the server has told the room
            room, waiting = sorted([player.stderr.readline(), player.stderr.readline()])
            server.add_player("illegal", reservation=code)
            out, rest = player.communicate(timeout=HANG_TIMEOUT)
    assert room.startswith("room ")
    awaited = (
        {"the other reserved seat"} if seat == "reservation" else {f"an opponent in {room.strip()}", "an opponent"}
    )
    assert waiting.strip().removeprefix("waiting for ") in awaited
    assert rest == "the game begins: you are player ONE (BLUE, RED)\n"
    assert out.startswith("won as player 1")


def test_a_strategy_for_one_game_plays_that_game_and_a_board_is_drawn_on_request() -> None:
    with background_server() as server:
        server.add_player("illegal", edition="hase-und-igel-2018")
        result = server.run("play", "-s", "hui-greedy", "--board")
    assert "\nS start, C carrots" in result.stderr
    assert result.stdout.startswith("won as player ")
    assert len(result.stdout.splitlines()) == 1


def test_a_room_cannot_be_chosen_in_a_season_without_that_request() -> None:
    with background_server() as server:
        result = server.run("play", "--room", "r", "--game", "swc_2018_hase_und_igel")
    assert (result.exit_code, result.stderr) == (
        1,
        "spielleiter: hase-und-igel-2018 has no way to write JoinRoomRequest\n",
    )


@pytest.mark.parametrize("as_json", [True, False])
def test_a_connection_that_broke_is_a_failure(as_json: bool) -> None:
    with background_server() as server:
        server.add_player("first")
        result = server.run("play", "-s", "crash", *(["--json"] if as_json else []))
    assert result.exit_code == 1
    if as_json:
        assert json.loads(result.stdout)["end"] == "abandoned"
    else:
        assert result.stderr.splitlines()[-1] == "spielleiter: this player broke the connection itself"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-r", "nonsense"], "Couldn't find a reservation for the provided token; a code is valid for one seat and "),
        (["--room", "nonsense"], "Couldn't find a room with id nonsense; its game may be over; `spielleiter admin "),
        (["--room", "nonsense", "--json"], "sc.api.plugins.exceptions.GameRoomException: Couldn't find a room with "),
    ],
)
def test_a_refusal_has_advice_for_people_and_the_servers_words_for_scripts(arguments: list[str], line: str) -> None:
    with background_server() as server:
        result = server.run("play", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"spielleiter: {line}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["-s", "gredy"],
            "Invalid value for '-s' / '--strategy': 'gredy' is not known, expected first, ",
        ),
        (
            ["-s", "level-9@x"],
            "Invalid value for '-s' / '--strategy': 'level-9@x' is not known, expected level-9@ with 0.01 to 60 sec",
        ),
        (["-s", "level-9@1", "--game", "swc_2018_hase_und_igel"], "the strategy level-9@1 does not play swc_2018_hase"),
        (["--game", "chess"], "Invalid value for '--game': 'chess' is not known here, expected swc_2027_blokus or "),
        (["-s", "hui-greedy", "--game", "swc_2021_blokus"], "the strategy hui-greedy does not play swc_2021_blokus"),
        (["--room", "a", "-r", "b"], "--reservation and --room exclude each other, expected one of them"),
    ],
)
def test_misuse_is_one_line(arguments: list[str], line: str) -> None:
    result = run("play", *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith(f"spielleiter play: {line}")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_server_is_a_failure_with_advice(form: tuple[str, ...]) -> None:
    result = run("play", "-p", "1", *form)
    assert (result.exit_code, result.stderr) == (
        1,
        (
            "spielleiter: cannot connect to 127.0.0.1:1 (nobody listens there); "
            "start a server with `spielleiter serve --port 1`, or name another one with --host and --port\n"
        ),
    )


@pytest.mark.parametrize("last", ["", "127.0.0.1 code\n", "127.0.0.1 70000 code\n"])
def test_with_stay_the_games_on_standard_input_are_played(last: str) -> None:
    with background_server() as server:
        codes = []
        for _ in range(2):
            _, (first, second) = _prepare(server, "blokus-2027")
            server.add_player("illegal", reservation=second)
            codes.append(first)
        given = f"127.0.0.1 {server.port} {codes[1]} 9\n{last}"
        options = ("-s", "first", "--port", str(server.port), "-r", codes[0], "--seed", "3", "--stay")
        result = run("play", *options, input=given)
    assert result.stdout.count("won as player 1") == 2
    assert result.exit_code == (1 if last else 0)
    assert ("standard input: expected HOST PORT RESERVATION, found " in result.stderr) == bool(last)


@pytest.mark.slow
def test_a_process_plays_a_whole_game() -> None:
    command = [sys.executable, "-m", "spielleiter", "play", "-s", "hui-greedy", "--seed", "1"]
    with background_server() as server:
        server.add_player("hui-random", edition="hase-und-igel-2018")  # a short game
        player = subprocess.run(
            [*command, "-p", str(server.port)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            check=True,
            timeout=HANG_TIMEOUT,
        )
        server.wait_for("game_ended")
    assert player.stdout.startswith("won as player ")


# -- GTP engines ------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("room ", "waiting ", "the game begins"))]


@pytest.fixture(autouse=True)
def _imports_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


@pytest.mark.slow
def test_a_whole_game_is_played() -> None:
    with background_server() as server:
        server.add_player("random")
        result = server.run("play", "-s", "gtp", "--engine", ENGINE, *LONG_TIMEOUT, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["end"], report["cause"], report["errors"]) == ("result", "REGULAR", [])
    note, summary = _lines(result.stderr)
    prescribed = "the contest prescribes the first piece of each colour, which GTP cannot express"
    assert note == f"not the engine's move: {prescribed}"
    moves = report["movesPlayed"]
    assert summary == (
        f"Test engine 1.0 chose {moves - 2} of {moves} moves, the strategy greedy 2: 2 because {prescribed}"
    )


@pytest.mark.slow
def test_a_failing_engine_does_not_lose_the_game() -> None:
    with background_server() as server:
        server.add_player("random")
        engine = f"{ENGINE} --fault die --at 3"
        result = server.run("play", "-s", "gtp", "--engine", engine, *LONG_TIMEOUT, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cause"] == "REGULAR"
    lines = _lines(result.stderr)
    said = "the engine cannot be used any more (it ended with exit code 3 (out of memory))"
    assert sum(f"not the engine's move: {said}" in line for line in lines) == 1
    assert lines[-1].startswith("Test engine 1.0 chose 2 of ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-s", "gtp"), 'the strategy gtp needs --engine, such as --engine "pentobi-gtp --game classic_2"'),
        (("--engine", "x"), "the strategy greedy has no engine; add --strategy gtp"),
        (("-s", "gtp", "--engine", "no-such-engine -x"), "there is no command no-such-engine on the PATH"),
        (("-s", "gtp", "--engine", "'"), "no closing quotation"),
        (("-s", "gtp", "--engine", "builtin:greedy"), "a built-in strategy is no engine; choose it with --strategy"),
        (("-s", "gtp", "--engine", f"{ENGINE} --is-not-gtp"), "it ended with exit code 1 (usage: chess)"),
        (("-s", "gtp", "--engine", ENGINE, "--game", "swc_2018_hase_und_igel"), "gtp does not play swc_2018"),
    ],
)
def test_an_engine_that_cannot_be_used_is_misuse_and_takes_no_seat(options: tuple[str, ...], text: str) -> None:
    result = run("play", *options, "--port", "1")  # where no server listens
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert text in line
    assert result.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that interrupts another process")
def test_the_engine_ends_with_an_interrupted_player(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    starter = tmp_path / "engine.py"
    starter.write_text(
        "import os, runpy, sys\n"
        f"open({str(noted)!r}, 'w').write(str(os.getpid()))\n"
        f"sys.argv = [{str(PROGRAM)!r}]\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "spielleiter", "play", "-s", "gtp"]
    with background_server() as server:
        player = subprocess.Popen(
            [*command, "--engine", f"{PYTHON} {shlex.quote(str(starter))}", "--port", str(server.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert player.stderr is not None
        for line in player.stderr:
            if line.startswith("room "):
                break
        player.send_signal(signal.SIGINT)
        player.communicate(timeout=HANG_TIMEOUT)
    assert player.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text("utf-8")), 0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(PENTOBI) is None, reason="pentobi-gtp is not on the PATH (docs/players.md builds it)")
@pytest.mark.parametrize("edition", BLOKUS)
def test_pentobi_plays_whole_games(edition: str) -> None:
    with background_server(editions={EDITIONS[edition].game_type: edition}) as server:
        server.add_player("random", edition=edition)  # which starts where no symmetry fits
        engine = f"{PENTOBI} --quiet --nobook --level 1 --seed 1"
        result = server.run("play", "-s", "gtp", "--engine", engine, *LONG_TIMEOUT, "--json", "--edition", edition)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cause"] == "REGULAR"
    moves = json.loads(result.stdout)["movesPlayed"]
    assert f"chose {moves - 2} of {moves} moves" in result.stderr
