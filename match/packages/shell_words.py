"""Splits a shell script into its commands, as far as that is possible without running it.

This is a subset of the grammar of POSIX shells: quotes, expansions, comments, here-documents, operators and the words
that begin and end compound commands.

Invariants: any text may be passed, and the time is proportional to its length. Parsing ends at the first thing that is
not understood; `Script.is_complete` says so. A word whose value is only known at run time is kept as it is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>(?:[ \t]|\\\n)+)
    | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | (?P<heredoc><<-?[ \t]*(?P<mark>'[^'\n]+'|"[^"\n]+"|\\?[\w.+-]+))
    | (?P<redirection>[0-9]*(?:<<<|>>|>&|<&|<>|>\||&>>|&>|<|>))
    | (?P<operator>\n|;;|&&|\|\||\|&|[;&|()])
    | (?P<word>(?:
        '[^']*'
        | "(?:\\[\s\S]|\$\((?:[^()]|\([^()]*\))*+\)|`[^`]*`|[^"\\])*+"
        | \\[^\n]
        | \$\((?:[^()]|\((?:[^()]|\([^()]*\))*+\))*+\)
        | \$\{(?:[^{}]|\{[^{}]*\})*+\}
        | `[^`]*`
        | [^\s'"\\;&|<>()`$]
        | \$
      )++)
    """,
    re.VERBOSE,
)
_OPENING: Final = frozenset({"if", "case", "for", "while", "until", "select", "{"})
_CLOSING: Final = frozenset({"fi", "esac", "done", "}"})
_INNER: Final = frozenset({"then", "else", "elif", "do", "!", "time"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(slots=True)
class Command:
    """A simple command of a script."""

    words: list[str]
    """As written, with quotes; without redirections and without the assignments before the first word."""
    assignments: list[str]
    line: int
    is_certain: bool
    """Whether it is executed for sure, provided that the commands before it succeed."""
    end: str = "\n"
    """The operator that follows it."""
    targets: list[str] = field(default_factory=list)
    """The files that its output is redirected to, as written."""
    is_nested: bool = False
    """Whether it is part of a branch, a loop, a function or a subshell."""


@dataclass(slots=True)
class Script:
    """The commands of a script, in the order in which they are written."""

    commands: list[Command] = field(default_factory=list)
    code: str = ""
    """The text without comments and here-documents."""
    is_complete: bool = True
    """Whether everything was understood."""


def parse_script(text: str) -> Script:
    """Split a script, with LF at the end of lines, into commands."""
    return _Parser(text).parse()


class _Parser:
    """Reads one script from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._script = Script()
        self._code: list[str] = []
        self._words: list[str] = []
        self._assignments: list[str] = []
        self._line = 1
        self._start = 1
        """The line in which the command begins."""
        self._targets: list[str] = []
        self._redirection = ""
        """The operator of a redirection whose word comes next."""
        self._depth = 0
        self._case_depth = 0
        self._marks: list[tuple[str, bool]] = []
        """The ends of the here-documents that begin after this line, and whether their lines may be indented."""
        self._is_alternative = False
        """Whether the next command is only executed if the one before it fails or succeeds."""

    def parse(self) -> Script:
        place = 0
        while place < len(self._text):
            token = _TOKEN.match(self._text, place)
            if token is None:
                self._script.is_complete = False
                break
            place = token.end()
            match token.lastgroup:
                case "heredoc" | "mark":
                    self._marks.append((re.sub(r"['\"\\]", "", token["mark"]), token["heredoc"].startswith("<<-")))
                case "redirection":
                    self._redirection = token[0]
                case "operator":
                    self._end_command(token[0])
                    if token[0] == "\n" and self._marks:
                        place = self._skip_documents(place)
                case "word":
                    self._add_word(token[0])
            self._line += token[0].count("\n")
            if token.lastgroup != "comment":
                self._code.append(token[0])
        self._end_command("\n")
        self._script.code = "".join(self._code)
        return self._script

    def _add_word(self, word: str) -> None:
        if self._redirection:
            if ">" in self._redirection and not word.isdigit():
                self._targets.append(word)
            self._redirection = ""
        elif not self._words and not self._assignments and word in _OPENING | _CLOSING | _INNER:
            self._depth += (word in _OPENING) - (word in _CLOSING)
            self._case_depth += (word == "case") - (word == "esac")
            if word in {"case", "for", "select"}:
                self._words = [word]  # what follows is no command
        else:
            if not self._words and not self._assignments:
                self._start = self._line
            is_assignment = not self._words and _ASSIGNMENT.match(word)
            (self._assignments if is_assignment else self._words).append(word)

    def _end_command(self, operator: str) -> None:
        self._redirection = ""
        if operator == "(" and not self._words:
            self._depth += self._case_depth == 0  # in `case`, it begins a pattern
        elif operator == ")":
            self._finish(operator)
            self._depth -= self._case_depth == 0  # in `case`, it ends a pattern
        elif operator == "(":  # of a function
            self._words = []
            self._depth += 1
        else:
            self._finish(operator)

    def _finish(self, operator: str) -> None:
        if self._words[:1] in (["case"], ["for"], ["select"]):
            self._words = []
        if self._words or self._assignments:
            is_certain = self._depth <= 0 and not self._is_alternative and operator != "||"
            self._script.commands.append(
                Command(
                    self._words,
                    self._assignments,
                    self._start,
                    is_certain,
                    operator,
                    self._targets,
                    is_nested=self._depth > 0,
                )
            )
            steps = {"cd", "chmod", "set", "export"}
            is_step = not self._words or self._words[0] in steps
            self._is_alternative = operator == "||" or (operator == "&&" and (self._is_alternative or not is_step))
        self._words, self._assignments, self._targets = [], [], []

    def _skip_documents(self, place: int) -> int:
        """The place after the here-documents that begin at `place`."""
        for mark, is_indented in self._marks:
            while place < len(self._text):
                end = self._text.find("\n", place)
                end = len(self._text) if end < 0 else end
                line, place = self._text[place:end], end + 1
                self._line += 1
                if (line.lstrip("\t") if is_indented else line) == mark:
                    break
        self._marks = []
        return place
