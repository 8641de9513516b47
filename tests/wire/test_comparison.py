"""What counts as the same answer."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from spielleiter.wire.comparison import Comparison, without_passwords
from spielleiter.wire.trace_reader import PASSWORD

OLD = b"7b40729d-1d82-4718-8dcb-08bd5eaada5e"
NEW = b"074251df-d1fa-4ccd-bced-15c461e5aae5"
OTHER = b"fe7a6d4e-8e6c-4ab4-aa6e-ac0d1ee26c2a"
POSITION = b'<room><data class="memento">\n<state class="state" turn="3" round="1"><a/></state></data></room>'


@pytest.mark.parametrize(
    ("recorded", "answer", "is_equal"),
    [
        (b"<a/>", b"<a/>", True),
        (b"\n  <a>\n  </a>", b"<a></a>", True),
        (b"<a/>", b"<b/>", False),
        (b"<a/>", b"<a/><a/>", False),
        (b"<a>1</a>", b"<a>2</a>", False),
        (b'<a password="' + PASSWORD + b'" b="1"/>', b'<a password="x" b="1"/>', True),
        (b'<a password="' + PASSWORD + b'" b="1"/>', b'<a password="x" b="2"/>', False),
        (b"aa" + PASSWORD + b"a", b"aa", False),
        (b"a" + PASSWORD + b"b" + PASSWORD + b"c", b"a1b2c", True),
        (b"a" + PASSWORD + b"b" + PASSWORD + b"c", b"b1b2c", False),
        (b"a" + PASSWORD + b"b" + PASSWORD + b"c", b"a12c", False),
        (b"<room><<memento turn=3, 4320 bytes>></room>", POSITION, True),
        (b"<room><<memento turn=4, 4320 bytes>></room>", POSITION, False),
        (b"<room><<memento turn=4, 4320 bytes>></room>", b'<room><data class="memento"></data></room>', False),
        (b"<room><<memento turn=4, 4320 bytes>></room>", b"<room/>", False),
        (b"a < b", b"a < b", True),
    ],
)
def test_two_answers(recorded: bytes, answer: bytes, is_equal: bool) -> None:
    assert Comparison().is_equal(recorded, answer) is is_equal


def test_many_passwords_take_no_long_time() -> None:
    """With a regular expression, the time would be a high power of the length."""
    recorded = b"<a" + (PASSWORD + b" ") * 200 + b"x>"
    assert not Comparison().is_equal(recorded, b"<a" + b" " * 2000 + b"y>")


def test_an_incomplete_answer_is_compared_as_far_as_it_goes() -> None:
    comparison = Comparison()
    assert comparison.is_equal(b"<a><b x=", b"<a><b x='1'/></a>", is_whole=False)
    assert not comparison.is_equal(b"<c><b x=", b"<a><b x='1'/></a>", is_whole=False)
    assert not comparison.is_equal(b"<a><c/>", b"<a><b x='1'/></a>", is_whole=False)
    assert comparison.is_equal(b"<a>te", b"<a>text</a>", is_whole=False)


def test_ids_are_replaced_consistently() -> None:
    comparison = Comparison(b"pw")
    assert comparison.translated(b'<a id="' + OLD + b'"/>') == b'<a id="' + OLD + b'"/>'
    assert comparison.is_equal(b'<joined roomId="' + OLD + b'"/>', b'<joined roomId="' + NEW + b'"/>')
    assert comparison.translated(b'<a id="' + OLD + b'" p="' + PASSWORD + b'"/>') == b'<a id="' + NEW + b'" p="pw"/>'
    assert comparison.id_count == 1
    assert not comparison.is_equal(b'<left roomId="' + OLD + b'"/>', b'<left roomId="' + OTHER + b'"/>')
    assert not comparison.is_equal(b'<left roomId="' + OTHER + b'"/>', b'<left roomId="' + NEW + b'"/>')


def test_a_difference_shows_what_changed() -> None:
    comparison = Comparison()
    assert comparison.difference(b"<a><b>1</b></a>", b"<a>\n<b>2</b>\x1b</a>") == [
        " <b>",
        "-1",
        "+2",
        " </b>",
        "+\\x1b",
        " </a>",
    ]
    many = comparison.difference(b"<a>" + b"<b/>" * 30 + b"</a>", b"<a/>")
    assert many[-1] == "... and 19 more lines"


def test_huge_answers_take_no_long_time() -> None:
    comparison = Comparison()
    recorded = b"".join(b"<a%d/>" % (number % 5000) for number in range(20_000))
    answer = b"".join(b"<a%d/>" % (number * 7 % 5000) for number in range(20_000))
    assert not comparison.is_equal(recorded, answer)
    assert comparison.difference(recorded, answer)[0] == " <a0/>"
    shortened = b"<room><<memento turn=4, 4320 bytes>></room>"
    assert not comparison.is_equal(shortened, b'<data class="memento">' * 30_000)


def test_a_password_is_sent_as_the_text_of_a_packet() -> None:
    packet = b'<authenticate password="' + PASSWORD + b'"/>'
    sent = Comparison("a<&>\"'ü".encode()).translated(packet)
    assert ET.fromstring(sent).get("password") == "a<&>\"'ü"


def test_passwords_are_not_shown() -> None:
    recorded, echoed = b'<a><b password="%b"/><c/></a>' % PASSWORD, b'<a><b password="geheim"/><d/></a>'
    assert Comparison().difference(recorded, echoed) == [' <b password="..."/>', "-<c/>", "+<d/>", " </a>"]
    assert Comparison().difference(echoed, b"<a>")[0] == " <a>"
    assert without_passwords(echoed * 3) == b'<a><b password="..."/><d/></a>' * 3
    assert without_passwords(b"<a/>") == b"<a/>"


def test_the_password_that_is_sent_is_not_shown_in_other_words_either() -> None:
    comparison = Comparison(b'ge"h')
    assert comparison.shown(b'<a message="ge&quot;h is wrong"/>ge"h') == b'<a message="... is wrong"/>...'
    lines = comparison.difference(b'<a message="old"/>', b'<a message="ge&quot;h is wrong"/>')
    assert lines == ['-<a message="old"/>', '+<a message="... is wrong"/>']
