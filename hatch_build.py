"""Build hook for hatchling: makes the links in `src/spielleiter` that an editable install needs.

A wheel is built from the folders at the top of the repository and needs no links. An editable install puts `src` on the
import path, where `src/spielleiter/game` is a link to `game`, and so on. These links are missing in an unpacked sdist,
and Git on Windows checks them out as text files that contain the link's target.

Invariants: only an editable install changes anything. A file is replaced only if it is such a text file. If a link
cannot be made, the installation ends with one message that says what to do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinkError(Exception):
    """A link is missing and cannot be made; the text says why and what to do."""


def require_link(link: Path, folder: Path) -> None:
    """Make `link` a relative link to `folder`, unless it already is one. Raises LinkError."""
    if link.resolve() == folder.resolve():
        return
    target = Path(*[".."] * len(link.parent.relative_to(folder.parent).parts), folder.name)
    is_text = link.is_file() and link.read_bytes().rstrip() == target.as_posix().encode()
    if link.is_symlink() or (link.exists() and not is_text):
        raise LinkError(f"{link} is in the way of a link to {target.as_posix()}: remove it and try again.")
    try:
        link.unlink(missing_ok=True)
        link.symlink_to(target, target_is_directory=True)
    except OSError as error:
        if is_text:
            link.write_text(target.as_posix(), encoding="utf-8", newline="")
        raise LinkError(
            f"{link} cannot be made a link to {target.as_posix()} ({error.strerror or error}). On Windows, turn on "
            "Developer Mode and try again, or install without links: pip install ."
        ) from None


class LinkHook(BuildHookInterface[Any]):
    """Makes the links, one for each folder that the wheel's `sources` in pyproject.toml put into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Called by hatchling before it builds; `version` is `standard` for a wheel, else `editable`."""
        if version != "editable":
            return
        root = Path(self.root)
        try:
            for folder, package in self.build_config.sources.items():
                if package:
                    require_link(root / "src" / package, root / folder)
        except LinkError as error:
            self.app.abort(str(error))
