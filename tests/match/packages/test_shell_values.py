"""The values of words in a shell script."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given

from spielleiter.match.packages.shell_values import ROOT, Values
from tests.match.packages.test_shell_words import SCRIPTS


@pytest.fixture
def values() -> Values:
    made = Values(PurePosixPath("bin/start.sh"), PurePosixPath("data"))
    made.assign("NAME=bot")
    made.assign('DIR="$(cd "$(dirname "$0")" && pwd)"')
    made.assign("MAYBE=x", is_certain=False)
    return made


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a", "a"),
        ("'$NAME'", "$NAME"),
        ("\"'$NAME'\"", "'bot'"),
        ("a\\ b", "a b"),
        ("${NAME}.jar", "bot.jar"),
        ("$0", f"{ROOT}/bin/start.sh"),
        ("${BASH_SOURCE[0]}", f"{ROOT}/bin/start.sh"),
        ("${0%/*}/x", f"{ROOT}/bin/x"),
        ("$DIR/x", f"{ROOT}/bin/x"),
        ("$(dirname -- $0)", f"{ROOT}/bin"),
        ("`dirname $0`", f"{ROOT}/bin"),
        ('"$(dirname "$(readlink -f "$0")")"', f"{ROOT}/bin"),
        ("$(realpath ..)", ROOT),
        ("$(dirname x)", "."),
        ("$(pwd)/x", f"{ROOT}/data/x"),
        ("$PWD", f"{ROOT}/data"),
        ("$", "$"),
        ("$UNKNOWN", None),
        ("$MAYBE", None),
        ("$1", None),
        ("${NAME:-x}", None),
        ("*.jar", None),
        ("'*.jar'", "*.jar"),
        ("~/x", None),
        ("$(date)", None),
        ("$(" * 12 + "pwd" + ")" * 12, None),
    ],
)
def test_a_value_is_known_or_not(word: str, value: str | None, values: Values) -> None:
    assert values.expand(word) == value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a", "data/a"),
        ("../a", "a"),
        (f"{ROOT}/x/../a", "a"),
        (ROOT, "."),
        ("../../a", None),
        (f"{ROOT}/../a", None),
        ("/usr/bin/a", None),
        (None, None),
    ],
)
def test_paths_are_relative_to_the_package(value: str | None, path: str | None, values: Values) -> None:
    assert values.resolve(value) == (None if path is None else PurePosixPath(path))


def test_nothing_relative_is_known_in_an_unknown_folder(values: Values) -> None:
    values.folder = None
    assert values.resolve("a") is None
    assert values.expand("$PWD") is None
    assert values.expand("$(pwd)") is None


def test_an_addition_makes_a_variable_unknown(values: Values) -> None:
    values.assign("NAME+=x")
    assert values.expand("$NAME") is None


@pytest.mark.slow
@given(SCRIPTS)
def test_any_word_can_be_evaluated(text: str) -> None:
    made = Values(PurePosixPath("start.sh"), PurePosixPath())
    made.assign(f"A={text}")
    made.resolve(made.expand(text))
