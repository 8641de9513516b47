"""Settings parse their texts, and explain what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from spielleiter.server.setting import (
    Setting,
    ValueKind,
    address,
    choice,
    directory_switch,
    milliseconds,
    optional,
    path,
    seconds,
    setting,
    settings_of,
    switch,
    text,
    whole_number,
)


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (text(), "anything at all", "anything at all"),
        (whole_number(0, 65535), "65535", 65535),
        (whole_number(-5), "-5", -5),
        (whole_number(1), "+7", 7),
        (milliseconds(), "2000", 2.0),
        (seconds(), "0.25", 0.25),
        (seconds(can_be_zero=True), "0", 0.0),
        (switch(), "TRUE", True),
        (choice("red", "green"), "green", "green"),
        (path(), "a/b.txt", Path("a/b.txt")),
        (directory_switch("replays"), "true", Path("replays")),
        (directory_switch("replays"), "FALSE", None),
        (directory_switch("replays"), "out", Path("out")),
        (directory_switch("replays"), "./true", Path("true")),
        (optional(whole_number(0)), "", None),
        (optional(choice("red", "green")), "", None),
        (address(), "127.0.0.1:9100", ("127.0.0.1", 9100)),
        (address(), "9100", ("127.0.0.1", 9100)),
        (address(), "[::1]:9100", ("::1", 9100)),
    ],
)
def test_a_valid_text_is_parsed(kind: ValueKind[Any], written: str, value: object) -> None:
    assert kind.parse(written) == value


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (text(), ""),
        (whole_number(0, 65535), "65536"),
        (whole_number(0, 65535), "-1"),
        (whole_number(0), "1_000"),
        (whole_number(0), "9" * 5000),
        (whole_number(0), "٣"),
        (address(), ":9100"),
        (address(), "localhost"),
        (address(), "localhost:65536"),
        (address(), "::1:9100"),
        (address(), "[]:9100"),
        (milliseconds(), "9" * 23),
        (seconds(), "1e300"),
        (milliseconds(), "0"),
        (seconds(), "nan"),
        (seconds(can_be_zero=True), "inf"),
        (switch(), "yes"),
        (choice("red", "green"), "Red"),
        (directory_switch("replays"), ""),
        (optional(whole_number(0)), "x"),
    ],
)
def test_an_invalid_text_is_refused(kind: ValueKind[Any], written: str) -> None:
    with pytest.raises(ValueError):
        kind.parse(written)


def _setting(kind: ValueKind[Any], *, is_secret: bool = False) -> Setting:
    return Setting("soft_timeout", "softTimeout", kind, "2", "Games", "How long.", "-s", is_secret=is_secret)


def test_a_secret_is_not_shown_and_spaces_may_be_part_of_a_value() -> None:
    with pytest.raises(ValueError) as refused:
        _setting(choice("a", "b"), is_secret=True).read("hush", "P")
    assert str(refused.value) == "P: cannot be used, expected a or b"
    assert _setting(milliseconds()).read(" 20 ", "here") == 0.02
    assert _setting(optional(text(keeps_spaces=True))).read(" secret ", "here") == " secret "


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        (seconds(), "0", "'0' cannot be used, expected seconds, more than 0 and up to 31622400"),
        (seconds(can_be_zero=True), "-", "'-' cannot be used, expected seconds, from 0 up to 31622400"),
        (
            directory_switch("replays"),
            "flase",
            (
                "'flase' cannot be used, expected true (the directory replays), false or a directory"
                " (did you mean 'false'?)"
            ),
        ),
        (path(), "\n", "'' cannot be used, expected a path"),
    ],
)
def test_a_refusal_names_source_value_and_what_is_allowed(kind: ValueKind[Any], written: str, expected: str) -> None:
    with pytest.raises(ValueError) as refused:
        _setting(kind).read(written, "x:3: n")
    assert str(refused.value) == f"x:3: n: {expected}"


def test_the_settings_of_a_struct_are_found_in_order_and_their_names_are_derived() -> None:
    class Two(Struct, frozen=True):
        round_limit: int = setting(
            "25", whole_number(1), "Help.", group="A", short_option="-r", other_options=("--rL",)
        )
        is_paused: bool = setting("false", switch(), "Help.", group="B", name="paused")
        plain: int = 3

    limit, paused = settings_of(Two)
    assert (limit.field, limit.name, limit.group, limit.default) == ("round_limit", "roundLimit", "A", "25")
    assert (limit.variable, limit.options) == ("SPIELLEITER_ROUND_LIMIT", ("--round-limit", "-r", "--rL"))
    assert (paused.field, paused.name, paused.group) == ("is_paused", "paused", "B")
    assert (paused.option, paused.negative_option) == ("--paused", "--no-paused")
    assert Two(is_paused=True) == Two(25, True)
