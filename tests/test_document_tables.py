"""Tables, drawings and links in the documents are complete and correct."""

from __future__ import annotations

import re

import pytest

from spielleiter.cli.admin import admin
from spielleiter.cli.gtp_engine import GTP
from spielleiter.client.strategies import STRATEGIES
from spielleiter.game.blokus.move import BlokusMistake
from spielleiter.game.blokus.polyomino import Rotation, Shape, orientation
from spielleiter.protocol.messages import Cause, Departure, Result, RoomMessage, Score, Slot
from spielleiter.server.config.documents import render_table
from spielleiter.server.editions import EDITIONS, choose_editions
from spielleiter.server.events import ServerEvent
from spielleiter.server.record import log
from tests.documents import ROOT, Block, blocks, column, read, rows

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ("README.md", "README.de.md", *PAGES)

# -- tables ---------------------------------------------------------------------------------------------------------


def test_every_setting_is_in_the_readme() -> None:
    assert render_table() in read("README.md")


def test_every_edition_is_in_the_readme() -> None:
    """The rows are in the order of the editions. Their text on clients is prose, so they are written by hand."""
    table = [tuple(row) for row in rows("README.md", "gameType")]
    usual = {edition.name for edition in choose_editions({}, {}).values()}
    wanted = []
    for edition in EDITIONS.values():
        option = "nothing" if edition.name in usual else f"`--edition {edition.game_type}={edition.name}`"
        wanted.append((f"`{edition.game_type}`", f"`{edition.name}`", option))
    without_clients = [(game_type, name, option) for game_type, name, _, option in table]
    for place, row in enumerate(wanted):
        game_type, name, option = row
        written = f"| {game_type} | {name} | WHICH CLIENTS | {option} |"
        assert without_clients[place : place + 1] == [row], (
            f'README.md, "Which client goes with what": as row {place + 1} of the table, write\n{written}'
        )
    assert len(table) == len(wanted), f"README.md: there is no edition {table[-1][1]} (any more)"
    assert all(clients.strip() for _, _, clients, _ in table)


def test_every_strategy_is_in_the_readme() -> None:
    """README.de.md leaves out the strategies that misbehave."""
    good = [kind.name for kind in STRATEGIES.values() if not kind.is_bad]
    bad = [kind.name for kind in STRATEGIES.values() if kind.is_bad]
    assert column("README.md", "strategy") == [*good, GTP, *bad]
    assert column("README.de.md", "Gegner") == [*good, GTP]


def test_every_admin_command_is_in_the_readme() -> None:
    assert {words.split()[2] for words in column("README.md", "command")} == set(admin.commands)


@pytest.mark.parametrize(("document", "heading"), [("README.md", "cause"), ("README.de.md", "Ursache")])
def test_every_cause_is_explained(document: str, heading: str) -> None:
    """Each cause has its sentence in the current season."""
    dialect = EDITIONS["blokus-2027"].dialect
    texts = dialect.texts
    reasons = {
        Cause.REGULAR: "",
        Cause.LEFT: texts.departure_reason(Departure.LOST_CONNECTION),
        Cause.RULE_VIOLATION: "so nicht",
        Cause.PROCESS_VIOLATION: "so nicht",
        Cause.SOFT_TIMEOUT: texts.soft_timeout_reason(2.0),
        Cause.HARD_TIMEOUT: texts.hard_timeout_reason(10.0),
    }
    shown = {Cause(row[0].strip("`")): row[1] for row in rows(document, heading)}
    assert set(shown) == set(reasons)
    for cause, sentence in shown.items():
        scores = Score(cause, reasons[cause], (0, 0)), Score(Cause.REGULAR, "", (2, 0))
        packet = dialect.encode(RoomMessage("room", Result(dialect.score_definition, scores, (1,), ("Ada", "Bo"))))
        assert re.search('reason="' + re.escape(sentence).replace("…", ".+") + '"/>', packet.decode())


def test_the_slots_defaults_are_those_of_the_readme() -> None:
    shown = {row[0].strip("`"): row[1].strip("`") for row in rows("README.md", "attribute of `slot`")}
    slot = Slot("Alice")
    values = {
        "canTimeout": slot.can_timeout,
        "reserved": slot.is_reserved,
        "shouldBePaused": slot.should_be_paused,
    }
    assert shown == {"displayName": "", **{name: str(value).lower() for name, value in values.items()}}


def test_every_event_is_in_the_document_on_the_log() -> None:
    levels = {"debug": 10, "info": 20, "warning": 30, "error": 40}
    shown = {row[0].strip("`"): levels[row[1]] for row in rows("docs/log.md", "event")}
    assert shown == {log.event_name(kind): log.LEVELS.get(kind, 20) for kind in ServerEvent.__subclasses__()}


def test_every_mistake_is_explained() -> None:
    *shown, unreadable = [row[0] for row in rows("docs/blokus.md", "reason")]
    texts = {edition: EDITIONS[edition].dialect.texts.mistake_texts for edition in ("blokus-2021-r3", "blokus-2027")}
    mistakes = [each for each in BlokusMistake if each is not BlokusMistake.NOT_IN_CORNER]
    assert shown == [texts["blokus-2027"][each] for each in mistakes]
    for mistake in (BlokusMistake.WRONG_COLOR, BlokusMistake.NOT_IN_CORNER):
        assert f'"{texts["blokus-2021-r3"][mistake]}"' in " ".join(read("docs/blokus.md").split())
    assert unreadable == "Der Zug konnte nicht erkannt werden"


def test_the_differences_between_the_seasons_are_right() -> None:
    rules = {name: EDITIONS[f"blokus-{name}"].game.rules for name in ("2027", "2021-r3")}  # type: ignore[attr-defined]
    documented = {name: (now, before) for name, now, before in rows("docs/blokus.md", "what")}
    assert documented["last round"] == tuple(str(each.round_limit) for each in rules.values())
    assert [len(each.start_shapes) for each in rules.values()] == [12, 11]
    assert [each.ends_with_finished_color for each in rules.values()] == [False, True]


# -- drawings -------------------------------------------------------------------------------------------------------


def drawings(block: Block) -> dict[str, set[tuple[int, int]]]:
    """The cells below each title; titles are on lines of their own, separated by at least two spaces."""
    found: dict[str, set[tuple[int, int]]] = {}
    columns: dict[int, str] = {}
    y = 0
    for line in block.text.splitlines():
        titles = {title.start(): title.group() for title in re.finditer(r"[A-Z_]+(?: [a-z]+)?", line)}
        if titles:
            columns, y = titles, 0
            found |= {title: set() for title in titles.values()}
            continue
        for x, sign in enumerate(line):
            if sign == "#":
                start = max(column for column in columns if column <= x)
                found[columns[start]].add((x - start, y))
        y += 1
    return found


def test_the_pieces_are_drawn_as_they_are() -> None:
    pieces, _ = blocks("docs/blokus.md", "text")
    assert drawings(pieces) == {shape.name: set(orientation(shape, Rotation.NONE, False).cells) for shape in Shape}


def test_turned_pieces_are_drawn_as_they_are() -> None:
    _, turned = blocks("docs/blokus.md", "text")
    assert drawings(turned) == {
        rotation.name + " flipped" * is_flipped: set(orientation(Shape.PENTO_L, rotation, is_flipped).cells)
        for is_flipped in (False, True)
        for rotation in Rotation
    }


# -- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_headings_that_exist(document: str) -> None:
    for path, anchor in re.findall(r"\]\((?![a-z]+:)([^)#]*)#([^)]+)\)", read(document)):
        target = (ROOT / document).parent / path if path else ROOT / document
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
