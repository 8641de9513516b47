"""The table of faults, in the code and in the document, and the exception for packages that cannot be used."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.programs.packages.archive import (
    MAX_DEPTH,
    MAX_DIRECTORY,
    MAX_ENTRIES,
    MAX_PATH,
    MAX_RATIO,
    MAX_UNPACKED,
    MIN_BOMB,
)
from spielleiter.programs.packages.faults import FAULTS, PackageError, finding_of, shortened
from tests.documents import read, rows

DOCUMENT = "docs/packages.md"


def documented(sentence: str) -> str:
    """The sentence as the document shows it, with placeholders in capital letters."""
    return re.sub(r"\{(\w+)\}", lambda match: match[1].upper().replace("_", " "), sentence)


def test_every_fault_is_in_the_document() -> None:
    table = [tuple(row) for row in rows(DOCUMENT, "fault")]
    wanted = [(f"`{code}`", fault.level.value, documented(fault.sentence)) for code, fault in FAULTS.items()]
    for row in wanted:
        assert row in table, f"{DOCUMENT}: in the table of faults, write\n| {' | '.join(row)} |"
    assert table == wanted, f"{DOCUMENT}: the table of faults has other rows, or another order, than faults.py"


def test_the_limits_are_in_the_document() -> None:
    values = dict(rows(DOCUMENT, "limit"))
    bomb = MIN_BOMB // 1024**2
    assert values == {
        "entries": f"{MAX_ENTRIES:,}",
        "size of all files, unpacked": f"{MAX_UNPACKED // 1024**2} MiB",
        f"factor by which a file of more than {bomb} MiB may grow, or all files together": str(MAX_RATIO),
        "list of entries": f"{MAX_DIRECTORY // 1024**2} MiB",
        "path of a file": f"{MAX_PATH} bytes, {MAX_DEPTH} folders",
    }
    assert "2.36" in read(DOCUMENT)


@pytest.mark.parametrize("code", FAULTS)
def test_a_sentence_says_what_is_wrong_and_what_to_do(code: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", code)
    sentence = FAULTS[code].sentence
    assert not re.search(r"[a-z]\. [A-Z]", sentence)
    assert "; " in sentence
    names = [name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None]
    assert all(name.isidentifier() for name in names)


def test_a_finding_counts_the_other_files() -> None:
    finding = finding_of("symbolic-link", ["a", "b", "c"])
    assert finding.file == "a"
    assert finding.text.startswith("a (and 2 more) is a symbolic link")


def test_names_and_values_are_escaped_and_shortened() -> None:
    finding = finding_of("missing-module", ["a\x1b"], module="b\n{file}")
    assert finding.text.startswith(r"a\x1b imports b\n{file}, which")
    assert finding.file == "a\x1b"
    assert len(shortened("x" * 5000)) == 121


def test_one_fault_is_a_sentence() -> None:
    error = PackageError(Path("a\n.zip"), [finding_of("crlf", ["start.sh"])])
    assert isinstance(error, SetupError)
    assert str(error).startswith(r"a\n.zip: start.sh has the line ends of Windows")


def test_several_faults_are_numbered() -> None:
    error = PackageError(Path("a.zip"), [finding_of("crlf", ["start.sh"]), finding_of("no-main-file")])
    assert str(error) == f"a.zip: (1) {error.findings[0].text} (2) {error.findings[1].text}"
