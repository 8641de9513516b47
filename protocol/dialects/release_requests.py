"""Reads what clients send exactly as the official releases do, with the object forms of `spielleiter.protocol.values`.

Seasons differ only in which of these requests they have. The exceptions, for clients of other seasons on the same port:
the password may also be in the attribute `passphrase`, and the attributes of slots that only other seasons have are
kept for the edition of the requested game, which decides. Source: releases 21.4.0 and 27.0.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from spielleiter.protocol import messages as m
from spielleiter.protocol.attribute_packets import ATTRIBUTE_PACKETS
from spielleiter.protocol.dialect import DataReader, Reader, Reading
from spielleiter.protocol.dialects.packets import OWN_REQUESTS, read_error_packet
from spielleiter.protocol.values import (
    BOOLEAN,
    NULL,
    TEXT,
    Element,
    FieldForm,
    ObjectForm,
    UnreadableError,
    ValueForm,
    class_attribute,
    parse_any_text,
    parse_java_boolean,
    read_fields,
    read_text,
)

# -- packets ----------------------------------------------------------------------------------------------------------

_ROOM_CLASS: Final = "sc.protocol.room.RoomPacket"
_ERROR_CLASSES: Final = ("errorpacket", "sc.protocol.responses.ErrorPacket")

_SLOT: Final = ObjectForm(
    frozenset({"slotDescriptor", "sc.shared.SlotDescriptor"}),
    {
        "displayName": TEXT,
        "canTimeout": BOOLEAN,
        "reserved": BOOLEAN,
        "shouldBePaused": ValueForm(None, parse_java_boolean),
    },
)


def _object_reader(
    tag: str,
    class_name: str,
    build: Callable[[dict[str, Any]], m.Message],
    fields: Mapping[str, FieldForm],
    items: Mapping[str, tuple[str, FieldForm]] | None = None,
) -> dict[str, Reader]:
    """Return the reader of a packet under its two names; `build` returns the message with the values of the fields."""
    form = ObjectForm(frozenset({tag, class_name}), fields, items or {})

    def read(packet: Element, reading: Reading) -> m.Message:
        return build(read_fields(packet, form, reading))

    return {tag: read, class_name: read}


def _attribute_packet_reader(tag: str) -> dict[str, Reader]:
    packet = ATTRIBUTE_PACKETS[tag]

    def build(values: dict[str, Any]) -> m.Message:
        flags = [values.get(name, False) for name in packet.flags]
        return cast("m.Message", packet.message(*map(values.get, packet.texts), *flags))

    fields = {**dict.fromkeys(packet.texts, TEXT), **dict.fromkeys(packet.flags, BOOLEAN)}
    return _object_reader(tag, packet.class_name, build, fields)


def _authenticate(values: dict[str, Any]) -> m.AuthenticateRequest:
    if "password" not in values and "passphrase" in values:
        return m.AuthenticateRequest(values["passphrase"], "passphrase")
    return m.AuthenticateRequest(values.get("password"))


def _prepare(values: dict[str, Any]) -> m.PrepareRequest:
    slots = tuple(
        m.Slot(
            slot.get("displayName"),
            can_timeout=slot.get("canTimeout", False),
            is_reserved=slot.get("reserved", False),
            should_be_paused=slot.get("shouldBePaused", False),
            given=frozenset(slot),
        )
        for slot in ({} if slot is None else slot for slot in values.get("slots", ()))
    )
    given = frozenset(values) - {"slots", "position"}
    return m.PrepareRequest(values.get("gameType"), slots, values.get("pause", False), values.get("position"), given)


def _prepare_reader(fields: Mapping[str, FieldForm]) -> dict[str, Reader]:
    items = {"slot": ("slots", _SLOT), "slotDescriptors": ("slots", _SLOT)}
    return _object_reader("prepare", "sc.protocol.requests.PrepareGameRequest", _prepare, fields, items)


def _read_error_packet(packet: Element, reading: Reading) -> m.ErrorPacket:
    """Read an error, which a client has no reason to send, or that of a server."""
    if not reading.is_strict:
        return read_error_packet(packet, reading)

    def read_original(original: Element) -> m.Message | None:
        class_name = class_attribute(original)
        if class_name == NULL:
            return None
        read = reading.dialect.readers.get(class_name or "")
        if read is None:
            raise UnreadableError(f"das Element {original.tag} hat keine bekannte Klasse")
        return read(original, reading)

    form = ObjectForm(frozenset(_ERROR_CLASSES), {"originalRequest": read_original, "message": TEXT})
    values = read_fields(packet, form, reading)
    return m.ErrorPacket(values.get("message"), values.get("originalRequest"))


def read_room(packet: Element, reading: Reading) -> m.RoomMessage:
    """Read a room packet. Raises UnreadableError for unreadable data, too, unless a server sent them."""

    def read_data(data: Element) -> m.RoomData | None:
        return _read_data(data, reading, packet)

    form = ObjectForm(frozenset({"room", _ROOM_CLASS}), {"roomId": TEXT, "data": read_data})
    values = read_fields(packet, form, reading)
    message = m.RoomMessage(values.get("roomId"), values.get("data"))
    if reading.is_strict and isinstance(message.data, m.UnreadableData):  # only the whole packet shows what is missing
        raise UnreadableError(message.data.problem, message, is_incomplete=True)
    return message


def _read_data(data: Element, reading: Reading, packet: Element | None = None) -> m.RoomData | None:
    """Return the data in `packet` or in other data. Raises UnreadableError in a strict dialect.

    Incomplete data in `packet` is returned: whether the rest of the packet can be read comes first.
    """
    if class_attribute(data) == NULL:
        return None
    read = reading.dialect.read_data(data, reading)
    if reading.is_strict and isinstance(read, m.UnreadableData) and not (read.is_incomplete and packet is not None):
        original = None if packet is None else m.RoomMessage(packet.get("roomId"), read)
        raise UnreadableError(read.problem, original, is_incomplete=read.is_incomplete)
    return read


_PREPARE_FIELDS: Final[Mapping[str, FieldForm]] = {"gameType": TEXT, "pause": BOOLEAN}
_OFFICIAL_PREPARE: Final = _prepare_reader(_PREPARE_FIELDS)

READERS: Final[Mapping[str, Reader]] = {
    **_object_reader(
        "authenticate",
        "sc.protocol.requests.AuthenticateRequest",
        _authenticate,
        {"password": TEXT, "passphrase": ValueForm(None, parse_any_text)},
    ),
    **_attribute_packet_reader("cancel"),
    **_attribute_packet_reader("join"),
    **_attribute_packet_reader("joinPrepared"),
    **_attribute_packet_reader("joinRoom"),
    **_attribute_packet_reader("observe"),
    **_attribute_packet_reader("pause"),
    **_OFFICIAL_PREPARE,
    **_attribute_packet_reader("step"),
    "room": read_room,
    _ROOM_CLASS: read_room,
    # what only a server sends: read, and then refused
    **_attribute_packet_reader("joined"),
    **_attribute_packet_reader("left"),
    **_attribute_packet_reader("observed"),
    **_object_reader(
        "prepared",
        "sc.protocol.responses.GamePreparedResponse",
        lambda values: m.Prepared(values.get("roomId"), tuple(code or "" for code in values.get("reservations", ()))),
        {"roomId": TEXT},
        {"reservation": ("reservations", TEXT)},
    ),
    **dict.fromkeys(_ERROR_CLASSES, _read_error_packet),
}
"""The packets that both releases have, by tag and by class."""

OFFICIAL_READERS: Final[Mapping[str, Reader | None]] = {
    **dict.fromkeys(OWN_REQUESTS),
    **_OFFICIAL_PREPARE,
}
"""What the releases have in place of our extensions, which only administrators may use."""

EXTENDED_READERS: Final[Mapping[str, Reader]] = _prepare_reader({**_PREPARE_FIELDS, "position": read_text})
"""The requests that have more in them than in the releases, for administrators."""

TEST_MODE_READERS: Final[Mapping[str, Reader]] = {
    **_attribute_packet_reader("scoreForPlayer"),
    **_attribute_packet_reader("testMode"),
}
"""The requests of the seasons that have a test mode."""

# -- the data of rooms ------------------------------------------------------------------------------------------------


def _server_data(
    java_name: str,
    fields: Mapping[str, Callable[[Reading], FieldForm]],
    kept: tuple[str, ...],
    class_names: tuple[str, ...],
) -> dict[str, DataReader]:
    """Return the reader of data that only a server sends, by its classes, the first of which is written."""

    def read(data: Element, reading: Reading) -> m.ServerData:
        form = ObjectForm(frozenset(class_names), {name: new_form(reading) for name, new_form in fields.items()})
        values = read_fields(data, form, reading)
        return m.ServerData(class_names[0], java_name, tuple((name, values.get(name)) for name in kept))

    return dict.fromkeys(class_names, read)


def _read_no_state(state: Element) -> None:
    if class_attribute(state) != NULL:
        raise UnreadableError(f"das Element {state.tag} darf nur ein Server senden")


_POSITIONS: Final = ("memento", "sc.protocol.room.MementoMessage")
_PAUSED_CLASSES: Final = ("paused", "sc.protocol.room.GamePaused")
_PAUSED: Final = ObjectForm(frozenset(_PAUSED_CLASSES), {"paused": BOOLEAN})

_DATA_READERS: Final[Mapping[str, DataReader]] = {
    **dict.fromkeys(
        _PAUSED_CLASSES, lambda data, reading: m.Paused(read_fields(data, _PAUSED, reading).get("paused", False))
    ),
    **_server_data(
        "ErrorMessage",
        {"originalMessage": lambda reading: lambda child: _read_data(child, reading), "message": lambda _: TEXT},
        ("originalMessage", "message"),
        ("error", "sc.protocol.room.ErrorMessage"),
    ),
    **_server_data(
        "MementoMessage",
        {"state": lambda _: _read_no_state, "perspective": lambda _: lambda _child: None},
        ("state", "perspective"),
        _POSITIONS,
    ),
    **_server_data(
        "WelcomeMessage",
        {"color": lambda _: TEXT},
        ("color",),
        ("welcomeMessage", "sc.shared.WelcomeMessage", "sc.protocol.room.WelcomeMessage"),
    ),
}


def data_readers(of_servers: Mapping[str, DataReader]) -> dict[str, DataReader]:
    """Return the readers `of_servers`, which read data of a client, where that is different, as the releases do.

    A position is read as `of_servers` does if that is possible.
    """

    def reader(class_name: str, of_server: DataReader) -> DataReader:
        of_client = _DATA_READERS.get(class_name)
        if of_client is None:
            return of_server

        def read(data: Element, reading: Reading) -> m.RoomData:
            if not reading.is_strict:
                return of_server(data, reading)
            try:
                return of_client(data, reading)
            except UnreadableError:
                if class_name not in _POSITIONS:
                    raise
                return of_server(data, reading)

        return read

    return {class_name: reader(class_name, of_server) for class_name, of_server in of_servers.items()}
