"""The exception of this package: a ZIP file that cannot be used as a contest package.

Invariants: it carries at least one finding, and its text is one line that names the file and every finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spielleiter.match.errors import SetupError
from spielleiter.match.packages.finding import Finding
from spielleiter.server.text.escaping import escaped


class PackageError(SetupError):
    """The package at `path` cannot be started in the contest; `findings` say why, and what to do."""

    def __init__(self, path: Path, findings: Sequence[Finding]) -> None:
        self.path = path
        self.findings = tuple(findings)
        texts = [each.text for each in self.findings]
        if len(texts) > 1:
            texts = [f"({number}) {text}" for number, text in enumerate(texts, 1)]
        super().__init__(f"{escaped(str(path))}: {' '.join(texts)}")
