"""The values of an administrator's requests: a prepared room, a status, and a request that waits for its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import trio

from spielleiter.client.errors import ClientError, NoStatusError
from spielleiter.protocol.messages import Message, Request


@dataclass(frozen=True, slots=True)
class PreparedRoom:
    """A room that was prepared and waits for its players; the result of `AdminClient.prepare`.

    - `room_id`: the id by which the room is observed, paused, stepped and cancelled.
    - `reservations`: a code for each reserved slot, in the order of the slots. A player takes the seat with
      `Player.join_prepared`, with `play_game`, or with the command `spielleiter play --reservation CODE`.

    For example:

        room = await admin.prepare("swc_2027_blokus", ["Alice", "Bob"])
        first_code, second_code = room.reservations
    """

    room_id: str
    reservations: tuple[str, ...]


def parsed_status(report: str) -> dict[str, Any]:
    """Return the JSON object in the text `report`. Raises NoStatusError if it is not one."""
    try:
        parsed = json.loads(report)
    except ValueError as error:
        raise NoStatusError(f"the server's status cannot be read ({error})") from None
    if not isinstance(parsed, dict):
        raise NoStatusError("the server's status cannot be read (it is not a JSON object)")
    return parsed


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A request that waits for its answer: the first message for which `accepts` returns True, or a refusal."""

    request: Request
    accepts: Callable[[Message], bool]
    is_done: trio.Event = field(default_factory=trio.Event)
    answer: Message | None = None
    refusal: ClientError | None = None
