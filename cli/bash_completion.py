"""Completion in bash, for arguments that contain a colon or an equals sign.

Bash also splits the line at the characters in COMP_WORDBREAKS, so `builtin:gr` arrives as three words, and bash
replaces only the last of them. click takes these words for arguments. This module reads the line itself instead, and
writes a value without the part up to its last separator, which bash keeps.

Invariants: the last argument of the line up to the cursor is completed.
"""

from __future__ import annotations

import os
import re
from typing import Final

from click import shell_completion
from click.shell_completion import CompletionItem, split_arg_string

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
    """Replaces click's class of the same name."""

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


def register() -> None:
    """Make click use this class."""
    shell_completion.add_completion_class(BashComplete)
