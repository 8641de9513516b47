"""`spielleiter match --combine`: one result from the folders of several matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from spielleiter.cli.commands import Misuse, print_line
from spielleiter.cli.exit_codes import exit_code
from spielleiter.cli.match_summary import show_summary
from spielleiter.common.text import count_text

_OPTIONS: Final = frozenset({"out", "fail_on", "faults_of", "require", "on_end"})
"""The options that may be given with --combine."""


def refuse_other_options(given: Iterable[str]) -> None:
    """Raise Misuse if an option is among `given`, the names of options, that has no effect on played games."""
    if others := [f"--{name.replace('_', '-')}" for name in given if name not in _OPTIONS]:
        raise Misuse(f"--combine plays no game; leave out {', '.join(others)}")


def combine_matches(
    folders: Sequence[Path], out: Path, fail_on: frozenset[str], require: str | None, faults_of: tuple[int, ...]
) -> int:
    """Print the result of all matches together, write its reports into `out`, and return the exit code.

    Raises Misuse if the matches cannot be combined, or if `out` is the folder of one of them.
    """
    from spielleiter.common.errors import JournalError, SetupError
    from spielleiter.match.combining import combine_matches as combined_of
    from spielleiter.match.records import SETUP
    from spielleiter.match.runner import EndReason, write_match_reports

    if len(folders) < 2:
        raise Misuse("--combine: expected the folders of at least two matches")
    if (out / SETUP).exists():
        raise Misuse(f"--out {out}: holds a match, expected another folder for the result")
    try:
        combined = combined_of(folders, out)
        out.mkdir(parents=True, exist_ok=True)
        summary = write_match_reports(combined.setup, out, combined.records, faults_of)
    except (SetupError, JournalError) as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        raise Misuse(f"{out}: cannot be written to ({error.strerror or error})") from None
    names = combined.setup.names
    print_line(f"{names[0]} against {names[1]}: {count_text(len(folders), 'match', 'matches')}, into {out}")
    for doubt in combined.doubts:
        print_line(doubt, err=True)
    show_summary(summary, out)
    return exit_code(EndReason.COMPLETED, combined.records, summary, fail_on, require, faults_of)
