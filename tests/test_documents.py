"""The commands that the documents show are accepted by the real commands.

Most of them are only parsed here. Those of the READMEs, of the German pages and of docs/replays.md are run as well
(test_readme.py, test_german_pages.py, cli/test_replay.py).
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from spielleiter.cli.cli import cli
from tests.documents import ROOT, blocks

DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))


def shown_commands() -> list[str]:
    """Return the lines in the code blocks of all documents that start with the command `spielleiter`."""
    text = "".join(block.text for document in DOCUMENTS for block in blocks(document)).replace("\\\n", " ")
    return sorted(set(re.findall(r"^ *(?:- )?(spielleiter .*)$", text, re.MULTILINE)))


def parse(line: str) -> None:
    """Parse a line as a shell and click do. Raises click.UsageError."""
    name: str | None
    command: click.Command | None = cli
    context: click.Context | None = None
    filled_in = re.sub(r"\$\(.*?\)|\$\w+", "1", line)
    name, *words = shlex.split(re.split(r"[|&;>]", filled_in)[0], comments=True)
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, info_name=name)
        name, command, words = command.resolve_command(context, words)
    assert command is not None
    for file in (word for word in words if word.endswith(".toml")):  # the command reads it while parsing its options
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text('[[program]]\ncommand = "builtin:first"\n' * 2, encoding="utf-8")
    command.make_context(name, words, parent=context)


def test_the_commands_in_documents_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = shown_commands()
    assert len(lines) > 50
    refused = {}
    for line in lines:
        try:
            parse(line)
        except click.UsageError as error:
            refused[line] = error.format_message()
    assert refused == {}


def test_an_option_that_does_not_exist_would_be_found() -> None:
    with pytest.raises(click.UsageError, match="No such option"):
        parse("spielleiter serve --no-such-option")
