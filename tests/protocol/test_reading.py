"""Reading values from elements, and the exact texts of the errors."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import cast

import pytest
from lxml import etree

from spielleiter.protocol.dialect import Reading
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from spielleiter.protocol.messages import Aggregation, UnknownPacket
from spielleiter.protocol.reading import (
    Element,
    UnreadableError,
    quote,
    read_boolean,
    read_decimal_text,
    read_enum,
    read_enum_text,
    read_integer,
    read_integer_text,
    read_text,
)

AGGREGATIONS = {each.value: each for each in Aggregation}


def parse(text: str) -> Element:
    return cast("Element", etree.fromstring(text))


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ('<a b="true"/>', False, True),
        ('<a b="True"/>', False, True),
        ('<a b=" TRUE "/>', False, True),
        ('<a b="false"/>', True, False),
        ('<a b="1"/>', True, False),
        ('<a b="yes"/>', True, False),
        ('<a b=""/>', True, False),
        ("<a/>", True, True),
        ("<a/>", False, False),
    ],
)
def test_booleans(text: str, default: bool, expected: bool) -> None:
    assert read_boolean(parse(text), "b", default=default) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("-1", -1),
        ("+19", 19),
        (" 7 ", 7),
        ("007", 7),
        ("2147483647", 2**31 - 1),
        ("-2147483648", -(2**31)),
    ],
)
def test_whole_numbers(text: str, expected: int) -> None:
    assert read_integer(parse(f'<a b="{text}"/>'), "b") == expected
    assert read_integer_text(parse(f"<a>{text}</a>")) == expected


@pytest.mark.parametrize("text", ["", "x", "1.0", "1e3", "0x10", "1_000", "--1", "٣", "1 2"])
def test_invalid_whole_numbers(text: str) -> None:
    with pytest.raises(UnreadableError) as in_attribute:
        read_integer(parse(f'<a b="{text}"/>'), "b")
    assert in_attribute.value.problem == f'a b="{text}" ist keine ganze Zahl'
    with pytest.raises(UnreadableError) as in_text:
        read_integer_text(parse(f"<a>{text}</a>"))
    assert in_text.value.problem == f'"{text}" im Element a ist keine ganze Zahl'


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "9" * 30, "9" * 5000])
def test_whole_numbers_have_32_bits(text: str) -> None:
    with pytest.raises(UnreadableError, match="liegt nicht zwischen -2147483648 und 2147483647"):
        read_integer(parse(f'<a b="{text}"/>'), "b")


@pytest.mark.parametrize("text", ["149.00000", "2", "-1.5", "0E-5"])
def test_decimals_keep_their_digits(text: str) -> None:
    value = read_decimal_text(parse(f"<a>{text}</a>"))
    assert value.as_tuple() == Decimal(text).as_tuple()


@pytest.mark.parametrize("text", ["", "x", "NaN", "Infinity", "1,5"])
def test_invalid_decimals(text: str) -> None:
    with pytest.raises(UnreadableError) as error:
        read_decimal_text(parse(f"<a>{text}</a>"))
    assert error.value.problem == f'"{text}" im Element a ist keine Zahl'


def test_texts_have_no_white_space_around_them() -> None:
    assert read_text(parse("<a>\n  SUM\t</a>")) == "SUM"
    assert read_text(parse("<a/>")) == ""


def test_names_are_compared_exactly() -> None:
    assert read_enum(parse('<a b="SUM"/>'), "b", AGGREGATIONS) is Aggregation.SUM
    assert read_enum_text(parse("<a> AVERAGE </a>"), AGGREGATIONS) is Aggregation.AVERAGE


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


def test_long_quotes_are_shortened() -> None:
    assert quote("x" * 60) == "x" * 60
    assert quote("x" * 61) == "x" * 60 + "…"


def test_unknown_children_are_noted() -> None:
    notes: list[str] = []
    reading = Reading(BLOKUS_2021_R3, notes.append)
    found = reading.children(parse("<a><b n='1'/><c/><b n='2'/><d/></a>"), "b", "c")
    assert sorted(found) == ["b", "c"]
    assert found["b"].get("n") == "1", "the first one counts"
    reading.skip_children(parse("<e><f/></e>"))
    assert notes == ["<b> in <a>", "<d> in <a>", "<f> in <e>"]


def test_unknown_children_are_unreadable_in_a_strict_dialect() -> None:
    reading = Reading(BLOKUS_2021_RELEASE, lambda _: None)
    with pytest.raises(UnreadableError, match="unbekanntes Element <b> in <a>"):
        reading.skip_children(parse("<a><b/></a>"))


def test_an_error_contains_the_original_as_far_as_it_was_understood() -> None:
    assert UnreadableError("p").original is None
    assert UnreadableError("p", UnknownPacket("x")).original == UnknownPacket("x")
