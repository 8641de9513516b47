"""The driver against a server that sends exactly what a test has it send, and several drivers with the bare wire."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from time import perf_counter

import pytest

from spielleiter.bench.driver import Driver, Plan, ScriptedGame, plan_of
from spielleiter.bench.drivers import combined_figures, running_drivers
from spielleiter.bench.scripted_games import load_of
from spielleiter.bench.subprocesses import BenchError, end, running_floor, start_python
from tests.bench.fake_server import POSITION, PREPARED, REQUEST, RESULT, ROOM_ID, SCRIPT, SEATS, Server, packet
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture
def driver(server: Server) -> Iterator[Driver]:
    driver = Driver(Plan(server.port, "swc_test", REQUEST, [SCRIPT], 1, observers=1))
    yield driver
    driver.finish()
    driver.close()


def until(driver: Driver, is_done: Callable[[], bool]) -> None:
    deadline = perf_counter() + HANG_TIMEOUT
    while not is_done():
        assert perf_counter() < deadline
        driver.poll(0.1)


def started_game(
    driver: Driver, server: Server
) -> tuple[ScriptedGame, socket.socket, list[socket.socket], socket.socket]:
    """A game whose players have joined; the connections of the administrator, the players and the observer."""
    administrator = server.accept()
    game = ScriptedGame(driver, 0)
    driver.games.append(game)
    observer = server.accept()
    administrator.sendall(b"<protocol>" + PREPARED[:50])
    driver.poll(1)
    assert game.seats == ()
    administrator.sendall(PREPARED[50:])
    until(driver, lambda: len(game.seats) == 2)
    return game, administrator, [server.accept(), server.accept()], observer


def test_a_game_is_prepared_joined_and_observed(driver: Driver, server: Server) -> None:
    _, administrator, players, observer = started_game(driver, server)
    sent = administrator.recv(4096)
    assert sent.startswith(b'<protocol>\n  <authenticate password="examplepassword"/>\n  <prepare gameType="swc_test">')
    assert sent.count(b'<slot displayName="0" canTimeout="true" reserved="true"/>') == 2
    assert [each.recv(4096) for each in players] == [
        b'<protocol>\n  <joinPrepared reservationCode="%s"/>' % code for code in (b"one", b"two")
    ]
    assert observer.recv(4096).endswith(b'\n  <observe roomId="%s"/>' % ROOM_ID.encode())


def test_moves_are_sent_when_requests_are_complete(driver: Driver, server: Server) -> None:
    game, _, (one, two), _ = started_game(driver, server)
    for each in (one, two):
        each.recv(4096)
    two.sendall(b'<protocol>\n  <joined/>\n  <data class="welcomeMessage" color="ONE"/>' + POSITION + REQUEST.encode())
    until(driver, lambda: game.ply == 1)  # the player that is asked first begins, even if it joined second
    assert two.recv(4096) == packet(0)
    one.sendall(POSITION + REQUEST.encode()[:9])
    for _ in range(3):
        driver.poll(0.01)
    assert game.ply == 1
    one.sendall(REQUEST.encode()[9:])
    until(driver, lambda: game.ply == 2)
    assert one.recv(4096) == packet(1)
    one.sendall(POSITION)
    one.sendall(REQUEST.encode())
    until(driver, lambda: game.ply == 3)
    assert one.recv(4096) == packet(2)
    assert len(driver.latencies) == 2
    assert all(seconds > 0 for seconds in driver.latencies)
    assert len(driver.start_times) == 1
    assert driver.moves == 3


def play_through(driver: Driver, game: ScriptedGame, players: list[socket.socket]) -> None:
    for ply, seat in enumerate(SEATS):
        players[seat].sendall(POSITION + REQUEST.encode())
        until(driver, lambda ply=ply: game.ply == ply + 1)  # type: ignore[misc]


def test_a_finished_game_is_followed_by_another_one(driver: Driver, server: Server) -> None:
    game, administrator, players, _ = started_game(driver, server)
    administrator.recv(4096)
    play_through(driver, game, players)
    players[1].sendall(POSITION + RESULT[:30])
    driver.poll(1)
    players[1].sendall(RESULT[30:])
    until(driver, lambda: driver.games_over == 1)
    assert driver.games_broken == 0
    assert administrator.recv(4096).startswith(b"\n  <prepare ")
    assert (game.ply, game.seats) == (0, ())


def test_a_result_before_the_last_move_is_a_broken_game(driver: Driver, server: Server) -> None:
    game, _, players, _ = started_game(driver, server)
    players[0].sendall(POSITION + REQUEST.encode())
    until(driver, lambda: game.ply == 1)
    players[1].sendall(POSITION + RESULT)
    until(driver, lambda: driver.games_broken == 1)
    assert driver.games_over == 0


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_closed_connection_is_a_broken_game(driver: Driver, server: Server, is_reset: bool) -> None:
    _, _, players, _ = started_game(driver, server)
    if not is_reset:
        players[0].recv(4096)  # otherwise the unread data would cause a reset
    players[0].close()
    until(driver, lambda: driver.games_broken == 1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """The driver's clock. It advances by a millisecond with each reading, however busy the machine is."""
    readings = itertools.count()

    def read() -> float:
        return next(readings) / 1000

    monkeypatch.setattr("spielleiter.bench.driver.perf_counter", read)
    return read


def test_an_interval_counts_only_what_happens_in_it(driver: Driver, server: Server, clock: Callable[[], float]) -> None:
    game, _, players, _ = started_game(driver, server)
    players[0].sendall(POSITION + REQUEST.encode())
    until(driver, lambda: game.ply == 1)
    players[1].sendall(POSITION + REQUEST.encode())
    now = clock()
    report = driver.measure(now, now + 0.01)
    assert report["moves"] == 1
    assert len(report["latencies"]) == 1
    assert report["playing"] == 1
    assert report["longest_wait"] > 0
    assert report["seconds"] == pytest.approx(0.01, abs=0.002)
    assert report["start_times"] == []


def test_a_silent_server_is_an_error(driver: Driver, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    started_game(driver, server)
    driver.poll(0.01)
    monkeypatch.setattr("spielleiter.bench.driver.HANG_SECONDS", 0.01)
    with pytest.raises(RuntimeError, match="a game hangs"):
        driver.play()


def test_a_driver_ends_with_its_input(server: Server) -> None:
    plan = Plan(server.port, "swc_test", REQUEST, [SCRIPT], 1)
    process = start_python(["-m", "spielleiter.bench.driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(plan.to_json() + "\n")
        process.stdin.flush()
        administrator = server.accept()
        administrator.sendall(PREPARED)
        players = [server.accept(), server.accept()]
        players[0].sendall(POSITION + REQUEST.encode())
        assert json.loads(process.stdout.readline()) == "ready"
        process.stdin.close()
        assert json.loads(process.stdout.readline()) == {"over": 0, "broken": 0, "cut_off": [ROOM_ID]}
        assert process.wait(HANG_TIMEOUT) == 0
    finally:
        end(process)


def test_figures_follow_from_the_reports_of_the_drivers() -> None:
    report = {"seconds": 2.0, "moves": 50, "subject_seconds": 0.5, "games": 1, "playing": 3}
    one = {**report, "latencies": [0.3, 0.1], "start_times": [0.7], "driver_seconds": 0.8, "longest_wait": 0.9}
    other = {**report, "latencies": [0.2], "start_times": [0.5], "driver_seconds": 1.2, "longest_wait": 0.1}
    found = {name: value for name, (value, _) in combined_figures([one, other]).items()}
    assert found["throughput"] == 50
    assert found["latency median"] == 200
    assert found["latency max"] == 900, "a player that still waits has waited longest"
    assert found["start median"] == 500
    assert found["processor per move"] == 5000
    assert (found["processor busy"], found["driver busy"]) == (0.25, 0.6)
    assert (found["games ended"], found["games playing"]) == (2, 6)


@pytest.mark.slow
@pytest.mark.parametrize("observers", [0, 1])
def test_several_drivers_measure_the_same_interval(observers: int) -> None:
    load = load_of("blokus-2027")
    with running_floor(load, observers) as floor:
        plan = plan_of(load, floor.port, 3, pid=floor.pid, observers=observers)
        with running_drivers(plan, 2) as drivers:
            measured = drivers.measure(0.2)
    assert measured["throughput"][0] > 50
    assert measured["processor busy"][0] > 0
    assert drivers.broken == 0
    assert 0 < len(drivers.cut_off) <= 3


@pytest.mark.slow
def test_a_driver_that_crashes_is_an_error_of_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    unused_port = 1
    text = r"^a driver has ended before its time \(exit code 1: ConnectionRefusedError: .*\)$"
    with (
        pytest.raises(BenchError, match=text),
        running_drivers(plan_of(load_of("blokus-2027"), unused_port, 1)),
    ):
        pass
    assert capfd.readouterr().err == ""
