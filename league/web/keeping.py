"""The teacher's backup and export as files to download: made in the background, while a page shows how far that is.

There is one file at a time, in a folder of its own within that of the league. It goes after an hour, when another one
is made, and when the league ends.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

import trio
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from spielleiter.league.backup import write_backup
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.export import write_export_zip
from spielleiter.league.log import TEACHER, Action, note
from spielleiter.league.web.visits import Visits, read_form, see_other
from spielleiter.viewer.web.answers import WebError

Kind: TypeAlias = Literal["backup", "export"]
KEPT_SECONDS: Final = 3600.0
"""Seconds for which a finished file can be downloaded."""
_FOLDER: Final = ".keep-"
"""The beginning of the names of the folders in which the files are."""
_MADE: Final[Mapping[Kind, Action]] = {"backup": "keep-backup", "export": "keep-export"}
_DOWNLOADED: Final[Mapping[Kind, Action]] = {"backup": "download-backup", "export": "download-export"}
"""The names of the entries of the log."""
_NO_ADDRESS: Final = WebError(404, "Diese Adresse gibt es hier nicht.", "There is no such address here.")
_NO_FILE: Final = WebError(
    404, "Diese Datei gibt es nicht mehr; erzeugen Sie sie noch einmal.", "This file is gone; have it made once more."
)


@dataclass(slots=True)
class KeptFile:
    """A file that is being made, or can be downloaded."""

    kind: Kind
    day: str
    share: float = 0.0
    """How much of it is done, up to 1."""
    path: Path | None = None
    """The file; None until it is complete."""
    size: int = 0
    """Bytes of the complete file."""
    problem: str = ""
    """Why it could not be made, in English; empty if nothing went wrong."""
    is_bug: bool = False
    """Whether the problem is a bug of the league."""

    @property
    def name(self) -> str:
        """The name for the browser."""
        return f"liga-{self.day}.{'backup' if self.kind == 'backup' else 'zip'}"

    @property
    def is_being_made(self) -> bool:
        return self.path is None and not self.problem


class Keeping:
    """Makes the files while `run` runs, which owns the work; `report_bug` is called with unexpected exceptions."""

    def __init__(self, visits: Visits, report_bug: Callable[[BaseException], object]) -> None:
        self.file: KeptFile | None = None
        self._visits = visits
        self._report_bug = report_bug
        self._wanted = trio.Event()
        self._making = trio.CancelScope()

    async def run(self) -> None:
        """Make what is wanted until cancelled."""
        parent = self._visits.database.path.parent
        await trio.to_thread.run_sync(_remove_folders, parent)  # of a process that was killed
        try:
            while True:
                with trio.move_on_after(KEPT_SECONDS):
                    await self._wanted.wait()
                if not self._wanted.is_set():
                    self.file = None
                await trio.to_thread.run_sync(_remove_folders, parent)
                self._wanted = trio.Event()  # what is wanted by now is made now
                if (file := self.file) is not None:
                    with trio.CancelScope() as self._making:
                        await self._make(file)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(_remove_folders, parent)

    def want(self, file: KeptFile | None) -> None:
        """Make this file in place of the one that is there or being made; None: none."""
        self.file = file
        self._making.cancel()
        self._wanted.set()

    async def _make(self, file: KeptFile) -> None:
        database = self._visits.database

        def tell(share: float) -> None:
            trio.from_thread.check_cancelled()
            file.share = share

        def make() -> Path:
            path = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=database.path.parent)) / file.kind
            if file.kind == "backup":
                write_backup(database, path, tell)
            else:
                write_export_zip(database, path, file.day, tell)
            file.size = path.stat().st_size
            return path

        try:
            path = await trio.to_thread.run_sync(make)
            await database.write(note, TEACHER, _MADE[file.kind], self._visits.now())
            file.path = path
        except Exception as error:  # the pages go on whatever it is
            file.is_bug = not isinstance(error, LeagueDiskError | LeagueFileError | OSError)
            file.problem = repr(error) if file.is_bug else str(error)
            if file.is_bug:
                self._report_bug(error)
            await trio.to_thread.run_sync(_remove_folders, database.path.parent)
        self._visits.director.changed.publish()

    def routes(self) -> list[BaseRoute]:
        """Return the routes of these pages."""
        visits = self._visits

        async def page(request: Request) -> Response:
            """How far the file is, or the link to it."""
            visit = await visits.open(request, "teacher")
            return visit.page("keep", file=self.file)

        async def keep(request: Request) -> Response:
            """Begin to make a file (`backup`, `export`), or throw it away (`discard`)."""
            visit = await visits.open(request, "teacher")
            await read_form(request, visit.session)
            day = f"{datetime.fromtimestamp(visit.now, UTC).astimezone():%Y-%m-%d}"
            match request.path_params["action"]:
                case "backup" | "export" as kind:
                    # a second click does not begin it anew
                    if self.file is None or not self.file.is_being_made or self.file.kind != kind:
                        self.want(KeptFile(kind, day))
                case "discard":
                    self.want(None)
                case _:
                    raise _NO_ADDRESS
            return see_other("/teacher/keep")

        async def download(request: Request) -> Response:
            """The file."""
            visit = await visits.open(request, "teacher")
            file = self.file
            if file is None or file.path is None:
                raise _NO_FILE
            if request.method == "GET":
                with suppress(LeagueDiskError):  # a full disk is no reason to keep the backup from the teacher
                    await visits.database.write(note, TEACHER, _DOWNLOADED[file.kind], visit.now)
            return FileResponse(file.path, media_type="application/octet-stream", filename=file.name)

        return [
            Route("/teacher/keep", page),
            Route("/teacher/keep/file", download),
            Route("/teacher/keep/{action}", keep, methods=["POST"]),
        ]


def _remove_folders(folder: Path) -> None:
    for path in folder.glob(f"{_FOLDER}*"):
        shutil.rmtree(path, ignore_errors=True)
