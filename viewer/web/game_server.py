"""The server whose games the pages show, reached as any administrator and any player reaches it: over the game port.

Invariants: the pages hold the administrators' rights in this module only; what a visitor may do with them is decided in
`administration.py` and `seats.py`. Each request of a visitor has a connection of its own, so a refusal belongs to it
and ends nothing else. A lost connection is opened again, with growing pauses, and the pages say so meanwhile. A server
that has no feed is shown as far as an observer sees it: the games that were prepared here, or whose room is asked for
by id.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, TypeVar

import trio

from spielleiter.client.admin import AdminClient, PreparedRoom
from spielleiter.client.client_errors import AuthenticationError, ClientError, NoFeedError, RequestRefusedError
from spielleiter.client.player import Player
from spielleiter.client.transport import Transport, open_transport
from spielleiter.game.api import State
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.feed import Current
from spielleiter.protocol.messages import Memento, Slot
from spielleiter.protocol.positions import write_position
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.positions.view import Words
from spielleiter.viewer.web.answers import WebError, refused_by_server, unknown_room
from spielleiter.viewer.web.followed_games import FollowedGame, FollowedGames
from spielleiter.viewer.web.live_games import NO_NOTICE

REQUEST_TIMEOUT: Final = 15.0
"""Seconds for one request of a visitor to the server, which answers late while somebody guesses passwords."""
FIRST_PAUSE: Final = 0.5
"""Seconds until a lost connection is opened again; each further attempt waits twice as long."""
LONGEST_PAUSE: Final = 15.0
REFUSED_PAUSE: Final = 600.0
"""Seconds until a password that a server elsewhere has refused is tried again; others wait for each wrong one."""
METRICS_AGE: Final = 1.0
"""Seconds for which an answer of the server with its figures is used again."""
MOST_OBSERVED: Final = 64
"""The maximum number of games that are observed at a server without a feed."""

NOT_CONNECTED: Final[Words] = {
    "de": "Keine Verbindung zum Spielserver; gezeigt wird der Stand von vorher.",
    "en": "No connection to the game server; shown is what was known before.",
}
REFUSES_PASSWORD: Final[Words] = {
    "de": "Der Spielserver lehnt das Passwort ab, mit dem diese Seite gestartet wurde.",
    "en": "The game server refuses the password with which this page was started.",
}
NO_FEED: Final[Words] = {
    "de": "Dieser Server sagt nicht, welche Spiele laufen: Zu sehen sind nur die hier vorbereiteten, und die, deren "
    "Raum in der Adresse steht. Bedenkzeiten, freie Plätze und Hinweise der Programme sagt er nicht.",
    "en": "This server does not tell which games are played: only those that were prepared here, and those whose room "
    "is in the address, can be seen. Think times, free seats and hints of programs are not told.",
}
_REFUSED: Final = WebError(503, REFUSES_PASSWORD["de"], REFUSES_PASSWORD["en"])
_OUT_OF_REACH: Final = WebError(
    503, "Der Spielserver ist gerade nicht zu erreichen.", "The game server cannot be reached at the moment."
)

_T = TypeVar("_T")
Connect = Callable[[Dialect], Awaitable[Transport]]
"""Opens a connection to the server that speaks this dialect. Raises CannotConnectError."""


class GameServer:
    """The server at `address`.

    - `secret`: the password that makes the pages its administrator.
    - `games`: the mirror of its games, which is filled while `run` runs.
    - `edition`: the edition in whose wire form it is asked.
    - `report_bug`: called with unexpected exceptions.
    - `connect`: opens the connections, by default over TCP.
    - `is_own`: whether it is known to be a server of this version, so that an answer that is missing is no answer.
    """

    def __init__(
        self,
        address: tuple[str, int],
        secret: str,
        games: FollowedGames,
        edition: Edition,
        report_bug: Callable[[BaseException], None],
        connect: Connect | None = None,
        *,
        is_own: bool,
    ) -> None:
        self.address = address
        self.games = games
        self.has_answered = trio.Event()
        """Set when the first connection is there, or when it is known that there is none."""
        self.has_feed = True
        """Whether the server tells which games are played, as far as is known."""
        self._secret = secret
        self._is_own = is_own
        self._edition = edition
        self._report_bug = report_bug
        self._connect: Connect = connect or partial(open_transport, *address)
        self._admin: AdminClient | None = None
        """The connection over which the games are followed; None while there is none."""
        self._metrics = ""
        self._metrics_at = -METRICS_AGE
        self._asking_metrics = trio.Lock()
        self._tasks: trio.Nursery | None = None
        self._observed: dict[str, trio.Event] = {}
        """For each room that is observed, whether it is known that it can be."""

    async def run(self) -> None:
        """Follow the games, and own the tasks of players and observers; runs until cancelled."""
        async with trio.open_nursery() as self._tasks:
            pause, is_feed_sure = FIRST_PAUSE, self._is_own
            while self.has_feed:
                if not self._refuses_password:
                    self.games.connection_notice = NOT_CONNECTED
                try:
                    async with self._administrator(self._edition.dialect) as admin:
                        async for event in await admin.follow():
                            self.games.apply(event, trio.current_time())
                            if isinstance(event, Current):
                                self._admin, pause, is_feed_sure = admin, FIRST_PAUSE, True
                                self.games.connection_notice = NO_NOTICE
                                self.has_answered.set()
                except NoFeedError:
                    if not is_feed_sure:
                        self.has_feed = False
                        self.games.connection_notice = NO_FEED
                        break
                except AuthenticationError:
                    self.games.connection_notice = REFUSES_PASSWORD
                    if not self._is_own:
                        pause = REFUSED_PAUSE
                except ClientError:
                    self.games.connection_notice = NOT_CONNECTED
                except Exception as error:  # a bug, or a server that tells what cannot be
                    self.games.connection_notice = NOT_CONNECTED
                    self._report_bug(error)
                finally:
                    self._admin = None
                    self.has_answered.set()
                await trio.sleep(pause)
                pause = FIRST_PAUSE if pause == REFUSED_PAUSE else min(2 * pause, LONGEST_PAUSE)
            await trio.sleep_forever()

    @property
    def _refuses_password(self) -> bool:
        """Whether the server has refused the password, so that no visitor lets it be sent again."""
        return self.games.connection_notice == REFUSES_PASSWORD

    @property
    def is_connected(self) -> bool:
        """Whether the games that are shown are those of the server at this moment."""
        return self._admin is not None or not self.has_feed

    def start_soon(self, task: Callable[[], Awaitable[None]]) -> None:
        """Start a task that ends with `run`; a bug of it ends nothing else."""

        async def contained() -> None:
            try:
                await task()
            except Exception as error:
                self._report_bug(error)

        assert self._tasks is not None, "tasks are started while `run` runs"
        self._tasks.start_soon(contained)

    # -- as an administrator

    @asynccontextmanager
    async def _administrator(self, dialect: Dialect) -> AsyncIterator[AdminClient]:
        async with AdminClient(await self._connect(dialect)).running(self._secret) as admin:
            yield admin

    async def _ask(self, edition: Edition, ask: Callable[[AdminClient], Awaitable[_T]], refusal_status: int) -> _T:
        """Return what `ask` returns, over a connection of its own. Raises WebError, with this status for a refusal."""
        try:
            with trio.fail_after(REQUEST_TIMEOUT):
                await self.has_answered.wait()  # whether it accepts the password
                if self._refuses_password:
                    raise _REFUSED
                async with self._administrator(edition.dialect) as admin:
                    return await ask(admin)
        except RequestRefusedError as error:
            raise refused_by_server(refusal_status, error) from None
        except (ClientError, trio.TooSlowError):
            raise _OUT_OF_REACH from None

    async def prepare(
        self,
        edition: Edition,
        slots: Sequence[Slot],
        state: State | None = None,
        *,
        is_paused: bool = False,
        refusal_status: int = 409,
    ) -> PreparedRoom:
        """Open a room for two players, and return it once the pages can show it. Raises WebError.

        - `state`: the position from which the game starts; None: that of a new game.
        - `refusal_status`: the status of the error if the server refuses this.
        """
        position = None if state is None else write_position(edition.dialect, "", Memento(state))
        prepared = await self._ask(
            edition,
            lambda admin: admin.prepare(edition.game_type, slots, pause=is_paused, position=position),
            refusal_status,
        )
        if self.has_feed:
            with trio.move_on_after(REQUEST_TIMEOUT):
                await self.games.wait_for(prepared.room_id)
        else:
            first, second = (slot.display_name or "" for slot in slots)
            await self._observe(FollowedGame(prepared.room_id, edition, (first, second)))
        return prepared

    async def pause(self, room_id: str, *, is_paused: bool) -> None:
        """Pause a game, or resume it. Raises WebError."""
        await self._act(room_id, lambda admin: admin.pause(room_id) if is_paused else admin.resume(room_id))

    async def step(self, room_id: str) -> None:
        """Request one move of a paused game. Raises WebError."""
        await self._act(room_id, lambda admin: admin.step(room_id))

    async def cancel(self, room_id: str) -> None:
        """End a game. Raises WebError."""
        await self._act(room_id, lambda admin: admin.cancel(room_id))

    async def _act(self, room_id: str, act: Callable[[AdminClient], Awaitable[None]]) -> None:
        game = self.games.find(room_id)
        if game is None or game.phase == "over":
            raise unknown_room(room_id)
        await self._ask(game.edition, act, 409)

    async def metrics(self) -> str:
        """Return the figures of the server in the format of Prometheus, at most a second old. Raises WebError."""
        async with self._asking_metrics:
            if trio.current_time() - self._metrics_at >= METRICS_AGE:
                if self._admin is None:
                    raise _OUT_OF_REACH
                try:
                    with trio.fail_after(REQUEST_TIMEOUT):
                        self._metrics = await self._admin.metrics()
                except (ClientError, trio.TooSlowError):
                    raise _OUT_OF_REACH from None
                self._metrics_at = trio.current_time()
            return self._metrics

    # -- as a player

    @asynccontextmanager
    async def player(self, edition: Edition) -> AsyncIterator[Player]:
        """Connect as a player of `edition`. Raises ClientError."""
        transport = await self._connect(edition.dialect)
        try:
            yield Player(transport)
        finally:
            await transport.aclose()

    # -- as an observer, of a server without a feed

    async def look_for(self, room_id: str) -> None:
        """Let a server without a feed show this room, if there is one; at others, do nothing."""
        if not self.has_feed and self.games.find(room_id) is None:
            await self._observe(FollowedGame(room_id, self._edition, ("", "")))

    async def _observe(self, game: FollowedGame) -> None:
        """Observe the room of `game` from now on; return when it is known whether that is possible."""
        if game.id not in self._observed:
            if len(self._observed) >= MOST_OBSERVED:
                return
            self._observed[game.id] = trio.Event()
            self.start_soon(partial(self._observe_to_its_end, game))
        with trio.move_on_after(REQUEST_TIMEOUT):
            await self._observed[game.id].wait()

    async def _observe_to_its_end(self, game: FollowedGame) -> None:
        is_known = self._observed[game.id]
        with suppress(ClientError):  # there is no such room, or the server has ended
            try:
                async with self._administrator(game.edition.dialect) as admin:
                    with trio.move_on_after(REQUEST_TIMEOUT) as asking:  # some servers do not answer at all
                        observation = await admin.observe(game.id)
                    if asking.cancelled_caught:
                        return
                    self.games.add(game)
                    is_known.set()
                    async for data in observation:
                        self.games.observe(game, data, trio.current_time())
            finally:
                del self._observed[game.id]
                is_known.set()
                self.games.close(game.id)
