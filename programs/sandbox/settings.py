"""How a program is to be confined, as it is stored with a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

AUTO: Final = "auto"
DOCKER: Final = "docker"
PODMAN: Final = "podman"
BUBBLEWRAP: Final = "bubblewrap"
NONE: Final = "none"
KINDS: Final = (AUTO, DOCKER, PODMAN, BUBBLEWRAP, NONE)
"""The kinds of sandboxes that can be asked for."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """The sandbox of an entrant: `kind` is one of KINDS, `image` the container image; None for none.

    `python` is the version of Python that the program is built for, such as ``3.12``; empty if it does not matter. It
    is used if there is no image and this machine has it.
    """

    kind: str = AUTO
    image: str | None = None
    python: str = ""
