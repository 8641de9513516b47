"""The schema that Jenkins' xUnit plugin holds JUnit files against."""

from __future__ import annotations

from pathlib import Path

from lxml import etree


def assert_is_xunit(content: bytes) -> etree._Element:
    """The file's root; fails with what is wrong with it."""
    root = etree.fromstring(content)
    etree.XMLSchema(file=str(Path(__file__).with_name("xunit.xsd"))).assertValid(root)
    return root
