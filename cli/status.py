"""A server's status in words, for people.

Law: what the server tells is shown in its own order; the connections that are over are summed up by their reasons, and
only the last few are shown one by one. Fields: see `spielleiter.server.monitor.status`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from spielleiter.server.text.counting import count_text

LAST: Final = 10
"""So many of the connections that are over are shown one by one."""


def status_lines(report: dict[str, Any]) -> Iterator[str]:
    """A heading and its lines for each part of the report; nothing for a part that is empty."""
    rooms = ", ".join(f"{count} {phase}" for phase, count in report["roomCounts"].items())
    yield f"running since {report['startedAt']}"
    yield f"rooms: {rooms}"
    yield from (f"  {_room(room)}" for room in report["rooms"])
    yield f"connections: {report['connectionCount']}, {count_text(report['queuedBytes'], 'byte')} not taken yet"
    yield from (f"  {_connection(connection)}" for connection in report["connections"])
    if report["refusals"]:
        yield "refused since the start:"
        yield from (f"  {count:6}  {reason} ({kind})" for kind, reason, count in report["refusals"])
    closed = report["closed"]
    if closed:
        count = len(closed)
        yield "the last connection that ended:" if count == 1 else f"the last {count} connections that ended:"
        reasons = Counter(each["reason"] for each in closed)
        yield from (f"  {times:6}  {reason}" for reason, times in reasons.most_common())
        if count > LAST:
            yield f"the last {LAST} of them:"
        elif count > 1:
            yield "one by one:"
        yield from (f"  {_closed(each)}" for each in closed[-LAST:])


def _room(room: dict[str, Any]) -> str:
    seats = zip(room["names"], room["players"], strict=True)
    players = " : ".join(f"{name or 'unnamed'} ({player or 'free'})" for name, player in seats)
    watched = f", {room['observers']} watching" if room["observers"] else ""
    return f"{room['roomId']}  {room['edition']}  {room['phase']}, turn {room['turn']}  {players}{watched}"


def _connection(connection: dict[str, Any]) -> str:
    parts = [f"{connection['connection']:6} {connection['address']:21}", f"since {connection['openedAt']}"]
    if connection["isAdmin"]:
        parts.append("administrator")
    if connection["seats"]:
        parts.append(count_text(connection["seats"], "seat") if connection["seats"] > 1 else "player")
    parts.append(count_text(connection["packets"], "packet"))
    if connection["queuedBytes"]:
        parts.append(f"{count_text(connection['queuedBytes'], 'byte')} not taken yet")
    return "  ".join(parts)


def _closed(closed: dict[str, Any]) -> str:
    return f"{closed['closedAt']}  {closed['connection'] or '-':6} {closed['address']:21}  {closed['reason']}"
