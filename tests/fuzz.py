"""Coverage-guided fuzzing: `python -m tests.fuzz stream|replay SECONDS` looks for input that meets a bug of ours.

Needs atheris, which is for Linux only and no part of the development lock. It begins with the inputs in `tests/corpus`
and keeps what reaches new code in `.hypothesis/fuzz`. An input that meets a bug is written there as `crash-...`;
copied to `tests/corpus`, it is tried by `tests/test_fuzz.py` in every run, with and without atheris.

Invariant: a target raises nothing, whatever the bytes, unless there is a bug.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).parent / "corpus"
_FOUND: Final = Path(__file__).parents[1] / ".hypothesis" / "fuzz"
_INSTRUMENTED: Final = ["spielleiter.game", "spielleiter.protocol", "spielleiter.server.record.replay"]
_LONGEST: Final = 16 * 1024
_FEWEST_BYTES: Final = 2

Target = Callable[[bytes], None]


def try_stream(data: bytes) -> None:
    """A peer's bytes. The first one says which season and end reads them, the second one how they are cut."""
    from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
    from spielleiter.protocol.errors import Refusal, RemoteProtocolError
    from spielleiter.server.editions import EDITIONS

    if len(data) < _FEWEST_BYTES:
        return
    (choice, size), stream = data[:2], data[2:]
    editions = list(EDITIONS.values())
    dialect = editions[choice // 2 % len(editions)].dialect
    connection = Connection(Role.CLIENT if choice % 2 else Role.SERVER, dialect)
    pieces = [stream[start : start + (size or _LONGEST)] for start in range(0, len(stream), size or _LONGEST)]
    for piece in (*pieces, b""):
        connection.receive_data(piece)
        while True:
            try:
                event = connection.next_event()
            except RemoteProtocolError as error:
                if error.refusal is Refusal.BUG:
                    raise
                event = error.original
                if event is None:
                    continue
            if event is None or isinstance(event, ConnectionClosed):
                break
            if not isinstance(event, StreamEnd):
                dialect.encode(event)


def try_replay(data: bytes) -> None:
    """A file that a server is told to start from; the first byte says from which turn."""
    from spielleiter.server.editions import EDITIONS
    from spielleiter.server.record.replay import ReplayError, load_starting_states

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replay.xml"
        path.write_bytes(data[1:])
        with contextlib.suppress(ReplayError):
            load_starting_states(path, sum(data[:1]), EDITIONS)


TARGETS: Final[dict[str, Target]] = {"stream": try_stream, "replay": try_replay}


def main() -> None:
    name, seconds = sys.argv[1:]
    try:
        import atheris
    except ImportError:
        sys.exit("Coverage-guided fuzzing needs atheris (Linux): .venv/bin/python -m pip install 'atheris>=3.0'")
    with atheris.instrument_imports(include=_INSTRUMENTED):
        TARGETS[name](b"\0\0<protocol/>")  # imports what it needs
    found = _FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-max_len={_LONGEST}", f"-artifact_prefix={found}/", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, str(found), str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
