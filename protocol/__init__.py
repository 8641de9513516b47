r"""The XML protocol of the Software-Challenge: bytes to typed messages and back, for servers and clients.

Nothing in this package uses sockets, a clock or an event loop (it is *sans-I/O*). The modules, from the outside in:

- `connection`: `Connection`, the two byte streams of one connection;
- `messages`: all messages, as frozen values;
- `dialect` and `dialects`: how each edition writes them;
- `errors` and `limits`: what may be raised, and how much a peer may send;
- `packet_reader` (bytes to parsed packets) and `values` (parsed packets to values), which the others use;
- `edition_recognition`: for clients that do not know the edition of a room in advance.

>>> from spielleiter.protocol.connection import Connection, Role
>>> from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
>>> from spielleiter.protocol.messages import Joined, JoinRequest
>>> client = Connection(Role.CLIENT, BLOKUS_2021_R3)
>>> data = client.send(JoinRequest("swc_2021_blokus"))
>>> data
b'<protocol>\n  <join gameType="swc_2021_blokus"/>'
>>> server = Connection(Role.SERVER, BLOKUS_2021_R3)
>>> server.receive_data(data)
>>> server.next_event()
JoinRequest(game_type='swc_2021_blokus')
>>> client.receive_data(server.send(Joined("a4b1")))
>>> client.next_event()
Joined(room_id='a4b1')
"""
