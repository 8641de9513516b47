"""A built-in player of ours at a table of an official server."""

import re

from spielleiter.players.strategies import make_chooser
from spielleiter.protocol.messages import Memento, MoveData, RoomMessage
from spielleiter.protocol.packet_reader import parse_element
from spielleiter.server.core.policy import Edition


class OurPlayer:
    """Chooses moves with a strategy, from what the wire shows of a position. `seed` makes the choices repeatable."""

    def __init__(self, edition: Edition, strategy: str, seed: int) -> None:
        self._edition = edition
        self._choose = make_chooser(strategy, seed=seed)

    def move(self, state: str) -> str:
        """Return a move for the position `state`, both as XML on the wire."""
        packet = parse_element(f'<room roomId="x"><data class="memento">{state}</data></room>')
        message = self._edition.dialect.decode(packet, is_from_server=True)
        assert isinstance(message, RoomMessage)
        assert isinstance(message.data, Memento)
        move = self._choose(message.data.state)  # not resumed: a client knows no more than the wire shows
        text = self._edition.dialect.encode(RoomMessage("x", MoveData(move))).decode()
        return re.sub(r"\n\s*", "", text[text.index("<data") : text.index("</room>")])
