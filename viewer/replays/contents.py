"""The bytes of a replay file: read from the disk and decompressed, both within a bound.

Invariants: no more than the bound is ever in memory, however large the file is or however much it claims to hold.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Final

from spielleiter.viewer.replays.errors import ReplayFileError

MOST_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of a replay, packed and unpacked. A game of Blokus has about 1 MiB, other games less."""

_GZIP: Final = b"\x1f\x8b"


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, as they are. Raises ReplayFileError."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ReplayFileError("Diese Datei gibt es nicht.", "There is no such file.") from None
    except IsADirectoryError:
        raise ReplayFileError(
            "Das ist ein Ordner und keine Replay-Datei.", "This is a folder and not a replay."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        why = getattr(error, "strerror", None) or str(error)
        raise ReplayFileError(
            f"Die Datei kann nicht gelesen werden (das System meldet „{why}“).", f"The file cannot be read ({why})."
        ) from None
    _require_size(content)
    return content


def unpacked(content: bytes) -> bytes:
    """Return `content`, decompressed if it is compressed with gzip. Raises ReplayFileError."""
    _require_size(content)
    if not content.startswith(_GZIP):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            plain = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise ReplayFileError(
            "Die gepackte Datei ist beschädigt oder nicht vollständig.",
            "The compressed file is damaged or incomplete.",
        ) from None
    _require_size(plain)
    return plain


def _require_size(content: bytes) -> None:
    if len(content) > MOST_BYTES:
        most = MOST_BYTES >> 20
        raise ReplayFileError(
            f"Die Datei ist zu groß für ein Replay: Sie hat ausgepackt mehr als {most} MiB.",
            f"The file is too large for a replay: it has more than {most} MiB when it is unpacked.",
        )
