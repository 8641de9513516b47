"""The end of a program: what the connection to it does after the game, and which programs are tolerated."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.match.checking.scripted_server import (
    EARLY_ENDINGS,
    ScriptedServer,
    ToleratedError,
    UnexpectedBehaviourError,
    result_of,
)
from spielleiter.match.games.stopwatch import Stopwatch
from tests.match.checking.scripted import EDITION, UNTIL_THE_END, run_scripted, sender
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits


@pytest.fixture(autouse=True)
def _long_exit_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a process that has closed its connection, however busy this machine is."""
    monkeypatch.setattr("spielleiter.match.checking.scripted_server._EXIT_TIMEOUT", HANG_TIMEOUT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (
            sender("b'<protocol>'", "s.recv(100); time.sleep(500)"),
            "the process still runs 0.1 s after the end of the stream",
        ),
        (
            sender("b'<protocol></protocol>'", "s.recv(100); time.sleep(500)"),
            "the process still runs 0.1 s after the end of the game",
        ),
        (sender("b'<protocol>'", "s.recv(100); import os; os.abort()"), "the process ended by signal 6"),
    ],
)
async def test_a_program_that_does_not_end_is_unexpected(
    command: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stopwatch, "seconds_lost", lambda _stopwatch, _pids=(): 0.0)

    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish(result_of(EDITION, scripted_server, EARLY_ENDINGS[0]))
        await scripted_server.expect_exit(0.1 if "sleep" in command else HANG_TIMEOUT)

    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(command, act, tmp_path)


@pytest.mark.slow
async def test_a_program_that_waits_for_the_end_of_the_stream_is_only_tolerated(tmp_path: Path) -> None:
    """No official server ends the stream of a player that has not said goodbye."""

    async def attempt(limit: float) -> None:
        async def act(scripted_server: ScriptedServer) -> None:
            await scripted_server.wait_for_connection()
            await scripted_server.finish(result_of(EDITION, scripted_server, EARLY_ENDINGS[0]))
            await scripted_server.expect_exit(limit)

        with pytest.raises(UnexpectedBehaviourError) as caught:
            await run_scripted(sender("b'<protocol>'", UNTIL_THE_END), act, tmp_path)
        assert isinstance(caught.value, ToleratedError)  # another error if this machine is too busy for the limit
        assert str(caught.value) == "the process ended with exit code 0, but not before the server had ended the stream"
        assert caught.value.remark.startswith("the official server leaves the stream open after a game")

    await retry_with_longer_limits(attempt, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("goodbye", ["<close/>", "</protocol>", "<close/></protocol>"])
async def test_a_goodbye_is_answered_with_the_end_of_the_stream(goodbye: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish(result_of(EDITION, scripted_server, EARLY_ENDINGS[0]))
        assert await scripted_server.expect_exit(HANG_TIMEOUT) == "the process ended with exit code 0"

    await run_scripted(sender(f"b'<protocol>{goodbye}'", UNTIL_THE_END), act, tmp_path)
