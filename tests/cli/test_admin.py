"""`spielleiter admin`: every command against a real server, and the text of its status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spielleiter.cli.admin import LAST_CLOSED, status_lines
from spielleiter.client.admin import AdminClient
from spielleiter.protocol.messages import Memento
from spielleiter.server.editions import EDITIONS
from tests.cli.background import BackgroundServer, background_server, misuse, run, scripted_server

ADVICE = "; its game may be over; `spielleiter admin status` lists the rooms that exist"


def _prepare(server: BackgroundServer, *arguments: str) -> tuple[str, list[str]]:
    value = json.loads(server.run("admin", "prepare", "--json", *arguments).stdout)
    return value["roomId"], value["reservations"]


def _events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_room_is_prepared() -> None:
    with background_server() as server:
        result = server.run("admin", "prepare")
        assert result.exit_code == 0
        first, second = result.stdout.splitlines()
        assert len(first) == len(second) == 36
        assert result.stderr.startswith("room ")
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob", "--pause", "--no-timeout", "--open")
        assert codes == []
        assert f'"room": "{room}"' in server.log


@pytest.mark.parametrize("form", ["--json", "--raw", "--board", "--no-board"])
def test_a_game_is_observed_to_its_end(form: str) -> None:
    with background_server() as server:
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob & Co")
        server.add_player("first", reservation=codes[0])
        server.when("observer_joined", lambda: server.add_player("illegal", reservation=codes[1]))
        result = server.run("admin", "observe", room, form)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
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
    elif form == "--board":
        assert [line[43:].strip() for line in lines if line.startswith(" 0 ")] == ["turn 0, round 1", "turn 1, round 1"]
        assert lines[-1].startswith("over: Alice wins 5:0")
    else:
        assert lines[0] == "turn   0  round  1      0:0  the game begins"
        assert lines[1].startswith("turn   1  round  1      5:0  BLUE PENTO_")
        assert lines[2].startswith("error: Ungueltiger Zug")
        assert lines[3].startswith("over: Alice wins 5:0; Bob & Co: RULE_VIOLATION ")
        assert len(lines) == 4


@pytest.mark.parametrize("form", ["--json", "--no-board"])
def test_observers_are_shown_pauses(form: str) -> None:
    with background_server() as server:
        room, codes = _prepare(server, "--pause")

        async def go_on_and_stop(admin: AdminClient) -> None:
            await admin.resume(room)
            await admin.pause(room)
            await admin.cancel(room)

        for code in codes:
            server.add_player("silent", reservation=code)
        server.wait_for("game_started")
        server.when("observer_joined", lambda: server.administer(go_on_and_stop))
        result = server.run("admin", "observe", room, form)
    assert result.exit_code == 0
    if form == "--json":
        pauses = [event["paused"] for event in _events(result.stdout) if event["event"] == "paused"]
        assert pauses == [False, True]
    else:
        assert [line for line in result.stdout.splitlines() if line in {"paused", "resumed"}] == ["resumed", "paused"]
        assert "over: a draw 0:0" in result.stdout


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_season_of_a_room_need_not_be_named(edition: str) -> None:
    with background_server(editions={EDITIONS[edition].game_type: edition}) as server:
        room, codes = _prepare(server, "--slot", "Alice", "--slot", "Bob", "--pause", "--edition", edition)
        server.add_player("first", reservation=codes[0], edition=edition)
        server.add_player("illegal", reservation=codes[1], edition=edition)
        server.wait_for("game_started")
        server.when("observer_joined", lambda: server.administer(lambda admin: admin.resume(room)))
        watched = server.run("admin", "observe", room)
        assert (watched.exit_code, watched.stderr) == (0, "")
        assert watched.stdout.splitlines()[-1].startswith("over: Alice wins ")

        room, codes = _prepare(server, "--edition", edition)
        for code in codes:
            server.add_player("silent", reservation=code, edition=edition)
        server.wait_for("game_started", times=2)
        results = [server.run("admin", command, room) for command in ("pause", "step", "resume")]
        assert [(each.exit_code, each.output) for each in results] == [(0, "")] * 3
        assert json.loads(server.run("admin", "cancel", room, "--json").stdout) == {"roomId": room, "accepted": True}
        server.wait_for("game_ended", times=2)


@pytest.mark.parametrize("form", ["--no-board", "--json", "--raw"])
def test_a_room_that_is_closed_without_a_result_is_a_failure(form: str) -> None:
    with scripted_server('<observed roomId="r"/><left roomId="r"/>', after="<observe") as port:
        result = run("admin", "observe", "r", "-p", str(port), form)
    assert result.exit_code == 1
    assert result.stderr == "spielleiter: room r was closed without a result\n"
    if form == "--json":
        assert _events(result.stdout) == [{"event": "left", "roomId": "r"}]


def test_a_wrong_edition_is_reported() -> None:
    with background_server() as server:
        room, codes = _prepare(server)
        server.add_player("first", reservation=codes[0])
        server.when("observer_joined", lambda: server.add_player("illegal", reservation=codes[1]))
        result = server.run("admin", "observe", room, "--edition", "hase-und-igel-2018")
    assert result.exit_code == 1
    assert result.stderr == (
        f"spielleiter: room {room} was closed without a result that hase-und-igel-2018 can read; leave out --edition\n"
    )


def test_a_goodbye_without_a_reason_suggests_another_season() -> None:
    """Release 18.2.6 does this, since it does not know the attribute `password`."""
    with scripted_server(*["<sc.protocol.responses.CloseConnection/>"] * 2) as port:
        errors = [
            run("admin", "cancel", "r", "-p", str(port), *more).stderr
            for more in ((), ("--game", "swc_2018_hase_und_igel"))
        ]
    line = "spielleiter: the server closed the connection without giving a reason"
    assert errors == [f"{line}; if this server plays another season, name it with --game or --edition\n", f"{line}\n"]


def test_repeated_positions_are_printed_once() -> None:
    """A step repeats the position together with the request; the library and `--json` report both."""
    with background_server() as server:
        room, codes = _prepare(server, "--pause")
        turns: list[int] = []
        for code in codes:
            server.add_player("first", reservation=code)
        server.wait_for("game_started")

        async def step(admin: AdminClient) -> None:
            events = await admin.observe(room)
            for _ in range(2):
                await admin.step(room)
                turn = None
                async for event in events:
                    if isinstance(event, Memento):
                        turns.append(event.state.turn)
                        if turn not in {None, event.state.turn}:
                            break
                        turn = event.state.turn
            await admin.cancel(room)

        server.when("observer_joined", lambda: server.administer(step))
        result = server.run("admin", "observe", room)
    lines = [line for line in result.stdout.splitlines() if line.startswith("turn")]
    assert len(turns) > len(set(turns))
    assert [int(line.split()[1]) for line in lines] == sorted(set(turns))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("observe", "x", "--json", "--board"), "--board and --json exclude each other, expected one of them"),
        (("observe", "x", "--raw", "--json"), "--raw and --json exclude each other, expected one of them"),
        (("prepare", "--open", "--game", "swc_2018_hase_und_igel"), "--open: hase-und-igel-2018 reserves every seat"),
    ],
)
def test_misuse_is_one_line(words: tuple[str, ...], problem: str) -> None:
    assert misuse("admin", *words) == f"spielleiter admin {words[0]}: {problem}\n"


def test_an_option_before_the_command_is_answered_with_its_place() -> None:
    assert "as in `spielleiter admin status --password ...`" in misuse("admin", "--password", "x", "status")
    assert "Did you mean '--help'?" in run("admin", "--hlep").stderr


def test_refusals_are_failures_and_scripts_get_the_servers_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "Couldn't find a room with id nowhere"
    with background_server(password="geheim") as server:
        refused = server.run("admin", "prepare", "--password", "falsch")
        assert refused.exit_code == 1
        assert refused.stderr.startswith("spielleiter: Failed to authenticate as administrator; give the server's ")
        monkeypatch.setenv("SPIELLEITER_PASSWORD", "geheim")
        for command in ("pause", "resume", "step", "cancel", "observe"):
            result = server.run("admin", command, "nowhere")
            assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"spielleiter: {words}{ADVICE}\n")
        result = server.run("admin", "cancel", "nowhere", "--json")
        assert "falsch" not in server.log
    assert (result.exit_code, result.stderr) == (
        1,
        f"spielleiter: sc.api.plugins.exceptions.GameRoomException: {words}\n",
    )


def test_the_status_is_shown() -> None:
    with background_server() as server:
        room, _ = _prepare(server, "--slot", "Alice", "--slot", "Bob")
        server.wait_for("connection_closed")
        as_text, as_json = server.run("admin", "status"), server.run("admin", "status", "--json")
    assert (as_text.exit_code, as_json.exit_code) == (0, 0)
    assert as_text.stdout.splitlines()[1:3] == [
        "rooms: 1 open, 0 running, 0 paused",
        f"  {room}  blokus-2027  open, turn 0  Alice (free) : Bob (free)",
    ]
    report = json.loads(as_json.stdout)
    assert report["roomCounts"] == {"open": 1, "running": 0, "paused": 0}
    assert report["connections"][-1]["isAdmin"] is True
    assert report["closed"][0]["reason"] == "goodbye"


def test_all_games_are_followed_until_the_server_ends_the_connection() -> None:
    events = '[{"event":"stopping"},{"event":"roomClosed","room":"ä"}]'
    with scripted_server(f"<feed>{events}</feed></protocol>", after="<feed") as port:
        result = run("admin", "follow", "-p", str(port))
    assert _events(result.stdout) == json.loads(events)
    assert result.exit_code == 1
    assert "the server ended the connection" in result.stderr


def test_each_part_of_the_status_has_its_lines() -> None:
    room = {
        "roomId": "ROOM",
        "edition": "blokus-2027",
        "phase": "running",
        "turn": 7,
        "names": ["Alice", ""],
        "players": ["c3", None],
        "observers": 2,
    }
    admin = {
        "connection": "c1",
        "address": "127.0.0.1:5000",
        "openedAt": "12:00:01",
        "isAdmin": True,
        "packets": 9,
        "queuedBytes": 700,
        "seats": 0,
    }
    player = {**admin, "connection": "c3", "isAdmin": False, "queuedBytes": 0, "seats": 1}
    newcomer = {**player, "connection": "c5", "packets": 1, "queuedBytes": 1}
    glutton = {**player, "connection": "c4", "seats": 3}
    ended = {"connection": "c2", "address": "127.0.0.1:5001", "closedAt": "12:00:03", "reason": "goodbye"}
    refused = {**ended, "connection": "", "reason": "connections"}
    report: dict[str, Any] = {
        "startedAt": "2026-01-01T12:00:00.000+01:00",
        "roomCounts": {"open": 0, "running": 1, "paused": 0},
        "connectionCount": 3,
        "queuedBytes": 700,
        "refusals": [["ConnectionRefused", "connections", 1]],
        "rooms": [room, {**room, "observers": 0}],
        "connections": [admin, player, glutton, newcomer],
        "closed": [ended] * LAST_CLOSED + [refused],
    }
    lines = [
        "running since 2026-01-01T12:00:00.000+01:00",
        "rooms: 0 open, 1 running, 0 paused",
        "  ROOM  blokus-2027  running, turn 7  Alice (c3) : unnamed (free), 2 observers",
        "  ROOM  blokus-2027  running, turn 7  Alice (c3) : unnamed (free)",
        "connections: 3, 700 bytes not received yet",
        "  c1     127.0.0.1:5000         since 12:00:01  administrator  9 packets  700 bytes not received yet",
        "  c3     127.0.0.1:5000         since 12:00:01  player  9 packets",
        "  c4     127.0.0.1:5000         since 12:00:01  3 seats  9 packets",
        "  c5     127.0.0.1:5000         since 12:00:01  player  1 packet  1 byte not received yet",
        "refusals since the start:",
        "       1  connections (ConnectionRefused)",
    ]
    line = "  12:00:03  c2     127.0.0.1:5001         goodbye"
    assert list(status_lines(report)) == [
        *lines,
        "the last 11 closed connections:",
        "      10  goodbye",
        "       1  connections",
        "the last 10 of them:",
        *[line] * (LAST_CLOSED - 1),
        "  12:00:03  -      127.0.0.1:5001         connections",
    ]
    for count, tail in (
        (0, []),
        (1, ["the last closed connection:", "       1  goodbye", line]),
        (2, ["the last 2 closed connections:", "       2  goodbye", "individually:", line, line]),
    ):
        assert list(status_lines({**report, "closed": [ended] * count})) == [*lines, *tail]
