"""What the functions on the database return and take: one class for each kind of row.

A class holds only what may be shown to its readers; hashes of codes and tokens stay in the database.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["teacher", "team", "spectator", "command"]
"""A command is `spielleiter upload` with the code of a team: it may upload, and ask what became of that."""
Stage: TypeAlias = Literal["practice", "frozen", "final", "over"]
VersionState: TypeAlias = Literal["waiting", "checking", "accepted", "refused", "withdrawn", "removed"]
FullCheck: TypeAlias = Literal["waiting", "running", "passed", "warned", "failed"]
Purpose: TypeAlias = Literal["league", "challenge", "check", "final", "repeat"]
FinalKind: TypeAlias = Literal["round-robin", "swiss", "knock-out"]
PairState: TypeAlias = Literal["open", "done", "void"]

CONTEST_POINTS: Final = (2, 1, 0)
"""What the contest gives for a won, a drawn and a lost game."""


class Team(msgspec.Struct, frozen=True):
    """A team, or a pupil alone."""

    id: int
    name: str
    created_at: float
    is_paused: bool
    pause_reason: str
    allows_helpers: bool
    """Whether its programs may run on other machines than the league's."""
    is_removed: bool


class Session(msgspec.Struct, frozen=True):
    """Somebody who has logged in."""

    role: Role
    team_id: int | None
    created_at: float
    last_used_at: float
    form_token: str
    """Has to come with every form, since the page of another site can send a form with our cookie."""


class Fault(msgspec.Struct, frozen=True):
    """Why a version is refused or withdrawn, in one sentence for each language."""

    code: str
    de: str
    en: str


class Version(msgspec.Struct, frozen=True):
    """An uploaded program, or an anchor."""

    id: int
    team_id: int | None
    """None: an anchor."""
    team_name: str
    """The name of the team; of an anchor, that of its level."""
    number: int
    """Counts the uploads of the team, from 1."""
    name: str
    """The name of the uploaded file."""
    sha256: str | None
    """The key of its package; None if that was dropped, and for an anchor."""
    size: int
    """Bytes of the package."""
    builtin: str | None
    """The command of an anchor, such as ``builtin:greedy``."""
    main: str
    """The path of the main file in the package; empty: the one that is found to be it."""
    parameters: str
    uploaded_at: float
    state: VersionState
    fault_code: str
    fault_de: str
    fault_en: str
    checked_at: float | None
    full_check: FullCheck
    is_active: bool
    anchor_rating: float | None
    is_paused: bool
    pause_reason: str

    @property
    def label(self) -> str:
        """The name of the team and the number of the version, as tables show them."""
        return self.team_name if self.team_id is None else f"{self.team_name} v{self.number}"


class Pair(msgspec.Struct, frozen=True):
    """Two versions that play each other, usually twice with the seats swapped."""

    id: int
    stage: Stage
    purpose: Purpose
    first: int
    second: int
    seed: int
    games: int
    """The number of games that are to be played."""
    round: int | None
    label: str
    created_at: float
    state: PairState


class PlayedGame(msgspec.Struct, frozen=True, kw_only=True):
    """A finished game, as it is reported to the database. 1 and 2 are the first and second version of the pair."""

    pair_id: int
    number: int
    """Counts the games of the pair from 1; in the second one the first version has the second seat."""
    winner: int | None
    """0: the first version, 1: the second; None: a draw, or the game does not count."""
    is_counted: bool
    verdict: str
    """As in `match.verdict.Verdict`."""
    offender: int | None = None
    reason_de: str = ""
    reason_en: str = ""
    points1: int | None = None
    points2: int | None = None
    plies: int = 0
    seconds: float = 0.0
    machine1: str = ""
    """Where the program ran; empty: on the league's own machine."""
    machine2: str = ""
    replay: bytes | None = None
    """The replay, as a match keeps it (``.xml.gz``)."""
    details: dict[str, Any] = {}
    """What else the record of the game says."""
    stderr1: bytes | None = None
    stderr2: bytes | None = None


class Game(msgspec.Struct, frozen=True):
    """A finished game, as lists of games show it."""

    id: int
    pair_id: int
    number: int
    first: int
    second: int
    team1: int | None
    team2: int | None
    label1: str
    """Team and version, as `Version.label`."""
    label2: str
    winner: int | None
    is_counted: bool
    is_void: bool
    verdict: str
    offender: int | None
    reason_de: str
    reason_en: str
    points1: int | None
    points2: int | None
    plies: int
    seconds: float
    finished_at: float
    machine1: str
    machine2: str
    purpose: Purpose
    round: int | None


class PairingResult(msgspec.Struct, frozen=True):
    """The results of all counted games between two versions; 1 and 2 are the first and the second."""

    first: int
    second: int
    pairs: tuple[int, int, int, int, int]
    """The number of pairs with two counted games, by the points of `first` in both: 0, 0.5, 1, 1.5, 2."""
    singles: tuple[int, int, int]
    """The number of pairs with one counted game, by the points of `first` in it: 0, 0.5, 1."""
    wins: int
    """Games won by `first`."""
    draws: int
    losses: int
    faults1: int
    """Games that the program lost or spoiled by its own fault."""
    faults2: int
    points1: int
    """The sum of the points of the game itself, such as fields or carrots."""
    points2: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses


class RatingOfDay(msgspec.Struct, frozen=True):
    """The last rating of a version on a day."""

    version_id: int
    day: str
    rating: float
    low: float
    high: float
    games: int


class Helper(msgspec.Struct, frozen=True):
    """A PC that may run programs of the league."""

    id: int
    name: str
    code_hash: str
    """The SHA-256 of its secret, which the gate compares."""
    created_at: float
    is_revoked: bool
    runs_without_sandbox: bool
    last_seen_at: float | None
    platform: Any


class Challenge(msgspec.Struct, frozen=True):
    """A pair of games that one team asked for."""

    id: int
    by_team: int
    team: int
    created_at: float
    pair_id: int


class Message(msgspec.Struct, frozen=True):
    """What the teacher tells all."""

    id: int
    at: float
    text: str


class LogEntry(msgspec.Struct, frozen=True):
    """Who did what, and when."""

    id: int
    at: float
    actor: str
    action: str
    subject: str
    details: Any
