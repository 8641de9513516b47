"""The schema by which Jenkins' xUnit plugin validates JUnit files."""

from __future__ import annotations

from pathlib import Path

from lxml import etree


def assert_is_xunit(content: bytes) -> etree._Element:
    """The root element of a valid file; fails with the schema's error message otherwise."""
    root = etree.fromstring(content)
    etree.XMLSchema(file=str(Path(__file__).with_name("xunit.xsd"))).assertValid(root)
    return root
