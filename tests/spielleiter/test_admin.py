from __future__ import annotations

import json
from typing import Any

import pytest

from client.admin import AdminClient
from server.editions import EDITIONS
from spielleiter.admin import admin
from tests.spielleiter.background import BackgroundServer, background_server, run


def _prepare(server: BackgroundServer, *arguments: str) -> tuple[str, list[str]]:
    value = json.loads(server.run("admin", "prepare", "--json", *arguments).stdout)
    return value["roomId"], value["reservations"]


def _events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_alone_it_shows_what_there_is() -> None:
    result = run("admin")
    assert result.exit_code == 0
    assert "  prepare " in result.stdout


def test_reservation_codes_stand_alone_on_standard_output() -> None:
    with background_server() as server:
        result = server.run("admin", "prepare")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert len(first) == len(second) == 36
    assert result.stderr.startswith("room ")


def test_a_room_is_prepared_as_it_is_asked_for() -> None:
    with background_server() as server:
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob", "--pause", "--no-timeout", "--open")
        assert codes == []
        assert f'"room": "{room}"' in server.log


def test_a_game_is_watched_stepped_and_ended() -> None:
    """The whole of it: a paused game goes one step, then on, and ends by a move against the rules."""
    with background_server() as server:
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob & Co", "--pause")
        server.add_player("first", reservation=codes[0])
        server.add_player("illegal", reservation=codes[1])
        server.wait_for("game_started")
        assert server.run("admin", "step", room).exit_code == 0
        server.wait_for("game_stepped")
        resumed = server.run("admin", "resume", room, "--json")
        assert json.loads(resumed.stdout) == {"roomId": room, "accepted": True}
        server.wait_for("game_ended")
        again = server.run("admin", "pause", room)
    assert (again.exit_code, again.stderr) == (
        1,
        (
            f"spielleiter: Couldn't find a room with id {room}; "
            "its game may be over; `spielleiter admin status` lists the rooms there are\n"
        ),
    )


@pytest.mark.parametrize("form", ["--json", "--raw", ""])
def test_a_game_is_observed_to_its_end(form: str) -> None:
    with background_server() as server:
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob & Co")
        server.add_player("first", reservation=codes[0])
        server.when("observer_joined", lambda: server.add_player("illegal", reservation=codes[1]))
        result = server.run("admin", "observe", room, *([form] if form else []))
    assert result.exit_code == 0
    if form == "--raw":
        assert result.stdout_bytes.startswith(f'<protocol>\n  <observed roomId="{room}"/>\n  <room '.encode())
        assert result.stdout_bytes.endswith(f'\n  <left roomId="{room}"/>\n</protocol>'.encode())
    elif form == "--json":
        events = _events(result.stdout)
        assert [event["event"] for event in events] == ["state", "state", "error", "result", "left"]
        assert {event["roomId"] for event in events} == {room}
        assert (events[0]["turn"], events[0]["points"], events[0]["lastMove"]) == (0, [[0], [0]], None)
        assert events[1]["lastMove"].startswith("BLUE PENTO_")
        assert events[2]["message"].startswith("Ungueltiger Zug von 'Bob & Co'")
        assert (events[3]["winners"], events[3]["points"]) == ([0], [[5], [0]])
        assert events[3]["causes"] == ["REGULAR", "RULE_VIOLATION"]
        assert events[3]["names"] == ["Alice", "Bob & Co"]
    else:
        lines = result.stdout.splitlines()
        assert lines[0] == "turn   0  round  1      0:0  the game begins"
        assert lines[1].startswith("turn   1  round  1      5:0  BLUE PENTO_")
        assert lines[2].startswith("error: Ungueltiger Zug")
        assert lines[3].startswith("over: Alice wins 5:0; Bob & Co: RULE_VIOLATION ")
        assert len(lines) == 4


@pytest.mark.parametrize("form", ["--json", ""])
def test_pauses_are_told(form: str) -> None:
    with background_server() as server:
        room, codes = _prepare(server, "--pause")

        async def go_on_and_stop(admin: AdminClient) -> None:
            await admin.resume(room)
            await admin.pause(room)
            await admin.cancel(room)

        server.add_player("silent", reservation=codes[0])
        server.add_player("silent", reservation=codes[1])
        server.wait_for("game_started")
        server.when("observer_joined", lambda: server.administer(go_on_and_stop))
        result = server.run("admin", "observe", room, *([form] if form else []))
    assert result.exit_code == 0
    if form:
        told = [event["paused"] for event in _events(result.stdout) if event["event"] == "paused"]
        assert told == [False, True]
    else:
        assert [line for line in result.stdout.splitlines() if line in {"paused", "goes on"}] == ["goes on", "paused"]
        assert "over: a draw 0:0" in result.stdout


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_edition_is_administered(edition: str) -> None:
    game_type = EDITIONS[edition].game_type
    with background_server(editions={game_type: edition}) as server:
        form = ("--edition", edition)
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob", *form)
        server.add_player("first", reservation=codes[0], edition=edition)
        server.when("observer_joined", lambda: server.add_player("illegal", reservation=codes[1], edition=edition))
        watched = server.run("admin", "observe", room, *form)
        again = server.run("admin", "pause", room, *form)
    assert watched.exit_code == 0
    assert watched.stdout.splitlines()[-1].startswith("over: Alice wins ")
    assert again.exit_code == 1


def test_a_season_that_reserves_every_seat_has_no_open_ones() -> None:
    result = run("admin", "prepare", "--open", "--game", "swc_2018_hase_und_igel")
    assert result.exit_code == 2
    assert result.stderr == "spielleiter admin prepare: --open: hase-und-igel-2018 reserves every seat\n"


def test_the_help_cuts_no_summary_off() -> None:
    text = run("admin", "--help", terminal_width=80).stdout
    commands = text.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in commands] == sorted(admin.commands)
    assert all(line.endswith(".") and not line.endswith("..") for line in commands)


@pytest.mark.parametrize("command", ["pause", "resume", "step", "cancel", "observe"])
def test_an_unknown_room_is_a_failure(command: str) -> None:
    with background_server() as server:
        result = server.run("admin", command, "nowhere")
    assert (result.exit_code, result.stdout, result.stderr) == (
        1,
        "",
        (
            "spielleiter: Couldn't find a room with id nowhere; "
            "its game may be over; `spielleiter admin status` lists the rooms there are\n"
        ),
    )


def test_a_script_is_told_a_refusal_in_the_servers_own_words() -> None:
    with background_server() as server:
        result = server.run("admin", "cancel", "nowhere", "--json")
    words = "sc.api.plugins.exceptions.GameRoomException: Couldn't find a room with id nowhere"
    assert (result.exit_code, result.stderr) == (1, f"spielleiter: {words}\n")


def test_a_wrong_password_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    line = (
        "spielleiter: Failed to authenticate as administrator; "
        "give the server's password with --password or in the variable SPIELLEITER_PASSWORD\n"
    )
    with background_server(password="geheim") as server:
        result = server.run("admin", "prepare", "--password", "falsch")
        assert (result.exit_code, result.stderr) == (1, line)
        monkeypatch.setenv("SPIELLEITER_PASSWORD", "geheim")
        assert server.run("admin", "prepare").exit_code == 0
        assert "falsch" not in server.log


def test_nobody_there_is_a_failure() -> None:
    result = run("admin", "cancel", "x", "-p", "1")
    assert (result.exit_code, result.stderr) == (
        1,
        (
            "spielleiter: cannot connect to 127.0.0.1:1 (nobody listens there); "
            "start a server with `spielleiter serve --port 1`, or name another place with --host and --port\n"
        ),
    )


def test_exact_bytes_and_json_exclude_each_other() -> None:
    result = run("admin", "observe", "x", "--raw", "--json")
    assert (result.exit_code, result.stderr) == (
        2,
        "spielleiter admin observe: --raw and --json exclude each other, expected one of them\n",
    )


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_status_is_shown(edition: str) -> None:
    with background_server(editions={EDITIONS[edition].game_type: edition}) as server:
        room, _ = _prepare(server, "--slot", "Alice", "--edition", edition, *["--slot", "Bob"])
        server.wait_for("connection_closed")
        shown = server.run("admin", "status", "--edition", edition)
        told = server.run("admin", "status", "--edition", edition, "--json")
    assert (shown.exit_code, told.exit_code) == (0, 0)
    assert shown.stdout.splitlines()[1:3] == [
        "rooms: 1 open, 0 running, 0 paused",
        f"  {room}  {edition}  open, turn 0  Alice (free) : Bob (free)",
    ]
    report = json.loads(told.stdout)
    assert report["roomCounts"] == {"open": 1, "running": 0, "paused": 0}
    assert report["connections"][-1]["isAdmin"] is True
    assert report["closed"][0]["reason"] == "goodbye"


def test_the_status_is_for_administrators() -> None:
    with background_server() as server:
        result = server.run("admin", "status", "--password", "falsch")
    assert result.exit_code == 1
    assert "Failed to authenticate" in result.stderr
