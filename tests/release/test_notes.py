"""What is published must agree with its tag and the changelog."""

from __future__ import annotations

import re

import pytest

from release.notes import ReleaseError, notes

PYPROJECT = '[project]\nname = "spielleiter"\nversion = "1.2.0"\n'
CHANGELOG = """\
# Changelog

## Unreleased

- later

## 1.2.0 (2026-12-01)

### Added

- now

## 1.1.0

- before
"""


def test_the_section_of_the_version_is_the_text() -> None:
    assert notes("v1.2.0", PYPROJECT, CHANGELOG) == "### Added\n\n- now\n"
    assert notes("v1.1.0", PYPROJECT.replace("1.2", "1.1"), CHANGELOG) == "- before\n"


@pytest.mark.parametrize(
    ("tag", "changelog", "text"),
    [
        ("v1.1.0", CHANGELOG, "the tag is v1.1.0, but pyproject.toml has the version 1.2.0; expected v1.2.0"),
        ("1.2.0", CHANGELOG, "the tag is 1.2.0, but"),
        (
            "v1.2.0",
            CHANGELOG.replace("## 1.2.0", "## 1.2.01"),
            "no heading for 1.2.0; expected: ## 1.2.0, and the date",
        ),
        ("v1.2.0", CHANGELOG.replace("### Added\n\n- now\n", ""), "says nothing about 1.2.0"),
    ],
    ids=["another version", "no v", "no heading", "no text"],
)
def test_a_release_that_does_not_agree_is_refused(tag: str, changelog: str, text: str) -> None:
    with pytest.raises(ReleaseError, match=re.escape(text)):
        notes(tag, PYPROJECT, changelog)
