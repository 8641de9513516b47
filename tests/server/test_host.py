from __future__ import annotations

from server.host import RoomHost
from tests.server.playbook import Table


def test_a_lobby_is_a_host_and_hears_the_last_word_of_its_rooms() -> None:
    table = Table()
    host: RoomHost = table.lobby
    room, _, _, _ = table.game()
    assert room.id in table.lobby.rooms
    host.room_over(room, None)
    assert table.lobby.rooms == {}
