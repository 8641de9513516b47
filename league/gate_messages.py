"""The messages of the gate: with the league that has started it, with helpers' PCs, and of a program that runs there.

What comes from a PC creates plain values of limited size only (frames.py), and each kind is accepted only where it is
expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, TypeAlias

import msgspec

from spielleiter.league.package_needs import Machine

PROTOCOL: Final = 1
"""Changed whenever a message between the gate and a PC changes; both have to have the same number."""

MAX_HELLO: Final = 8 * 1024
"""The most bytes of a message of a peer that is not known yet, and of each message of a PC but those of a program."""
MAX_CHUNK: Final = 64 * 1024
"""The most bytes of a program that are in one message."""
MAX_RUN_MESSAGE: Final = MAX_CHUNK + 1024
"""The most bytes of a message of a program that runs on a PC."""
MAX_CONNECTIONS: Final = 4
"""The most connections of one program at a time; it needs one."""
MAX_CONNECTIONS_PER_RUN: Final = 64
MAX_STALL: Final = 0.75
"""Seconds for which a PC may let a question wait in a game that counts.

A longer silence is noticed if it lasts for PING_INTERVAL (gate.py) more. Together, that is half of the contest's time
for a move.
"""

SEAT_VARIABLE: Final = "SPIELLEITER_LEAGUE_SEAT"
"""The variable that tells the process that stands for a program the gate's port on this machine and its ticket."""

_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=256)]
_Reason: TypeAlias = Annotated[str, msgspec.Meta(max_length=1024)]
_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
_Chunk: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=1, max_length=MAX_CHUNK)]
_Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


# -- the league and its gate ------------------------------------------------------------------------------------------


class AllowedHelper(msgspec.Struct, frozen=True):
    """A PC that may help."""

    id: int
    name: str
    secret_hash: str
    may_run_unconfined: bool = False
    """Whether it may run programs without a sandbox."""


class LeasedProgram(msgspec.Struct, frozen=True):
    """A program that a PC is to run during a lease."""

    ticket: str
    """The secret by which the process that stands for the program is known (remote_seat.py)."""
    sha256: _Digest
    size: int
    path: str
    """The package on this machine."""
    main: str
    parameters: tuple[str, ...]
    words: tuple[str, ...]
    """See `PackageNeeds.words`."""


class OpenGate(msgspec.Struct, frozen=True, tag=True):
    """To the gate: listen for PCs."""

    host: str
    port: int
    certificate: str
    """The path of the file with certificate and key."""
    max_stall: float
    """Seconds for which a PC may let a question wait in a game that counts."""


class Allow(msgspec.Struct, frozen=True, tag=True):
    """To the gate: the PCs that may help from now on. Others are cut off."""

    helpers: tuple[AllowedHelper, ...]


class OpenLease(msgspec.Struct, frozen=True, tag=True):
    """To the gate: a PC is to run the programs of a pair of games."""

    lease: int
    helper: int
    programs: tuple[LeasedProgram, ...]


class SettleGame(msgspec.Struct, frozen=True, tag=True):
    """To the gate: say, once the programs of a game have ended, whether the PC has failed since the last question."""

    lease: int


class CloseLease(msgspec.Struct, frozen=True, tag=True):
    """To the gate: end what runs, and forget the lease."""

    lease: int


class GateOpened(msgspec.Struct, frozen=True, tag=True):
    """Gate: it listens for PCs at `port`, and on this machine at `seat_port`."""

    port: int
    seat_port: int


class GateFailed(msgspec.Struct, frozen=True, tag=True):
    """Gate: it cannot listen, for this reason."""

    reason: str


class HelperCame(msgspec.Struct, frozen=True, tag=True):
    """Gate: a PC is there."""

    helper: int
    machine: Machine
    places: int
    """How many pairs of games it can play at the same time."""


class HelperGone(msgspec.Struct, frozen=True, tag=True):
    """Gate: a PC is not there any more, for this reason."""

    helper: int
    reason: str


class HelperDelay(msgspec.Struct, frozen=True, tag=True):
    """Gate: how many seconds a PC takes to answer; sent when that changes."""

    helper: int
    seconds: float


class LeaseOpened(msgspec.Struct, frozen=True, tag=True):
    """Gate: the PC has the programs and can start them; or not, for the `problem`, which is about one `program`."""

    lease: int
    problem: str = ""
    program: int | None = None


class GameSettled(msgspec.Struct, frozen=True, tag=True):
    """Gate: nothing of the game is running any more; `problem` says why it must not count, empty if it counts.

    `program` is the number of the program that the PC could not start, as far as that is the reason.
    """

    lease: int
    problem: str = ""
    program: int | None = None


ToGate: TypeAlias = OpenGate | Allow | OpenLease | SettleGame | CloseLease
FromGate: TypeAlias = GateOpened | GateFailed | HelperCame | HelperGone | HelperDelay | LeaseOpened | GameSettled


# -- the gate and a PC ------------------------------------------------------------------------------------------------


class JoinLeague(msgspec.Struct, frozen=True, tag=True):
    """PC: the first message of its first connection."""

    protocol: int
    secret: _Name
    machine: Machine
    places: Annotated[int, msgspec.Meta(ge=1, le=256)]


class FetchPackage(msgspec.Struct, frozen=True, tag=True):
    """PC: the first message of a connection by which it fetches a package that it is to run."""

    secret: _Name
    sha256: _Digest


class BeginRun(msgspec.Struct, frozen=True, tag=True):
    """PC: the first message of the connection of a program that it was told to start."""

    secret: _Name
    run: _Number


class Pong(msgspec.Struct, frozen=True, tag=True):
    """PC: the answer to `Ping`."""

    number: _Number


class LeasePrepared(msgspec.Struct, frozen=True, tag=True):
    """PC: it has the programs of the lease and can start them; or not, for the `problem`, maybe of one `program`.

    The answer to each `PrepareLease`, also if the lease has ended meanwhile.
    """

    lease: _Number
    problem: _Reason = ""
    program: Annotated[int, msgspec.Meta(ge=0, le=1)] | None = None


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """To the PC: it belongs to the league, under this name."""

    name: str
    may_run_unconfined: bool


class Refused(msgspec.Struct, frozen=True, tag=True):
    """To the PC: it is not wanted, for this reason. `is_final`: trying again is no use."""

    reason: str
    is_final: bool = True


class Ping(msgspec.Struct, frozen=True, tag=True):
    """To the PC: answer at once."""

    number: int


class OfferedProgram(msgspec.Struct, frozen=True):
    """A program for a PC."""

    sha256: str
    size: int
    main: str
    parameters: tuple[str, ...]
    words: tuple[str, ...]


class PrepareLease(msgspec.Struct, frozen=True, tag=True):
    """To the PC: fetch these programs, and be ready to start them."""

    lease: int
    programs: Annotated[tuple[OfferedProgram, ...], msgspec.Meta(max_length=2)]


class StartRun(msgspec.Struct, frozen=True, tag=True):
    """To the PC: start a program of the lease, and connect for it."""

    run: int
    lease: int
    program: int
    reservation: str
    seed: str
    game: str


class EndLease(msgspec.Struct, frozen=True, tag=True):
    """To the PC: the programs of the lease are not needed any more."""

    lease: int


class PackageData(msgspec.Struct, frozen=True, tag=True):
    """To the PC: the next bytes of a package; the last ones are followed by the end of the connection."""

    data: _Chunk


Hello: TypeAlias = JoinLeague | FetchPackage | BeginRun
FromHelper: TypeAlias = Pong | LeasePrepared
ToHelper: TypeAlias = Welcome | Refused | Ping | PrepareLease | StartRun | EndLease
ToFetcher: TypeAlias = PackageData | Refused


# -- a program on a PC and the process on this machine that stands for it ----------------------------------------------


class Connected(msgspec.Struct, frozen=True, tag=True):
    """PC: the program has connected for the `connection`-th time, beginning with 0."""

    connection: _Number


class Bytes(msgspec.Struct, frozen=True, tag=True):
    """Both: bytes of a connection."""

    connection: _Number
    data: _Chunk


class Closed(msgspec.Struct, frozen=True, tag=True):
    """Both: nothing more will be sent on a connection."""

    connection: _Number


class Written(msgspec.Struct, frozen=True, tag=True):
    """PC: what the program has written to standard error, or else to standard output."""

    data: _Chunk
    is_error: bool


class NotStarted(msgspec.Struct, frozen=True, tag=True):
    """PC: it cannot start the program, which is not the program's fault.

    `is_unable`: it never will; otherwise something failed on the PC.
    """

    reason: _Reason
    is_unable: bool


class Exited(msgspec.Struct, frozen=True, tag=True):
    """PC: the program and everything that it had started is gone. `code` is as in subprocess."""

    code: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 32)]


FromRun: TypeAlias = Connected | Bytes | Closed | Written | NotStarted | Exited
ToRun: TypeAlias = Bytes | Closed


# -- the process that stands for a program, and the gate ---------------------------------------------------------------


class TakeSeat(msgspec.Struct, frozen=True, tag=True):
    """The first message of a process that stands for a program."""

    ticket: _Name
    reservation: _Name
    seed: _Name
    game: _Name


decode_to_gate: Final[Callable[[bytes], ToGate]] = msgspec.msgpack.Decoder(ToGate).decode
"""These decode one message. They raise msgspec.DecodeError."""
decode_from_gate: Final[Callable[[bytes], FromGate]] = msgspec.msgpack.Decoder(FromGate).decode
decode_hello: Final[Callable[[bytes], Hello]] = msgspec.msgpack.Decoder(Hello).decode
decode_from_helper: Final[Callable[[bytes], FromHelper]] = msgspec.msgpack.Decoder(FromHelper).decode
decode_to_helper: Final[Callable[[bytes], ToHelper]] = msgspec.msgpack.Decoder(ToHelper).decode
decode_to_fetcher: Final[Callable[[bytes], ToFetcher]] = msgspec.msgpack.Decoder(ToFetcher).decode
decode_from_run: Final[Callable[[bytes], FromRun]] = msgspec.msgpack.Decoder(FromRun).decode
decode_to_run: Final[Callable[[bytes], ToRun]] = msgspec.msgpack.Decoder(ToRun).decode
decode_seat: Final[Callable[[bytes], TakeSeat]] = msgspec.msgpack.Decoder(TakeSeat).decode
