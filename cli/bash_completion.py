"""Completion in bash, whose words are not those of the command line.

Bash also divides the line at the colons and equals signs in COMP_WORDBREAKS, so that `builtin:gr` comes as three words
and only the last one is replaced. click takes these words for arguments. Here the line itself is read, and a value is
written without what stands before its last divider already.

Invariant: what is completed is the last argument of the line up to the cursor.
"""

from __future__ import annotations

import os
import re
from typing import Final

from click import shell_completion
from click.shell_completion import CompletionItem, split_arg_string

_DIVIDERS: Final = ":="

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
    """Takes the place of click's class of the same name."""

    source_template = _SCRIPT
    _written = ""
    """What bash leaves as it is of the argument that is completed."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The arguments before the one that is completed, and that one."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)
        incomplete = "" if line[-1:].isspace() else words.pop()
        dividers = "".join(set(_DIVIDERS) & set(os.environ.get("COMP_WORDBREAKS", _DIVIDERS)))
        if dividers:
            value = re.sub(r"^-[^=]*=", "", incomplete)  # click itself divides an option from its value
            self._written = value[: len(value) - len(re.split(f"[{dividers}]", value)[-1])]
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """One line for the script: the item's type and what bash has to write."""
        return f"{item.type},{str(item.value).removeprefix(self._written)}"


def register() -> None:
    """Let click use this class from now on."""
    shell_completion.add_completion_class(BashComplete)
