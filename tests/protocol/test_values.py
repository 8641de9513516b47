"""Values read leniently, and objects read as the official server reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from spielleiter.game.blokus.pieces import Rotation
from spielleiter.protocol.messages import Aggregation
from spielleiter.protocol.packet_reader import parse_element
from spielleiter.protocol.values import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Element,
    ObjectForm,
    UnreadableError,
    ValueForm,
    decode_name,
    enumeration,
    parse_any_text,
    parse_java_integer,
    read_boolean,
    read_decimal_text,
    read_enum,
    read_enum_text,
    read_fields,
    read_integer,
    read_integer_text,
)

AGGREGATIONS = {each.value: each for each in Aggregation}


def parse(text: str) -> Element:
    return cast("Element", etree.fromstring(text))


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), (" TRUE ", True), ("1", False), ("yes", False), ("", False)]
)
def test_booleans(text: str, expected: bool) -> None:
    assert read_boolean(parse(f'<a b="{text}"/>'), "b", default=not expected) is expected
    assert read_boolean(parse("<a/>"), "b", default=expected) is expected


@pytest.mark.parametrize(("text", "expected"), [("+19", 19), (" 7 ", 7), ("007", 7), ("-2147483648", -(2**31))])
def test_whole_numbers(text: str, expected: int) -> None:
    assert read_integer(parse(f'<a b="{text}"/>'), "b") == expected
    assert read_integer_text(parse(f"<a>{text}</a>")) == expected


@pytest.mark.parametrize("text", ["", "1.0", "1_000", "--1", "٣", "1 2"])
def test_invalid_whole_numbers(text: str) -> None:
    with pytest.raises(UnreadableError) as in_attribute:
        read_integer(parse(f'<a b="{text}"/>'), "b")
    assert in_attribute.value.problem == f'a b="{text}" ist keine ganze Zahl'
    with pytest.raises(UnreadableError) as in_text:
        read_integer_text(parse(f"<a>{text}</a>"))
    assert in_text.value.problem == f'"{text}" im Element a ist keine ganze Zahl'


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "9" * 5000])
def test_whole_numbers_have_32_bits(text: str) -> None:
    with pytest.raises(UnreadableError, match="liegt nicht zwischen -2147483648 und 2147483647"):
        read_integer(parse(f'<a b="{text}"/>'), "b")


@pytest.mark.parametrize("text", ["", "x", "NaN", "Infinity", "1,5"])
def test_invalid_decimals(text: str) -> None:
    with pytest.raises(UnreadableError) as error:
        read_decimal_text(parse(f"<a>{text}</a>"))
    assert error.value.problem == f'"{text}" im Element a ist keine Zahl'


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (
            lambda: read_enum(parse('<a b="sum"/>'), "b", AGGREGATIONS),
            'a b="sum" gibt es nicht; erlaubt: SUM, AVERAGE',
        ),
        (
            lambda: read_enum(parse("<a/>"), "b", AGGREGATIONS),
            "im Element a fehlt das Attribut b; erlaubt: SUM, AVERAGE",
        ),
        (
            lambda: read_enum_text(parse("<a>MAX</a>"), AGGREGATIONS),
            '"MAX" im Element a gibt es nicht; erlaubt: SUM, AVERAGE',
        ),
        (lambda: read_integer(parse("<a/>"), "b"), "im Element a fehlt das Attribut b (eine ganze Zahl)"),
    ],
)
def test_problems_name_element_attribute_value_and_what_is_allowed(read: Callable[[], object], problem: str) -> None:
    with pytest.raises(UnreadableError) as error:
        read()
    assert error.value.problem == problem
    assert str(error.value) == problem


class Skipper:
    """Refuses or notes unknown children."""

    def __init__(self, *, is_strict: bool = True) -> None:
        self.is_strict = is_strict
        self.skipped: list[str] = []

    def skip(self, child: Element, parent: Element) -> None:
        if self.is_strict:
            raise UnreadableError(f"{child.tag} in {parent.tag}")
        self.skipped.append(child.tag)


ROTATION = enumeration(dict(Rotation.__members__), "rotation", "g.Rotation")
ELEMENT_ONLY = enumeration(dict(Rotation.__members__), "rotation", is_attribute=False)
CORNER = ObjectForm(frozenset({"corner", "g.Corner"}), {"x": INTEGER})
ITEM = ObjectForm(frozenset({"item", "g.Item"}), {"name": TEXT})
FORM = ObjectForm(
    frozenset({"thing", "g.Thing"}),
    {
        "name": TEXT,
        "n": INTEGER,
        "flag": BOOLEAN,
        "turn": ROTATION,
        "turned": ELEMENT_ONLY,
        "old": ValueForm(None, parse_any_text),
        "corner": CORNER,
        "data": lambda child: child.get("class"),
    },
    {"item": ("items", ITEM), "items": ("items", ITEM)},
    ignored=frozenset({"cache"}),
)


def read(text: str, skipper: Skipper | None = None) -> dict[str, Any]:
    return read_fields(parse_element(f"<thing {text}</thing>"), FORM, skipper or Skipper())


@pytest.mark.parametrize(
    ("name", "decoded"),
    [
        ("x", "x"),
        ("_.0078", "x"),
        ("a_.007Aa_.00e4", "azaä"),
        ("_", "_"),
        ("_a", "_a"),
        ("__", "_"),
        ("___-", "_$"),
        ("____", "__"),
        ("_-_-", "$$"),
        ("_.-07b", "\uff85"),
        ("_.007", None),
        ("_.", None),
        ("_.007g", None),
        ("_.--07", None),
        ("a__.0078", "a_.0078"),
    ],
)
def test_names_may_be_escaped(name: str, decoded: str | None) -> None:
    if decoded is None:
        with pytest.raises(UnreadableError, match="vier Hexadezimalziffern"):
            decode_name(name)
    else:
        assert decode_name(name) == decoded


def test_the_value_of_an_escaped_attribute_is_not_found() -> None:
    assert read('n_.0061me="a" fl_.0061g="true" y_.0000="">') == {"name": None, "flag": False}
    assert read("><n_.0061me>a</n_.0061me><_.0069tem/>") == {"name": "a", "items": [{}]}
    for escaped in ('_.006E="1"', 't_.0075rn="LEFT"', 'name="a" n_.0061me="a"', 'n_.0061me="a" name="a"', 'y_.="1"'):
        with pytest.raises(UnreadableError):
            read(escaped + ">")
    with pytest.raises(UnreadableError):
        read('n_.0061me="a"><name>a</name>')


INTEGERS = [
    *(
        ("-0", 0),
        ("007", 7),
        ("010", 8),
        ("0X1f", 31),
        ("#10", 16),
        ("-0x1", -1),
        ("+#a", 10),
        ("2147483648", -(2**31)),
    ),
    *(("4294967295", -1), ("-2147483648", -(2**31)), ("037777777777", -1), ("߁", 1), ("０１", 1), ("0xＡ", 10)),
]
NO_INTEGERS = [
    *("", "+", "--1", "+-1", "0x", "#", "0x-1", " 1", "1\n", "1.0", "1e0", "1_0", "1L", "08", "-08"),
    *("4294967296", "-2147483649", "99999999999999999999", "-#ffffffff", "040000000000", "9" * 500),
    *("𝟏", "０x1", "0ｘ1", "½", "²", "Ⅷ"),
]


@pytest.mark.parametrize(("text", "value"), INTEGERS)
def test_integers(text: str, value: int) -> None:
    assert parse_java_integer(text, "n") == value
    assert read(f'n="{text}">') == read(f"><n>{text}</n>") == {"n": value}


@pytest.mark.parametrize("text", NO_INTEGERS)
def test_texts_that_are_no_integers(text: str) -> None:
    with pytest.raises(UnreadableError, match=r"^where (ist keine ganze Zahl|liegt nicht zwischen)"):
        parse_java_integer(text, "where")


@given(st.integers(-(2**31), 2**32 - 1), st.sampled_from(["{0}{1:d}", "{0}0x{1:x}", "{0}#{1:X}", "{0}0{1:o}"]))
def test_every_way_to_write_an_integer(value: int, form: str) -> None:
    wrapped = value - 2**32 if value >= 2**31 else value
    assert parse_java_integer(form.format("-" if value < 0 else "", abs(value)), "") == wrapped


@pytest.mark.parametrize("text", ["right", "rIGHT", "rıght", "rİght"])
def test_the_case_of_an_enumeration_matters_only_in_an_attribute(text: str) -> None:
    assert read(f"><turn>{text}</turn>") == {"turn": Rotation.RIGHT}
    with pytest.raises(UnreadableError, match=r"gibt es nicht; erlaubt: NONE, RIGHT, MIRROR, LEFT"):
        read(f'turn="{text}">')


@pytest.mark.parametrize("text", ["", " RIGHT", "RIGHT\n", "RIGHTT", "ﬁ"])
def test_other_names_of_an_enumeration(text: str) -> None:
    for packet in (f'turn="{text}">', f"><turn>{text}</turn>"):
        with pytest.raises(UnreadableError, match="gibt es nicht; erlaubt"):
            read(packet)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (">", {}),
        ("><name/>", {"name": ""}),
        ("><name> a </name>", {"name": " a "}),
        ("><name>a<!-- b -->c</name>", {"name": "ac"}),
        ("><name><![CDATA[<a>]]></name>", {"name": "<a>"}),
        ("><name>a<x/>b</name>", {"name": "a"}),
        ("><name><x/>b</name>", {"name": ""}),
        ('NAME="a" Name="b" foo="c" id="1" reference="../x">', {}),
        (">text<name>a</name>text", {"name": "a"}),
        ('flag="TrUe">', {"flag": True}),
        *(
            (f"><flag>{text}</flag>", {"flag": False})
            for text in ("", "1", "t", "yes", "wahr", " true", "true ", "ＴＲＵＥ")
        ),
        ('turned="RIGHT">', {}),
        ("><turned>RIGHT</turned>", {"turned": Rotation.RIGHT}),
        ('old="x">', {"old": "x"}),
        ('corner="1,2">', {}),
        ("><corner/>", {"corner": {}}),
        ('><corner x="1" z="3">2</corner>', {"corner": {"x": 1}}),
        ("><corner><x>1</x></corner>", {"corner": {"x": 1}}),
        ('><data class="x"><y/></data>', {"data": "x"}),
        ("><cache><y/></cache><cache/>", {}),
        ('><item name="a"/><items><name>b</name></items>', {"items": [{"name": "a"}, {"name": "b"}]}),
        ('item="x" items="y">', {}),
        # classes
        ('><name class="string">a</name>', {"name": "a"}),
        ('><n class="int">1</n><flag class="java.lang.Boolean">true</flag>', {"n": 1, "flag": True}),
        ('><turn class="g.Rotation">LEFT</turn>', {"turn": Rotation.LEFT}),
        ('><corner resolves-to="corner" class="nonsense" x="1"/>', {"corner": {"x": 1}}),
        ('><name class="null">a</name><corner class="null"/>', {"name": None, "corner": None}),
        ('><item class="null"/><item class="g.Item"/>', {"items": [None, {}]}),
        ('><name defined-in="thing">a</name><item defined-in="g.Thing"/>', {"name": "a", "items": [{}]}),
    ],
)
def test_fields(text: str, fields: dict[str, Any]) -> None:
    assert read(text) == fields


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("><foo/>", "foo in thing"),
        ("><corner><x>1</x><foo/></corner>", "foo in corner"),
        ('><item name="a"><foo/></item>', "foo in item"),
        ("><old>x</old>", "old in thing"),
        ('name="a"><name>a</name>', "name steht im Element thing mehr als einmal"),
        ("><name>a</name><name>a</name>", "name steht im Element thing mehr als einmal"),
        ('><name class="null"/><name>a</name>', "name steht im Element thing mehr als einmal"),
        ('><corner x="1"/><corner x="1"/>', "corner steht im Element thing mehr als einmal"),
        ('><corner x="1"><x>1</x></corner>', "x steht im Element corner mehr als einmal"),
        ('><name class="int">1</name>', 'name class="int" ist hier nicht erlaubt'),
        ('><flag class="null">1</flag>', 'flag class="null" ist hier nicht erlaubt'),
        ('><corner class="" x="1"/>', 'corner class="" ist hier nicht erlaubt'),
        ('><corner resolves-to="x" class="corner"/>', 'corner class="x" ist hier nicht erlaubt'),
        ('><item class="corner"/>', 'item class="corner" ist hier nicht erlaubt'),
        ('><name defined-in="corner">a</name>', 'name defined-in="corner": dort gibt es dieses Element nicht'),
        ('><item defined-in="item"/>', 'item defined-in="item": dort gibt es dieses Element nicht'),
    ],
)
def test_elements_that_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(UnreadableError) as error:
        read(text)
    assert error.value.problem == problem
    assert not error.value.is_incomplete


def test_unknown_children_may_be_skipped() -> None:
    skipper = Skipper(is_strict=False)
    assert read('><foo/><old>x</old><name>a</name><corner x="1"><bar/></corner>', skipper) == {
        "name": "a",
        "corner": {"x": 1},
    }
    assert skipper.skipped == ["foo", "old", "bar"]
