"""Reads and writes a player's scores in test mode: the number of games, and the sum or average of each part.

Invariants: reading written scores gives equal ones. Source: release 21.4.0.
"""

from __future__ import annotations

from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects.fragment import fragment, read_fragment
from spielleiter.protocol.messages import PlayerScore
from spielleiter.protocol.reading import Element, UnreadableError, read_decimal_text, read_integer
from spielleiter.protocol.writer import Body, attribute, element, leaf


def read_player_score(packet: Element, reading: Reading) -> PlayerScore:
    """Read the scores of a player. Raises UnreadableError."""
    score = reading.children(packet, "score").get("score")
    if score is None:
        raise UnreadableError("im Element playerScore fehlt das Element score")
    values = []
    for child in score:
        if child.tag != "values":
            reading.skip(child, score)
            continue
        parts = reading.children(child, "fragment", "value")
        if len(parts) != len(("fragment", "value")):
            raise UnreadableError("im Element values fehlt fragment oder value")
        values.append((read_fragment(parts["fragment"], reading), read_decimal_text(parts["value"])))
    return PlayerScore(score.get("displayName", ""), read_integer(score, "numberOfTests"), tuple(values))


def write_player_score(message: PlayerScore, _dialect: Dialect, indent: str) -> Body:
    """Write the scores of a player."""
    attributes = attribute("displayName", message.display_name) + f' numberOfTests="{message.number_of_tests}"'
    values_indent, value_indent = indent + "  ", indent + "    "
    values = "".join(
        element(values_indent, "values", "", fragment(part, value_indent) + leaf(value_indent, "value", f"{value:f}"))
        for part, value in message.values
    )
    return Body("playerScore", "", element(indent, "score", attributes, values))
