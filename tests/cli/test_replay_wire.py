"""`spielleiter replay-wire`: its lines and exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.background import BackgroundServer, background_server, run

OLD = "7b40729d-1d82-4718-8dcb-08bd5eaada5e"
EQUAL = (
    '->  <protocol><join gameType="swc_2027_blokus"/>',
    "<-  <protocol>",
    f'<- |  <joined roomId="{OLD}"/>',
)


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    with background_server() as running:
        yield running


def recording(folder: Path, *lines: str) -> str:
    path = folder / "trace.txt"
    path.write_text("".join(f"   0.000000   +0.000  c1     {line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_equal_answers(server: BackgroundServer, tmp_path: Path) -> None:
    done = run("replay-wire", recording(tmp_path, *EQUAL), "--to", str(server.port))
    assert done.exit_code == 0
    first, second = done.output.splitlines()
    assert first == f"2 answers of 127.0.0.1:{server.port} compared: all are equal"
    assert second.startswith("treated as equal: white space between elements; ids of rooms")
    assert second.endswith("(1 here)")


def test_answers_that_differ(server: BackgroundServer, tmp_path: Path) -> None:
    path = recording(tmp_path, *EQUAL[:2], "<- |  <left/>", "<- ~ 7 bytes", "<- |  <more/>")
    done = run("replay-wire", path, "--to", f"127.0.0.1:{server.port}")
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert lines[0] == "line 3 (c1, 0.000 s): the answer differs"
    assert lines[1] == "    -<left/>"
    assert lines[3] == (
        "incomplete: line 4 (c1, 0.000 s): the recording lacks 7 bytes that the server sent; stopped here"
    )
    assert lines[4] == f"2 answers of 127.0.0.1:{server.port} compared, 1 recorded answer not: 1 differ"
    hidden = run("replay-wire", path, "--to", f"127.0.0.1:{server.port}", "--show", "0")
    assert hidden.output.splitlines()[0].startswith("incomplete: ")


def test_something_is_missing_in_the_recording(server: BackgroundServer, tmp_path: Path) -> None:
    path = recording(tmp_path, *EQUAL, "-> ~ 7 bytes", "<- |  <left/>")
    done = run("replay-wire", path, "--to", f"127.0.0.1:{server.port}")
    assert done.exit_code == 4
    lines = done.output.splitlines()
    assert lines[0].startswith("incomplete: line 4 (c1, 0.000 s): the recording lacks 7 bytes that the client sent")
    where = f"127.0.0.1:{server.port}"
    assert lines[1] == f"2 answers of {where} compared, 1 recorded answer not: all that were compared are equal"


def test_misuse(server: BackgroundServer, tmp_path: Path) -> None:
    path = recording(tmp_path, *EQUAL)
    for arguments, problem in (
        ((), "Missing argument 'FILE...'"),
        ((str(tmp_path / "missing.txt"),), "cannot be read (No such file or directory)"),
        ((path, "--to", "1"), "cannot be reached (nobody listens there)"),
        ((path, "--to", "\u00e4" * 70 + ":1"), "cannot be reached (no such host)"),
        (
            (recording(tmp_path / "..", "->  <protocol>"), "--to", str(server.port)),
            "has no answer that could be compared",
        ),
    ):
        done = run("replay-wire", *arguments)
        assert done.exit_code == 2
        assert problem in done.stderr
