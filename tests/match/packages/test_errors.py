"""The exception for packages that cannot be used."""

from __future__ import annotations

from pathlib import Path

from spielleiter.match.errors import SetupError
from spielleiter.match.packages.faults import PackageError, finding_of


def test_one_fault_is_a_sentence() -> None:
    error = PackageError(Path("a\n.zip"), [finding_of("crlf", ["start.sh"])])
    assert isinstance(error, SetupError)
    assert str(error).startswith(r"a\n.zip: start.sh has the line ends of Windows")


def test_several_faults_are_numbered() -> None:
    error = PackageError(Path("a.zip"), [finding_of("crlf", ["start.sh"]), finding_of("no-main-file")])
    assert str(error) == f"a.zip: (1) {error.findings[0].text} (2) {error.findings[1].text}"
