"""Splitting shell scripts into commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.packages.shell_words import Command, parse_script

CHARACTERS = [*"'\"\\`$(){};&|<>#\n ", "a", "./b", "$(", "${", "\\\n", "2>&1", "&&", "||"]
KEYWORDS = ["<<E\n", "E\n", "if ", "fi\n", "case ", "esac\n", "do ", "done\n", "cd ", "java ", "python3 -m ", "A="]
FRAGMENTS = st.sampled_from([*CHARACTERS, *KEYWORDS])
SCRIPTS = st.lists(FRAGMENTS, max_size=30).map("".join)


def commands(text: str) -> list[Command]:
    script = parse_script(text)
    assert script.is_complete
    return script.commands


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", [["a", "b", "c"]]),
        ("a; b\nc & d", [["a"], ["b"], ["c"], ["d"]]),
        ("a # b\n#c\nd#e $# ${#f}", [["a"], ["d#e", "$#", "${#f}"]]),
        ("a \\\n  b", [["a", "b"]]),
        ('a \'b c\' "d $(e "$0") f" \\;', [["a", "'b c'", '"d $(e "$0") f"', "\\;"]]),
        ("a `b c` $(d (e) f)", [["a", "`b c`", "$(d (e) f)"]]),
        ("a > b 2>&1 < c >> d", [["a"]]),
        ("a | b |& c", [["a"], ["b"], ["c"]]),
        ("cat <<E | x\nhidden ' \"\nE\nb", [["cat"], ["x"], ["b"]]),
        ("cat <<-'E'\n\thidden\n\tE\nb", [["cat"], ["b"]]),
        ("cat <<E\nno end", [["cat"]]),
        ("for x in a b; do c; done", [["c"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("f() {\n a\n}", [["a"]]),
    ],
)
def test_words_are_found(text: str, words: list[list[str]]) -> None:
    assert [each.words for each in commands(text)] == words


def test_what_belongs_to_a_command_is_kept() -> None:
    (command,) = commands("\n\nA=1 B='2 3' run x > out.txt 2>> err.txt 2>&1 &")
    assert command == Command(["run", "x"], ["A=1", "B='2 3'"], 3, True, "&", ["out.txt", "err.txt"])


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("a\nb", "ab"),
        ("cd x && a", "cd a"),
        ("a && b; c", "ac"),
        ("a || b\nc", "c"),
        ("a && b || c\nd", "ad"),
        ("if a; then b; fi; c", "c"),
        ("while a; do b; done\nc", "c"),
        ("case x in a) b;; (c) d;; esac\ne", "e"),
        ("f() { a; }\nb", "b"),
        ("(a; b)\nc", "c"),
        ("{ a; }\nb", "b"),
    ],
)
def test_only_unconditional_commands_are_certain(text: str, certain: str) -> None:
    found = [each.words[0] for each in commands(text) if each.is_certain]
    assert found == (certain.split() if " " in certain else list(certain))


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "a `b", "a $(b"])
def test_parsing_ends_where_nothing_is_understood(text: str) -> None:
    script = parse_script(f"x\n{text}\n")
    assert [each.words[0] for each in script.commands][:1] == ["x"]
    assert not script.is_complete or text == "a $(b"


@pytest.mark.slow
@given(SCRIPTS)
def test_any_script_can_be_parsed(text: str) -> None:
    script = parse_script(text)
    assert all(each.words or each.assignments for each in script.commands)
    assert all(1 <= each.line <= text.count("\n") + 1 for each in script.commands)
