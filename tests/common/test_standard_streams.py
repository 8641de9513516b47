"""A program ends without a message when nobody reads its output any more, as after `| head`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.timeouts import HANG_TIMEOUT

PROGRAM = """
import sys
from spielleiter.common.standard_streams import end_quietly_without_readers
end_quietly_without_readers()
try:
    print("ä line", file=sys.{stream}, flush={is_flushed})
    print("another", file=sys.{stream}, flush={is_flushed})
except OSError:
    print("seen")
print("the end", file=sys.stderr)
"""


def run(code: str, *options: str, **streams: int) -> subprocess.CompletedProcess[bytes]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        check=False,
        timeout=HANG_TIMEOUT,
        env=environment,
        stdout=pipes["stdout"],
        stderr=pipes["stderr"],
    )


@pytest.fixture
def closed() -> int:
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-u",)])
def test_without_a_reader_of_its_output_a_program_ends_at_once(options: tuple[str, ...], closed: int) -> None:
    done = run(PROGRAM.format(stream="stdout", is_flushed=True), *options, stdout=closed)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_what_python_writes_at_its_end_is_lost_without_a_message(closed: int) -> None:
    done = run(PROGRAM.format(stream="stdout", is_flushed=False), stdout=closed)
    assert done.stderr.splitlines() == [b"the end"]


@pytest.mark.slow
def test_without_a_reader_of_its_messages_a_program_goes_on(closed: int) -> None:
    done = run(PROGRAM.format(stream="stderr", is_flushed=True) + "print('result')", stderr=closed)
    assert (done.returncode, done.stdout.split()) == (0, [b"result"])


@pytest.mark.slow
def test_what_is_read_is_written_unchanged() -> None:
    done = run(PROGRAM.format(stream="stdout", is_flushed=False), "-X", "utf8")
    assert (done.returncode, done.stdout.decode().splitlines()) == (0, ["ä line", "another"])


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")  # noqa: PTH110
def test_a_full_disk_is_still_an_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = run("import sys\n" + PROGRAM.format(stream="stdout", is_flushed=True), stdout=full)
    finally:
        os.close(full)
    assert b"No space left" in done.stderr
