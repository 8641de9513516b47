"""Completion with the Tab key: the values of options, and arguments in bash that contain a colon or an equals sign.

The values come from the server and the client, whose modules are imported when a shell asks for completions. The
scripts for zsh and fish come from click.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import click
from click import shell_completion
from click.shell_completion import CompletionItem, split_arg_string

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(values: Callable[[], Iterable[str]]) -> Completer:
    """A completer that offers those of `values()` that begin with the incomplete word."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]

    return complete


def game_types() -> list[str]:
    from spielleiter.server.editions import choose_editions

    return list(choose_editions({}, {}))


def editions() -> list[str]:
    from spielleiter.server.editions import EDITIONS

    return list(EDITIONS)


def editions_of_games() -> list[str]:
    """The values of `serve --edition`: ``GAMETYPE=EDITION``."""
    from spielleiter.server.editions import EDITIONS

    return [f"{edition.game_type}={edition.name}" for edition in EDITIONS.values()]


def game_option_values(option: str) -> Callable[[], list[str]]:
    """A function that returns all values of a game option, such as ``startPiece``, in any of the games."""

    def values() -> list[str]:
        from spielleiter.game.api import GameOptionError
        from spielleiter.server.editions import choose_editions

        known: dict[str, None] = {}
        for edition in choose_editions({}, {}).values():
            if option in edition.game.option_names:
                try:
                    edition.game.with_options({option: ""})
                except GameOptionError as error:
                    known |= dict.fromkeys(error.known)
        return list(known)

    return values


def programs() -> list[str]:
    """The built-in programs of a match."""
    from spielleiter.players.strategies import STRATEGIES
    from spielleiter.programs.command import BUILTIN

    return [BUILTIN + name for name in STRATEGIES]


# -- bash -------------------------------------------------------------------------------------------------------------

_SEPARATORS: Final = ":="

_SCRIPT: Final = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response completion type value

    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done

    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class BashComplete(shell_completion.BashComplete):
    """Completes the last argument of the line up to the cursor.

    Bash also splits the line at the characters in COMP_WORDBREAKS, so `builtin:gr` arrives as three words, and bash
    replaces only the last of them. click takes these words for arguments. This class reads the line itself instead, and
    writes a value without the part up to its last separator, which bash keeps.
    """

    source_template = _SCRIPT
    _kept = ""
    """The part of the completed argument that bash keeps as it is."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The arguments before the completed one, and the completed one."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)
        incomplete = "" if line[-1:].isspace() else words.pop()
        separators = "".join(set(_SEPARATORS) & set(os.environ.get("COMP_WORDBREAKS", _SEPARATORS)))
        if separators:
            value = re.sub(r"^-[^=]*=", "", incomplete)  # click itself splits an option from its value
            self._kept = value[: len(value) - len(re.split(f"[{separators}]", value)[-1])]
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """One line for the script: the item's type and the text that bash inserts."""
        return f"{item.type},{str(item.value).removeprefix(self._kept)}"
