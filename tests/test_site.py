"""The pages of the site that are made from the code; `make docs` builds the site and checks its links."""

from __future__ import annotations

import re
from functools import cache

import click
import pytest
from lxml import etree

from docs.conf import fetched_from_elsewhere
from docs.generated_parts import PARTS, expand
from spielleiter.cli.cli import cli
from spielleiter.cli.manual import commands
from spielleiter.match.summary import summarise
from spielleiter.server.config import SETTINGS
from spielleiter.server.editions import EDITIONS
from spielleiter.server.events import KINDS
from spielleiter.server.log import event_name
from tests.documents import ROOT, read
from tests.match.sample_records import game

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "reference").glob("*.md"))


@cache
def page(name: str) -> str:
    return expand(read(f"docs/reference/{name}.md"))


def cells(text: str) -> list[list[str]]:
    """The rows of all tables, heading rows included."""
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]


@pytest.mark.parametrize("name", PAGES)
def test_every_part_is_made_and_no_row_is_broken(name: str) -> None:
    text = expand(read(name))
    assert "<!-- generated" in read(name)
    assert "<!--" not in text
    tables = text.split("\n\n")
    for table in tables:
        assert len({len(row) for row in cells(table)}) <= 1


def test_every_part_has_a_page() -> None:
    used = {name for each in PAGES for name in re.findall(r"<!-- generated: ([a-z-]+)", read(each))}
    assert used == set(PARTS)


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(KeyError):
        expand("<!-- generated: nothing -->\n<!-- end -->")


def test_every_setting_is_there_with_all_of_its_names() -> None:
    first = [row[0] for row in cells(page("settings"))]
    for each in SETTINGS:
        assert [cell for cell in first if f"`{each.name}`" in cell and f"`{each.option}`" in cell]
        assert [cell for cell in first if f"`{each.variable}`" in cell]


def test_every_event_has_a_meaning() -> None:
    meanings = {row[0]: row[-1] for row in cells(page("events"))}
    for kind in KINDS:
        assert meanings[f"`{event_name(kind)}`"]


def test_metrics_are_there_with_their_labels() -> None:
    labels = {row[0]: row[2] for row in cells(page("metrics"))}
    assert labels["`spielleiter_rooms`"] == "`phase`"
    assert labels["`spielleiter_moves_total`"] == ""
    assert labels["`spielleiter_time_verdicts_total`"] == "`limit`, `source`"
    assert labels["`spielleiter_refusals_total`"] == "`reason`, `refused`"
    assert labels["`spielleiter_think_seconds`"] == ""


def test_every_command_and_every_option_is_there() -> None:
    text = page("commands")
    for command, context in commands(cli, click.Context(cli, info_name="spielleiter")):
        assert f"\n## {context.command_path}\n" in text
        for option in (each for each in command.params if isinstance(each, click.Option) and not each.hidden):
            assert option.opts[0] in text


def test_the_keys_of_the_files_are_those_that_are_written() -> None:
    listed = {row[0].strip("`") for row in cells(page("files"))}
    assert set(game(1).to_json()) <= listed
    beside = {"schema", "counted", "score", "incidents", "histogram_edges"}
    assert set(summarise([game(1)]).to_json()) <= listed | beside
    assert all(f"`{key}`" in page("files") for key in beside)


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-r3", "blokus-2021-r1", "hase-und-igel-2018"])
def test_every_example_of_a_packet_is_one(edition: str) -> None:
    text = PARTS["packets"](edition)
    examples = re.findall(r"```xml\n(.*?)```", text, re.DOTALL)
    whole = [each for each in examples if "more lines" not in each]
    assert len(whole) >= 15
    for each in whole:
        etree.fromstring(each)
    assert EDITIONS[edition].game_type in text
    for name in ("join", "memento", "moveRequest", "left"):
        assert re.search(rf"^#### `(\w+\.)*{name}`$", text, re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize(
    "fetching",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<img alt="" src="//example.org/pixel.gif">',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        "@import url(https://fonts.example/css);",
        "background: url('//example.org/x.png')",
    ],
)
def test_a_page_that_fetches_from_another_host_is_noticed(fetching: str) -> None:
    assert fetched_from_elsewhere(f"<p>text</p>{fetching}")


def test_links_and_files_of_the_site_are_no_such_thing() -> None:
    assert not fetched_from_elsewhere(
        '<a href="https://example.org">link</a><link rel="stylesheet" href="_static/x.css"><script src="x.js"></script>'
        '<link rel="canonical" href="https://example.org/x.html">'
    )


@pytest.mark.parametrize("index", ["docs/index.md", "docs/de/index.md"])
def test_every_page_of_the_sidebar_is_linked_on_the_page_itself(index: str) -> None:
    """The list for the sidebar is not shown on the page, and is no list of links on GitHub."""
    links = set(re.findall(r"\]\(([^)#]+)\.md\)", read(index)))
    assert set(listed(index)) <= links


def test_every_document_is_in_the_sidebar() -> None:
    """Sphinx says so too; this test says it without Sphinx."""
    found = {
        (ROOT / index).parent.joinpath(f"{target}.md").resolve()
        for index in ("docs/index.md", "docs/de/index.md")
        for target in listed(index)
    }
    documents = {path for path in (ROOT / "docs").rglob("*.md") if path.name != "index.md"}
    assert documents <= found
    assert all(path.exists() for path in found)


def listed(index: str) -> list[str]:
    """The pages that a document lists for the sidebar, without the suffix of their files."""
    lines = "".join(re.findall(r"```\{toctree\}\n(.*?)```", read(index), re.DOTALL)).splitlines()
    return [re.sub(r".*<(.+)>", r"\1", line) for line in lines if line and not line.startswith(":")]
