"""Coverage-guided fuzzing: `python -m tests.fuzz stream|replay SECONDS` searches for inputs that trigger a bug.

It needs atheris, which `make fuzz-guided` installs from a lock of its own where there are wheels. The search starts
from the inputs in `tests/corpus`, and inputs that reach new code are saved in `.hypothesis/fuzz`. An input that
triggers a bug is saved there as `crash-...`. Copy it to `tests/corpus`: `tests/test_fuzz.py` tries everything there
in every run, with or without atheris.

Invariant: for any bytes, a target raises an exception only if there is a bug.
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
INSTRUMENTED: Final = [
    "spielleiter.game",
    "spielleiter.protocol",
    "spielleiter.server.replay",
    "spielleiter.viewer.replay_files",
]
"""The modules and packages whose coverage guides the search."""
_MAX_LENGTH: Final = 16 * 1024
_MIN_LENGTH: Final = 2

Target = Callable[[bytes], None]


def try_stream(data: bytes) -> None:
    """Read the bytes of a peer. The first byte chooses season and role, the second one the size of the pieces."""
    from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
    from spielleiter.protocol.errors import Refusal, RemoteProtocolError
    from spielleiter.server.editions import EDITIONS

    if len(data) < _MIN_LENGTH:
        return
    (choice, size), stream = data[:2], data[2:]
    editions = list(EDITIONS.values())
    dialect = editions[choice // 2 % len(editions)].dialect
    connection = Connection(Role.CLIENT if choice % 2 else Role.SERVER, dialect)
    pieces = [stream[start : start + (size or _MAX_LENGTH)] for start in range(0, len(stream), size or _MAX_LENGTH)]
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
    """Load a replay to start a game from, and show it. The first byte is the turn, the rest is the file."""
    from spielleiter.server.editions import EDITIONS
    from spielleiter.server.replay import ReplayError, load_starting_states
    from spielleiter.viewer.game_json import describe_game
    from spielleiter.viewer.replay_files import ReplayFileError, read_replay

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replay.xml"
        path.write_bytes(data[1:])
        with contextlib.suppress(ReplayError):
            load_starting_states(path, sum(data[:1]), EDITIONS)
    with contextlib.suppress(ReplayFileError):
        describe_game(read_replay(data[1:], "replay.xml"))


TARGETS: Final[dict[str, Target]] = {"stream": try_stream, "replay": try_replay}


def main() -> None:
    name, seconds = sys.argv[1:]
    try:
        import atheris
    except ImportError:
        sys.exit("Coverage-guided fuzzing needs atheris: `make fuzz-guided` installs it where it can")
    with atheris.instrument_imports(include=INSTRUMENTED):
        TARGETS[name](b"\0\0<protocol/>")  # imports the modules that it uses
    found = _FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-max_len={_MAX_LENGTH}", f"-artifact_prefix={found}/", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, str(found), str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
