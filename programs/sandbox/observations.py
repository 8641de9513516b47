"""What is known about a program after it has run in a sandbox."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Observations:
    """What was observed of one run. Sizes are in bytes; None means that this sandbox cannot know it."""

    sandbox: str
    """The name of the sandbox."""
    peak_memory: int | None = None
    """The most memory that the program and its processes had together."""
    exceeded_memory: bool = False
    """Whether it was killed because it used more memory than the limit."""
    exceeded_processes: bool = False
    """Whether it was killed because it had too many processes and threads."""
    exceeded_disk: bool = False
    """Whether it was killed because it wrote too much, or made folders that cannot be looked into."""
    hid_files: bool = False
    """Whether a process of it did not show its open files, so that its memory and files were not seen completely."""
    not_limited: tuple[str, ...] = ()
    """What nothing limited here, of the values of `conditions.LIMITS`."""
    network_attempts: int | None = None
    """How many packets and connections to other machines were refused; a look-up of a name counts as well.

    Only attempts that need a route are seen. Connections within the program's own machine are no attempts.
    """
    window_attempts: tuple[str, ...] = ()
    """The lines in its outputs that say that a window could not be opened (windows.py)."""
    output_size: int = 0
    """The size of standard output and standard error together, as far as they were read."""
    files_written: int = 0
    """The number of files in its folder, home folder and temporary folder that are new or changed."""
    bytes_written: int = 0
    """The size of these files."""
    leftovers: tuple[str, ...] = ()
    """The processes that outlived it."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What it tried that the contest does not have, and what could not be limited, in words."""
        remarks = [f"its {what} could not be limited here" for what in self.not_limited]
        if self.hid_files:
            remarks.append("hid open files or memory, so that these could not be watched completely")
        attempts = (("use the network", self.network_attempts), ("open a window", self.window_attempts))
        remarks += [f"tried to {what}, which the contest does not have" for what, found in attempts if found]
        return tuple(remarks)

    def to_json(self) -> dict[str, Any]:
        """A JSON object whose keys are the names of the fields."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Observations:
        """The observations that `to_json` wrote as `value`. Raises TypeError."""
        names = {field.name for field in dataclasses.fields(cls)}
        known: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in value.items() if name in names
        }
        return cls(**known)
