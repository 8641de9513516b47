"""The keys of a program in a TOML file."""

from __future__ import annotations

from typing import Any

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant
from spielleiter.match.toml_files import PROGRAM_KEYS, read_entrant

BOT = {"name": "new", "command": "./new"}


def test_a_program_can_have_all_keys() -> None:
    value = {
        **BOT,
        "timeout": False,
        "cwd": "there",
        "env": {"A": "b=c"},
        "pass_env": ["JAVA_HOME"],
        "soft_timeout": 1500,
        "hard_timeout": 2500,
        "time_factor": 1.5,
        "memory": 64,
        "main": "start.sh",
    }
    assert set(value) == set(PROGRAM_KEYS)
    expected = Entrant(
        "new",
        "./new",
        False,
        "there",
        {"A": "b=c"},
        1.5,
        2.5,
        1.5,
        64,
        passed_variables=("JAVA_HOME",),
        main="start.sh",
    )
    assert read_entrant(value) == expected


def test_a_command_is_enough_if_no_name_is_needed() -> None:
    assert read_entrant({"command": "./new"}, has_name=False) == Entrant("", "./new")
    with pytest.raises(SetupError, match="name is missing"):
        read_entrant({"command": "./new"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"comand": "./new"}, "hard_timeout (did you mean 'command'?)"),
        ({"speed": 1}, "program: speed: there is no such key, expected name, command, timeout, cwd"),
        ({"env": "A=b"}, "env 'A=b': expected a table such as"),
        ({"env": {"A": 1}}, "A 1: expected a text"),
        ({"env": {"A=": "b"}}, "env: 'A=' cannot be a variable's name"),
        ({"pass_env": "A"}, "pass_env 'A': expected a list of texts"),
        ({"pass_env": ["A", "A=b"]}, "pass_env: 'A=b' cannot be a variable's name"),
        ({"memory": 0}, "memory 0: expected a number above 0"),
        ({"memory": 1.5}, "memory 1.5: expected a whole number"),
        ({"memory": True}, "memory True: expected a whole number"),
        ({"time_factor": float("nan")}, "time_factor nan: expected a number above 0"),
        ({"soft_timeout": 0}, "soft_timeout 0: expected milliseconds, more than 0"),
        ({"cwd": 1}, "cwd 1: expected a text"),
    ],
)
def test_errors_in_a_program_name_the_key(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError) as refused:
        read_entrant({**BOT, **change})
    assert problem in str(refused.value)
