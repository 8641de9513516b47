"""Passwords are found in every form of a packet, also in one that cannot be parsed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.wire.conversation import find_passwords

SECRET = b"geheim"


def hidden(data: bytes) -> bytes:
    pieces, position = [], 0
    for start, end in find_passwords(data):
        pieces += [data[position:start], b"*"]
        position = end
    return b"".join([*pieces, data[position:]])


@pytest.mark.parametrize(
    ("packet", "shown"),
    [
        ('<authenticate password="geheim"/>', '<authenticate password="*"/>'),
        ("<authenticate passphrase='geheim'/>", "<authenticate passphrase='*'/>"),
        ('<authenticate password = "geh\'eim"/>', '<authenticate password = "*"/>'),
        ('<authenticate password=">geheim"/><join a="b"/>', '<authenticate password="*"/><join a="b"/>'),
        ('<authenticate token="geheim"/>', '<authenticate token="*"/>'),
        ("<authenticate><password>geheim</password>", "<authenticate><password>*</password>"),
        ("<authenticate>geheim</authenticate>", "<authenticate>*</authenticate>"),
        ('<sc.protocol.requests.AuthenticateRequest password="geheim"/>',) * 2,
        ('<originalRequest class="authenticate" password="geheim"/>',) * 2,
        ('<data PassWord="geheim"/>', '<data PassWord="*"/>'),
        ("<data password=geheim>", "<data password=*>"),
        ("<authenticate><![CDATA[<geheim]]></authenticate>", "<authenticate>*</authenticate>"),
        ("<authenticate><!--a-->geheim</authenticate>", "<authenticate>*</authenticate>"),
        ("<password><![CDATA[geheim]]></password>", "<password>*</password>"),
        ('{"type": "login", "password": "geheim"}', '{"type": "login", "password": "*'),
        ('{"type": "authenticate", "password": "geheim"}', "{*"),
        ('{"type": "authenticate", "token": "geheim"}', "{*"),
        ('\n[{"token": "geheim", "type": "authenticate"}]', "\n[*"),
        ('{"type": "join"}\n{"Authenticate": {"token": "geheim"}}', "{*"),
        # malformed
        ('<authenticate password="geheim', "<authenticate*"),
        ("<authenticate password=geheim/>", "<authenticate*"),
        ('<authenticate "geheim"/>', "<authenticate*"),
        ('<authenticate password=="geheim"/>', "<authenticate*"),
        ('<authenticate password="ge"heim"/>', '<authenticate password="*'),
        ('<data password="geheim/><join/>', '<data password="*'),
        ('<data password "geheim"/>', '<data password "*"/>'),
    ],
)
def test_a_password_is_found(packet: str, shown: str) -> None:
    expected = shown.replace("geheim", "*").encode()
    assert hidden(packet.encode()) == expected
    assert SECRET not in expected


@pytest.mark.parametrize(
    "packet",
    [
        '<room roomId="x"><data class="moveRequest"/></room>',
        '<errorpacket message="Wrong password"><originalRequest class="join"/></errorpacket>',
        '<authenticate password=""/>',
        "<protocol>",
    ],
)
def test_nothing_else_is_hidden(packet: str) -> None:
    assert hidden(packet.encode()) == packet.encode()


def test_a_password_in_utf16_is_not_shown() -> None:
    assert hidden('<authenticate password="geheim"/>'.encode("utf-16")) == b"*"


@given(st.text(alphabet="geheim<>\"'=/ \n&", max_size=12), st.sampled_from(["password", "passphrase"]))
def test_no_letter_of_a_quoted_password_is_shown(secret: str, name: str) -> None:
    quote = "'" if '"' in secret else '"'
    if quote in secret:
        return
    packet = f"<authenticate {name}={quote}{secret}X{quote}/>".encode()
    assert b"X" not in hidden(packet)


@given(st.binary(max_size=60))
def test_the_spans_are_in_order_and_do_not_overlap(data: bytes) -> None:
    bounds = [bound for span in find_passwords(b"<authenticate password=" + data) for bound in span]
    assert bounds == sorted(set(bounds))
