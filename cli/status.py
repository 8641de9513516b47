"""The status of a server as text for people.

Invariants: everything is shown in the order in which the server lists it. Closed connections are counted by reason, and
only the last few are shown individually. The fields are explained in `spielleiter.server.status`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from spielleiter.common.text import count_text

LAST: Final = 10
"""The number of closed connections that are shown individually."""


def status_lines(report: dict[str, Any]) -> Iterator[str]:
    """A heading and its lines for each part of the report; empty parts are left out."""
    rooms = ", ".join(f"{count} {phase}" for phase, count in report["roomCounts"].items())
    yield f"running since {report['startedAt']}"
    yield f"rooms: {rooms}"
    yield from (f"  {_room(room)}" for room in report["rooms"])
    yield f"connections: {report['connectionCount']}, {count_text(report['queuedBytes'], 'byte')} not received yet"
    yield from (f"  {_connection(connection)}" for connection in report["connections"])
    if report["refusals"]:
        yield "refusals since the start:"
        yield from (f"  {count:6}  {reason} ({kind})" for kind, reason, count in report["refusals"])
    closed = report["closed"]
    if closed:
        count = len(closed)
        yield "the last closed connection:" if count == 1 else f"the last {count} closed connections:"
        reasons = Counter(each["reason"] for each in closed)
        yield from (f"  {times:6}  {reason}" for reason, times in reasons.most_common())
        if count > LAST:
            yield f"the last {LAST} of them:"
        elif count > 1:
            yield "individually:"
        yield from (f"  {_closed(each)}" for each in closed[-LAST:])


def _room(room: dict[str, Any]) -> str:
    seats = zip(room["names"], room["players"], strict=True)
    players = " : ".join(f"{name or 'unnamed'} ({player or 'free'})" for name, player in seats)
    watched = f", {count_text(room['observers'], 'observer')}" if room["observers"] else ""
    return f"{room['roomId']}  {room['edition']}  {room['phase']}, turn {room['turn']}  {players}{watched}"


def _connection(connection: dict[str, Any]) -> str:
    parts = [f"{connection['connection']:6} {connection['address']:21}", f"since {connection['openedAt']}"]
    if connection["isAdmin"]:
        parts.append("administrator")
    if connection["seats"]:
        parts.append(count_text(connection["seats"], "seat") if connection["seats"] > 1 else "player")
    parts.append(count_text(connection["packets"], "packet"))
    if connection["queuedBytes"]:
        parts.append(f"{count_text(connection['queuedBytes'], 'byte')} not received yet")
    return "  ".join(parts)


def _closed(closed: dict[str, Any]) -> str:
    return f"{closed['closedAt']}  {closed['connection'] or '-':6} {closed['address']:21}  {closed['reason']}"
