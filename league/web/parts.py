"""What the pages need of the other parts of a league."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spielleiter.viewer.web.answers import Versions
from spielleiter.viewer.web.game_server import Connect


class StandingsRow(Protocol):
    """One line of the table: a version that takes part."""

    @property
    def rank(self) -> int | None:
        """From 1; None for an anchor, which has no rank."""

    @property
    def version_id(self) -> int: ...
    @property
    def team_id(self) -> int | None:
        """None: an anchor."""

    @property
    def name(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def rating(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def trend(self) -> float | None:
        """The change of the rating since yesterday; None if there was none."""

    @property
    def points(self) -> int:
        """As the contest counts them."""

    @property
    def games(self) -> int: ...
    @property
    def wins(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def losses(self) -> int: ...
    @property
    def faults(self) -> int: ...
    @property
    def is_provisional(self) -> bool:
        """Whether there are too few games for a rating that means much."""


class Standings(Protocol):
    """The table."""

    @property
    def rows(self) -> Sequence[StandingsRow]: ...


class QueuedCheck(Protocol):
    """A version that waits for its check."""

    @property
    def version_id(self) -> int: ...
    @property
    def seconds(self) -> float | None:
        """The estimated seconds until it has been checked; None if nothing is known."""


class SandboxState(Protocol):
    """How uploads are kept from other people's files on this machine."""

    @property
    def kind(self) -> str:
        """One of `programs.sandbox.sandbox.KINDS`."""

    @property
    def gaps(self) -> Sequence[str]:
        """What it does not prevent, in English."""

    @property
    def is_strong(self) -> bool:
        """Whether an upload cannot reach the files of others."""


class Director(Protocol):
    """What is played, and what comes next."""

    changed: Versions
    """Grows after each change that the pages show."""

    @property
    def standings(self) -> Standings: ...
    @property
    def queue(self) -> Sequence[QueuedCheck]: ...
    @property
    def playing(self) -> int:
        """The number of pairs that are being played."""

    @property
    def problem(self) -> str:
        """Why nothing goes on, for the teacher; empty if all is well."""

    @property
    def sandbox(self) -> SandboxState | None:
        """How uploads are confined; None while that is not known."""

    def wake(self) -> None:
        """Look at the database again: a page has changed something."""


class Arena(Protocol):
    """The process that plays the games, as far as somebody watches them."""

    @property
    def connect_viewer(self) -> Connect: ...
    @property
    def viewer_secret(self) -> str: ...


class Machine(Protocol):
    """What a PC has reported about itself."""

    @property
    def system(self) -> str: ...
    @property
    def cores(self) -> int: ...
    @property
    def sandbox(self) -> str: ...
    @property
    def interpreters(self) -> dict[str, str]: ...


class ConnectedHelper(Protocol):
    """A PC that is connected and may run programs."""

    @property
    def id(self) -> int: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def free(self) -> int:
        """How many further pairs it can be given now."""

    @property
    def problem(self) -> str:
        """Why it gets no pairs now, in English; empty if it gets some."""


class Gate(Protocol):
    """The port for helpers' PCs."""

    @property
    def port(self) -> int: ...
    @property
    def problem(self) -> str:
        """Why it cannot be used, in English; empty if it can."""

    def helpers(self) -> Sequence[ConnectedHelper]:
        """The PCs that are connected."""
