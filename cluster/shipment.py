"""Shipping programs to the machines of a cluster (`--ship`).

A shipped file or folder is placed in the scratch folder of each machine at the same place relative to the current
folder, so that relative paths mean the same there. Paths in command lines that lead to it are replaced.

Invariants: what arrives is used only if its digest is right. Nothing is written outside the scratch folder.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.cluster.site_messages import Item
from spielleiter.common.errors import SetupError, os_error_text
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.programs.command import BUILTIN, Command, join_command, split_command

MAX_SHIPMENT: Final = 1024 * 1024 * 1024
"""The most bytes that are shipped to a machine."""

_SCRATCH: Final = "\ue000scratch\ue000"
"""Stands for the scratch folder in the commands that are sent; a private character, so that no path contains it."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file or folder that is to be shipped."""

    path: str
    """Its absolute path here."""
    target: str
    """Its place in the scratch folder, with slashes."""
    content: bytes
    """The file, or an archive of the folder."""
    is_folder: bool

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


def read_shipment(paths: Iterable[Path], cwd: Path) -> tuple[Shipped, ...]:
    """Read the files and folders to be shipped; `cwd` is the directory that relative paths start from.

    Raises SetupError if one cannot be read, or all together are too large.
    """
    shipment, remaining = [], MAX_SHIPMENT
    for number, path in enumerate(paths, 1):
        absolute = Path(os.path.abspath(Path(cwd, path)))  # noqa: PTH100 - links are kept as they are named
        try:
            entries = list(_entries(absolute, (), ())) if absolute.is_dir() else [("", absolute)]
            remaining -= sum(each.stat().st_size for _, each in entries if not each.is_dir())
            if remaining < 0:
                raise SetupError(f"--ship {path}: more than {MAX_SHIPMENT // 1024**3} GiB; install it on the machines")
            if absolute.is_dir():
                content = _pack(entries)
            elif absolute.exists() and not absolute.is_file():
                raise SetupError(f"--ship {path}: {absolute}: neither a file nor a folder")
            else:
                content = absolute.read_bytes()
        except UnicodeEncodeError as error:
            raise SetupError(f"--ship {path}: {error.object!r} is no valid name of a file; rename it") from None
        except OSError as error:
            raise SetupError(f"--ship {path}: {os_error_text(error)}") from None
        is_below = absolute.is_relative_to(cwd) and absolute != cwd
        target = absolute.relative_to(cwd).as_posix() if is_below else f"shipped/{number}/{absolute.name}"
        shipment.append(Shipped(str(absolute), target, content, absolute.is_dir()))
    return tuple(shipment)


def _entries(folder: Path, parents: tuple[str, ...], above: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Name in the archive and path of everything below a folder, a folder before its content. Raises OSError.

    Links are followed, unless they lead back to a folder that they are in. `parents` are the names of the folders that
    it is in, `above` the same folders with links resolved.
    """
    real = os.path.realpath(folder)
    if real in above:
        return
    for path in sorted(folder.iterdir()):
        names = (*parents, path.name)
        if path.is_dir():
            yield "/".join(names) + "/", path
            yield from _entries(path, names, (*above, real))
        elif path.is_file():
            yield "/".join(names), path


def _pack(entries: Iterable[tuple[str, Path]]) -> bytes:
    """An archive of files and folders. Raises OSError, and UnicodeEncodeError if a name cannot be written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in entries:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # equal folders have equal digests
            info.external_attr = (path.stat().st_mode & 0o777) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, b"" if path.is_dir() else path.read_bytes())
    return buffer.getvalue()


def incoming(scratch: Path, number: int) -> Path:
    """The file in the scratch folder that an item arrives in; `number` is its place among all items."""
    return scratch / f"incoming-{number}"


def unpack_item(item: Item, number: int, scratch: Path) -> None:
    """Put an item that has arrived in its place. Raises OSError, and SetupError if it is damaged."""
    arrived = incoming(scratch, number)
    content = arrived.read_bytes()
    if hashlib.sha256(content).hexdigest() != item.digest:
        raise SetupError(f"{item.target}: it was damaged on its way")
    arrived.unlink()
    place = scratch / item.target
    if not place.resolve().is_relative_to(scratch.resolve()):
        raise SetupError(f"{item.target}: its place is outside the scratch folder")
    place.parent.mkdir(parents=True, exist_ok=True)
    if not item.is_folder:
        place.write_bytes(content)
        place.chmod(0o755)
        return
    place.mkdir(exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            # an archive of system 0 was packed on Windows, which does not know what may be executed
            own = 0o700 if info.is_dir() or info.create_system == 0 else 0o600
            Path(archive.extract(info, place)).chmod(info.external_attr >> 16 & 0o777 | own)


def setup_to_send(setup: MatchSetup, shipment: Sequence[Shipped]) -> MatchSetup:
    """The match as it is sent to machines: openings are sent with each pair, and shipped paths are marked."""
    first, second = (_entrant_to_send(setup, program, shipment) for program in (0, 1))
    return dataclasses.replace(
        setup,
        entrants=(first, second),
        openings=(),
        cwd=_SCRATCH if shipment else setup.cwd,
    )


def _entrant_to_send(setup: MatchSetup, program: int, shipment: Sequence[Shipped]) -> Entrant:
    entrant = setup.entrants[program]
    if not shipment or entrant.command.startswith(BUILTIN):
        return entrant
    cwd = setup.cwd_of(program)
    command = Command.parse(entrant.command, cwd)
    words = [command.words[0], *command.parameters]
    marked = [_marked(word, cwd, shipment) for word in words]
    if not command.is_package and os.path.basename(words[0]) == words[0]:  # noqa: PTH119 - a word may be anything
        marked[0] = words[0]  # a command that is searched for, even if a shipped folder has the same name
    return dataclasses.replace(
        entrant,
        command=entrant.command if marked == words else join_command(marked),
        cwd=_marked(cwd, cwd, shipment) if entrant.cwd else "",
    )


def _marked(word: str, cwd: str, shipment: Sequence[Shipped]) -> str:
    """The word, with the path of a shipped file or folder replaced by its place on the machines."""
    path = os.path.abspath(os.path.join(cwd, word))  # noqa: PTH100, PTH118 - a word may be anything
    for each in shipment:
        if path == each.path:
            return f"{_SCRATCH}/{each.target}"
        if path.startswith(each.path + os.sep):
            return f"{_SCRATCH}/{each.target}/{Path(path).relative_to(each.path).as_posix()}"
    return word


def setup_at(setup: MatchSetup, scratch: Path, run_id: str) -> MatchSetup:
    """The match that `setup_to_send` returned, as it is played on this machine, where `scratch` is the scratch folder.

    `run_id` identifies the processes of this machine. Programs are started in the directory of the match if there is
    one of that path here, otherwise in the scratch folder.
    """
    place = str(scratch)
    entrants = []
    for entrant in setup.entrants:
        command = entrant.command
        if _SCRATCH in command:
            command = join_command(word.replace(_SCRATCH, place) for word in split_command(command))
        entrants.append(dataclasses.replace(entrant, command=command, cwd=entrant.cwd.replace(_SCRATCH, place)))
    first, second = entrants
    cwd = setup.cwd if setup.cwd != _SCRATCH and Path(setup.cwd).is_dir() else place
    return dataclasses.replace(setup, entrants=(first, second), cwd=cwd, run_id=run_id)
