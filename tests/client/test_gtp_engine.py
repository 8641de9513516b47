"""GTP as bytes, and an engine's process: a real one, and the ways in which it can fail."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.client.gtp_engine import (
    Engine,
    EngineError,
    EngineGoneError,
    EngineProtocolError,
    EngineRefusalError,
    EngineStartError,
    Response,
    ResponseReader,
    encode_command,
    running_engine,
)
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


def test_a_line_break_in_an_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="control characters"):
        encode_command(1, "play", "1", "a1\nquit")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"= \n\n", Response(None, True, "")),
        (b"=12 a1,b1\n\n", Response(12, True, "a1,b1")),
        (b"=12\n\n", Response(12, True, "")),
        (b"= pass\n\n", Response(None, True, "pass")),
        (b"?3 illegal move\r\n\r\n", Response(3, False, "illegal move")),
        (b"=4 name\nversion\nplay\n\n", Response(4, True, "name\nversion\nplay")),
        (b"=5 \nplay\tb\x07\n\n", Response(5, True, "play b")),
        (b"=6 \xff\n\n", Response(6, True, "\N{REPLACEMENT CHARACTER}")),
    ],
)
def test_a_response_is_read(data: bytes, expected: Response) -> None:
    assert ResponseReader().feed(data) == [expected]


def test_text_outside_of_a_response_is_ignored() -> None:
    data = b"Engine 1.0, ready\n\n\n=x\n=1 yes\n\ndebug: 3\n=2 no\n\n"
    assert ResponseReader().feed(data) == [Response(1, True, "yes"), Response(2, True, "no")]


_WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).filter(
    lambda word: word[0] not in "=?"
)
_RESPONSES = st.builds(
    Response, st.integers(0, 999_999_999), st.booleans(), st.lists(_WORDS, max_size=5).map("\n".join)
)


@given(st.lists(_RESPONSES), st.data())
def test_responses_arrive_in_any_pieces(responses: list[Response], data: st.DataObject) -> None:
    stream = b"".join(f"{'=' if each.is_success else '?'}{each.number} {each.text}\n\n".encode() for each in responses)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    reader, found = ResponseReader(), []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[begin:end])
    assert found == responses


@pytest.mark.parametrize("chunk", [b"x" * 1000, b"x\n" * 500, b"= x\n" + b"y\n" * 500])
def test_text_without_a_complete_response_is_bounded(chunk: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.client.gtp_engine.MAX_SIZE", 20 * len(chunk))
    reader = ResponseReader()
    for _ in range(20):
        reader.feed(chunk)
    with pytest.raises(EngineProtocolError, match="without a complete response"):
        reader.feed(chunk)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    assert all(response.text.isprintable() or "\n" in response.text for response in ResponseReader().feed(data))


ECHO = """
import sys
for line in sys.stdin:
    number, *words = line.split()
    if number == "quit":
        break
    {action}
    print(f"={{number}} {{' '.join(words)}}\\n", flush=True)
"""
"""A program that answers each command with its own words."""


def _program(action: str = "pass") -> list[str]:
    return [sys.executable, "-I", "-S", "-c", ECHO.format(action=action)]


async def _error_of(engine: Engine, *words: str) -> EngineError:
    with trio.fail_after(HANG_TIMEOUT), pytest.raises(EngineError) as caught:
        await engine.ask(*words)
    return caught.value


async def test_commands_are_answered_in_order() -> None:
    async with running_engine(_program()) as engine:
        assert await engine.ask("name") == "name"
        assert await engine.ask("play", "1", "a20") == "play 1 a20"
    assert engine.process.returncode == 0


async def test_the_answer_to_an_abandoned_command_is_dropped() -> None:
    async with running_engine(_program()) as engine:
        with trio.CancelScope() as scope:
            scope.cancel()
            await engine.ask("first")
        assert engine.is_busy
        assert await engine.ask("second") == "second"
        assert not engine.is_busy


async def test_answers_without_numbers_belong_to_the_oldest_commands() -> None:
    async with running_engine(_program("number = ''")) as engine:
        with trio.CancelScope() as scope:
            scope.cancel()
            await engine.ask("first")
        assert await engine.ask("second") == "second"
        assert await engine.ask("third") == "third"


async def test_a_refusal_is_an_error_with_the_engines_words() -> None:
    async with running_engine(_program(r"print(f'?{number} not\tnow\n', flush=True); continue")) as engine:
        error = await _error_of(engine, "genmove", "1")
    assert isinstance(error, EngineRefusalError)
    assert str(error) == "it refused genmove: not now"


async def test_the_end_of_an_engine_is_reported_with_its_last_words() -> None:
    action = "sys.stderr.write('starting\\nout of memory\\n' + 'x' * 0); sys.exit(3)"
    async with running_engine(_program(action)) as engine:
        errors = [await _error_of(engine, "genmove"), await _error_of(engine, "name")]
    assert all(isinstance(error, EngineGoneError) for error in errors)
    assert [str(error) for error in errors] == ["it ended with exit code 3 (out of memory)"] * 2


async def test_much_text_on_standard_error_blocks_nothing() -> None:
    async with running_engine(_program("sys.stderr.write('x' * 1_000_000)")) as engine:
        assert await engine.ask("name") == "name"


async def test_endless_text_is_not_collected() -> None:
    action = "[sys.stdout.write('thinking ' * 1000) for _ in iter(int, 1)]"
    async with running_engine(_program(action)) as engine:
        error = await _error_of(engine, "name")
    assert isinstance(error, EngineProtocolError)
    assert engine.process.returncode is not None


async def test_an_engine_that_hangs_is_killed() -> None:
    action = "import time; time.sleep(10_000)"
    async with running_engine(_program(action)) as engine:
        with trio.move_on_after(0.01):
            await engine.ask("genmove")
    assert engine.process.returncode != 0


async def test_an_error_of_the_player_ends_the_engine_and_is_raised_as_it_is() -> None:
    with pytest.raises(LookupError, match="of the player"):
        async with running_engine(_program()) as engine:
            raise LookupError("of the player")
    assert engine.process.returncode is not None


async def test_a_program_that_does_not_exist_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(EngineStartError, match="No such file"):
        async with running_engine([str(tmp_path / "missing")]):
            pass


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")
@pytest.mark.parametrize("action", ["pass", "import time; time.sleep(10_000)"])
async def test_what_an_engine_has_started_ends_with_it(action: str) -> None:
    start = "import subprocess; child = subprocess.Popen(['sleep', '10000'], stdout=2); words = [str(child.pid)]"
    program = _program(f"{start}; print(f'={{number}} {{child.pid}}\\n', flush=True); {action}; continue")
    async with running_engine(program) as engine:
        child = psutil.Process(int(await engine.ask("pid")))
        if action != "pass":
            with trio.move_on_after(0.01):
                await engine.ask("genmove")
    with trio.fail_after(HANG_TIMEOUT):
        while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110 - no event tells it
            await trio.sleep(0.01)
