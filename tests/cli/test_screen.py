"""Boards and lines on a terminal while a game goes on, and what a player says while it waits."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

import click
import pytest
import trio
import trio.lowlevel
import trio.testing

from spielleiter.cli.screen import ANNOUNCE_AFTER, Screen, Waiting
from spielleiter.game.api import State
from spielleiter.game.blokus.state import BLOKUS_2027
from spielleiter.protocol.messages import Memento, MoveRequest, WelcomeMessage
from spielleiter.server.editions import EDITIONS
from tests.cli.terminal import pty, seen
from tests.timeouts import HANG_TIMEOUT

NAMES = ("Alice", "Bob")
START = BLOKUS_2027.with_options({"startPiece": "PENTO_V"}).new_state(random.Random(1))


def _positions(count: int) -> list[State]:
    states: list[State] = [START]
    while len(states) < count:
        states.append(states[-1].play(next(iter(states[-1].generate_legal_moves()))))
    return states


POSITIONS = _positions(4)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def on(monkeypatch: pytest.MonkeyPatch, out: TextIO, *, board: bool | None = None) -> Screen:
    monkeypatch.setattr(sys, "stdout", out)
    return Screen(board=board)


async def call_in_turn(screen: Screen, *steps: Callable[[], None]) -> None:
    """Call these functions; what each of them shows is written before the next one is called."""
    screen.write_immediately()
    async with screen.running():
        for step in steps:
            step()
            await trio.testing.wait_all_tasks_blocked()


def turns(lines: list[str]) -> list[str]:
    return [line[43:].strip() for line in lines if ", round " in line]


async def test_the_board_is_drawn_in_place_with_the_lines_above(monkeypatch: pytest.MonkeyPatch) -> None:
    with pty() as terminal:
        screen = on(monkeypatch, terminal.file)
        steps: list[Callable[[], None]] = []
        for number, state in enumerate(POSITIONS):
            steps += [lambda n=number: screen.say(f"move {n}"), lambda s=state: screen.show(s, NAMES)]  # type: ignore[misc]
        await call_in_turn(screen, *steps, lambda: screen.say("over", below=True), lambda: screen.say("bye"))
        lines = seen(terminal.end(), 80, 24)
    assert lines[:4] == ["move 0", "move 1", "move 2", "move 3"]
    assert turns(lines) == ["turn 3, round 1"]
    assert len(lines) == 4 + 21 + 2
    assert lines[-2:] == ["over", "bye"]


@pytest.mark.parametrize(("value", "is_coloured"), [(None, True), ("", True), ("1", False)])
async def test_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, value: str | None, is_coloured: bool) -> None:
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    with pty() as terminal:
        screen = on(monkeypatch, terminal.file)
        await call_in_turn(screen, lambda: screen.show(POSITIONS[1], NAMES))
        assert ("\033[97m\033[44m" in terminal.end()) is is_coloured


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii"])
async def test_every_encoding_has_enough_characters(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    with pty(encoding=encoding) as terminal:
        screen = on(monkeypatch, terminal.file)
        await call_in_turn(screen, lambda: screen.say("∞ Jörg"), lambda: screen.show(START, ("日本", "Jörg")))
        text = "\n".join(seen(terminal.end(), 80, 24))
    assert ("∞" in text) is (encoding == "utf-8")
    assert ("Jörg: 0 points" in text) is (encoding != "ascii")
    assert (" 0 . . ." in text) is (encoding == "ascii")
    assert (" 0 · · ·" in text) is (encoding != "ascii")


async def test_lines_are_split_between_words_and_wide_names_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pty(columns=60) as terminal:
        screen = on(monkeypatch, terminal.file)
        names = ("日本語の名前です", "자두 나무 숲")
        line = f"over: {names[0]} wins 136:127; {names[1]}: SOFT_TIMEOUT"
        await call_in_turn(screen, lambda: screen.show(START, names), lambda: screen.say(line, below=True))
        lines = seen(terminal.end(), 60, 24)
    assert lines[-2:] == ["over: 日本語の名前です wins 136:127; 자두 나무 숲:", "  SOFT_TIMEOUT"]


async def test_a_resized_terminal_gets_a_new_board_below(monkeypatch: pytest.MonkeyPatch) -> None:
    with pty() as terminal:
        screen = on(monkeypatch, terminal.file)

        def resize() -> None:
            monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((60, 24)))

        await call_in_turn(screen, lambda: screen.show(START, NAMES), resize, lambda: screen.show(POSITIONS[1], NAMES))
        assert "\033[21A" not in terminal.end()


@pytest.mark.parametrize(("columns", "rows"), [(0, 24), (80, 0)])
async def test_a_terminal_without_a_size_has_the_usual_size(
    monkeypatch: pytest.MonkeyPatch, columns: int, rows: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    monkeypatch.setattr(sys, "__stdout__", None)  # shutil would use its size
    with pty(columns=columns, rows=rows) as terminal:
        screen = on(monkeypatch, terminal.file)
        await call_in_turn(screen, lambda: screen.say("hello"), lambda: screen.show(START, NAMES))
        lines = seen(terminal.end(), 80, 24)
    assert lines[0] == "hello"
    assert turns(lines) == ["turn 0, round 1"]


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (80, 12)])
async def test_a_board_that_does_not_fit_is_not_drawn(columns: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with pty(columns=columns, rows=rows) as terminal:
        screen = on(monkeypatch, terminal.file)
        await call_in_turn(screen, lambda: screen.show(START, NAMES), lambda: screen.say("a line"))
        assert terminal.end().split() == ["a", "line"]


async def test_a_process_in_the_background_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
    with pty() as terminal:
        screen = on(monkeypatch, terminal.file)
        assert not screen.is_in_foreground
        await call_in_turn(screen, lambda: screen.show(START, NAMES), lambda: screen.say("a line"))
        assert terminal.end() == "a line\r\n"


async def test_a_dumb_terminal_gets_one_board_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with pty() as terminal:
        screen = on(monkeypatch, terminal.file)
        await call_in_turn(screen, *[lambda s=state: screen.show(s, NAMES) for state in POSITIONS])
        written = terminal.end()
    assert "A" not in {kind for kind in written.split("\033[")[1:] for kind in kind[:3]}
    assert turns(seen(written, 80, 24)) == [f"turn {turn}, round 1" for turn in range(4)]


@pytest.mark.parametrize(("board", "count"), [(None, 0), (False, 0), (True, 4)])
async def test_without_a_terminal_boards_are_drawn_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], board: bool | None, count: int
) -> None:
    screen = Screen(board=board)
    async with screen.running():
        for state in POSITIONS:
            screen.show(state, NAMES)
        screen.say("a line " * 30)
    out = capsys.readouterr().out
    assert "\033" not in out
    assert out.endswith(f"{'a line ' * 30}\n")
    assert len(out.splitlines()) == 21 * count + 1


async def test_lines_before_an_error_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(err=True)

    async def fail() -> None:
        async with screen.running():
            screen.say("before")
            raise ValueError("oh")

    with pytest.raises(ValueError, match="oh"):
        await fail()
    assert capsys.readouterr().err == "before\n"


async def test_nobody_waits_for_a_slow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a write blocks, everything else goes on; of the positions in this time only the last one is drawn."""
    goes_on, has_begun = threading.Event(), threading.Event()
    with pty() as terminal:
        screen = on(monkeypatch, terminal.file)
        echo = click.echo

        def hang(text: str, **how: Any) -> None:
            has_begun.set()
            assert goes_on.wait(timeout=HANG_TIMEOUT)
            echo(text, **how)

        monkeypatch.setattr("spielleiter.cli.screen.click.echo", hang)
        async with screen.running():
            screen.show(START, NAMES)
            assert await trio.to_thread.run_sync(has_begun.wait, 60)
            for state in POSITIONS[1:]:
                screen.show(state, NAMES)
                await trio.lowlevel.checkpoint()
            screen.write_immediately()
            goes_on.set()
        written = terminal.end()
    assert written.count("turn 0, round 1") == 1
    assert written.count("turn 3, round 1") == 1
    assert "turn 1, round 1" not in written


@pytest.mark.parametrize("err", [True, False])
async def test_a_closed_terminal_does_not_end_a_player(monkeypatch: pytest.MonkeyPatch, err: bool) -> None:
    with pty() as terminal:
        monkeypatch.setattr(sys, "stderr" if err else "stdout", terminal.file)
        screen = Screen(err=err)

        def fail(*_: object, **__: object) -> None:
            raise BrokenPipeError

        monkeypatch.setattr("spielleiter.cli.screen.click.echo", fail)
        if err:
            async with screen.running():
                screen.say("a line")
        else:
            with pytest.raises(BaseExceptionGroup) as caught:
                async with screen.running():
                    screen.say("a line")
            assert caught.group_contains(BrokenPipeError)


def position(edition: str) -> Memento:
    return Memento(EDITIONS[edition].game.new_state(random.Random(1)))


def waiting(edition: str = "blokus-2027") -> tuple[Waiting, list[str]]:
    announced: list[str] = []
    return Waiting(announced.append, lambda: EDITIONS[edition].dialect.team_names), announced


@pytest.mark.parametrize(
    ("edition", "seat", "line"),
    [
        ("blokus-2027", 0, "the game begins: you are player ONE (BLUE, RED)"),
        ("hase-und-igel-2018", 1, "the game begins: you are player BLUE"),
    ],
)
def test_the_beginning_names_the_player(edition: str, seat: int, line: str) -> None:
    announcer, announced = waiting(edition)
    announcer.note(WelcomeMessage(seat))
    assert announced == []
    announcer.note(position(edition))
    announcer.note(MoveRequest())
    announcer.note(position(edition))
    assert announced == [line]


def test_a_server_without_a_welcome_names_nobody() -> None:
    announcer, announced = waiting()
    announcer.note(position("blokus-2027"))
    assert announced == ["the game begins"]


async def test_waiting_is_announced_after_a_while(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    announcer, announced = waiting()
    awaited = "an opponent"
    nursery.start_soon(announcer.run, lambda: awaited)
    awaited = "an opponent in room r"
    await trio.sleep(ANNOUNCE_AFTER / 2)
    assert announced == []
    await trio.sleep(ANNOUNCE_AFTER)
    assert announced == ["waiting for an opponent in room r"]
    announcer.note(WelcomeMessage(0))
    await trio.sleep(ANNOUNCE_AFTER / 2)
    assert len(announced) == 1
    await trio.sleep(ANNOUNCE_AFTER)
    assert announced[1:] == ["both players are here; waiting for the game to be resumed"]
    announcer.note(position("blokus-2027"))
    assert announced[2:] == ["the game begins: you are player ONE (BLUE, RED)"]
