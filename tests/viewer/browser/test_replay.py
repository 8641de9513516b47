"""A game of a file in the browser: on the board, in the lists and in the table, opened, exported and explained."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from spielleiter.protocol.messages import Memento
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.analysis import METHOD, Moment, describe_moment
from spielleiter.viewer.game_json import Details, describe_game, distinct_positions
from spielleiter.viewer.page import render_page
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.replay_files import read_replay
from tests.cli.background import run
from tests.viewer.browser.browsers import OFFICIAL, Visit, cells_on, expect_ply, ply_on
from tests.viewer.browser.served import Served
from tests.viewer.replay_files import described, played, record_of, refused_record, replay_of
from tests.viewer.test_positions import Nim, Take

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(3)>"
READ_GAME: Final = """(plies) => Array.from({ length: plies }, () => {
    const all = (selector, read) => [...document.querySelectorAll(selector)].map(read);
    const shown = {
        ply: Number(document.querySelector(".game").dataset.ply),
        cells: all(".cell", (cell) => cell.dataset.color[0] ?? ".").join(""),
        points: all(".points", (points) => points.textContent),
        fields: all(".pawn", (pawn) => Number(pawn.dataset.field)),
        holdings: all(".holdings dd", (cell) => cell.textContent),
    };
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    return shown;
})"""
"""Reads what a person sees of each position, and presses the key for the next one, in one call."""


def game_in(content: bytes, details: Details | None = None) -> dict[str, Any]:
    return describe_game(read_replay(content, "game.xml"), details or Details())


def export(folder: Path, game: dict[str, Any]) -> str:
    """Write the page that holds this game, and return its address."""
    path = folder / "Spiel für später.html"
    path.write_bytes(render_page({"title": "A game", **game}))
    return path.as_uri()


def drop(page: Page, content: bytes, name: str = "game.xml") -> None:
    """Drop a file onto the page."""
    transfer = page.evaluate_handle(
        """([data, name]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([Uint8Array.from(atob(data), (char) => char.charCodeAt(0))], name));
            return transfer;
        }""",
        [base64.b64encode(content).decode(), name],
    )
    page.dispatch_event("main", "dragenter", {"dataTransfer": transfer})
    expect(page.locator(".drop-overlay")).to_be_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})


def choose(page: Page, content: bytes, *, by_key: bool) -> None:
    """Choose a file in the browser's own dialog, which a click or the Enter key opens."""
    button = page.get_by_role("button", name="Datei öffnen")
    with page.expect_file_chooser() as chooser:
        button.press("Enter") if by_key else button.click()
    assert not chooser.value.is_multiple()
    chooser.value.set_files({"name": "Spiel 1.xml.gz", "mimeType": "application/gzip", "buffer": content})


@pytest.mark.parametrize("seasons", [("2018", "2027"), ("2021",)], ids=" ".join)
def test_an_official_replay_is_dropped_and_seen_ply_by_ply(
    seasons: tuple[str, ...], visit: Callable[..., Visit]
) -> None:
    watching = visit()
    for season in seasons:
        content = (OFFICIAL / f"{season}.xml.gz").read_bytes()
        game = game_in(gzip.decompress(content))
        page = watching.open("#/replays")
        drop(page, content, f"{season}.xml.gz")
        expect_ply(page, 0)
        assert len(game["positions"]) > 40
        for ply, shown in enumerate(page.evaluate(READ_GAME, len(game["positions"]))):
            position = game["positions"][ply]
            assert shown["ply"] == ply
            if game["game"] == "blokus":
                assert shown["cells"] == position["board"]["cells"]
                assert shown["points"] == [
                    "1 point" if player["points"] == 1 else f"{player['points']} points"
                    for player in position["players"]
                ]
            else:
                assert shown["fields"] == [player["field"] for player in position["players"]]
                carrots = [shown["holdings"][0], shown["holdings"][3]]
                assert carrots == [str(player["carrots"]) for player in position["players"]]
        expect(page.locator(".end-text")).to_have_text(game["end"]["words"]["en"])
        # the turn is that of the log and of the wire
        last = game["positions"][-1]
        expect(page.locator(".state")).to_contain_text(f"Move {last['ply']} (turn {last['turn']})")
        watching.screenshot(f"replay-{season}")


def test_a_file_is_chosen_and_every_key_and_button_leads_to_its_ply(visit: Callable[..., Visit]) -> None:
    watching = visit(locale="de-AT")
    watching.expected_statuses = {422}
    page = watching.open("#/replays")
    assert page.locator("html").get_attribute("lang") == "de"
    alert = page.get_by_role("alert")
    choose(page, b"", by_key=False)
    expect(alert).to_have_text("Die Datei ist leer.")
    drop(page, b"PK\x03\x04 this is something else")
    expect(alert).to_contain_text("Die Datei ist kein Replay: Sie enthält kein XML, das sich lesen lässt.")
    watching.screenshot("bad-file")
    content = gzip.compress(replay_of("blokus-2027", plies=30))
    for by_key in (False, True):  # the same file again, too
        page.goto(f"{watching.base}#/replays")
        choose(page, content, by_key=by_key)
        expect_ply(page, 0)
    last = int(page.locator(".scrubber").get_attribute("max") or 0)
    steps = [
        ("ArrowRight", 1), ("ArrowLeft", 0), ("PageDown", 10), ("Shift+ArrowRight", 20), ("PageUp", 10),
        ("Shift+ArrowLeft", 0), ("PageUp", 0), ("ArrowLeft", 0), ("End", last), ("ArrowRight", last), ("Home", 0),
    ]  # fmt: skip
    for key, ply in steps:
        page.keyboard.press(key)
        expect_ply(page, ply)
        assert page.url.endswith(f"/{ply}")
    page.keyboard.press("l")
    expect(page.get_by_role("button", name="Erlaubte Züge")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".marks .legal").first).to_be_attached()
    page.keyboard.press("l")
    expect(page.locator(".marks .legal")).to_have_count(0)
    page.goto(page.url.removesuffix("0") + "17")
    expect_ply(page, 17)
    page.reload()
    expect_ply(page, 17)
    buttons = {"Einen Zug weiter": 18, "10 Züge weiter": 28, "Einen Zug zurück": 27, "10 Züge zurück": 17}
    for name, ply in {**buttons, "Zum Ende": last, "Zum Anfang": 0}.items():
        page.get_by_role("button", name=name).click()
        expect_ply(page, ply)
    page.locator(".move-list tr[data-ply='9']").click()
    expect_ply(page, 9)
    page.locator(".scrubber").fill("25")
    expect_ply(page, 25)
    page.get_by_role("link", name="Replays").click()
    expect(page.get_by_role("heading", level=1, name="Replays")).to_be_visible()
    page.go_back()
    expect_ply(page, 25)


def test_a_replay_plays_at_the_chosen_speed(visit: Callable[..., Visit], tmp_path: Path) -> None:
    watching = visit(base=export(tmp_path, game_in(replay_of("blokus-2027", plies=16))))
    watching.page.clock.install(time=0)
    page = watching.open("")
    expect_ply(page, 0)
    page.clock.pause_at(3_600_000)  # from here on, time passes only in `run_for`
    shown = 0
    for speed, milliseconds in ((1, 2000), (10, 500)):
        page.get_by_label("Speed").select_option(str(speed))
        page.keyboard.press("Space") if speed == 1 else page.get_by_role("button", name="Play (space)").click()
        page.clock.run_for(milliseconds)
        shown += milliseconds * speed // 1000
        expect_ply(page, shown)
        page.locator(".game-head h1").focus()
        page.keyboard.press("k")
        page.clock.run_for(2000)
        expect_ply(page, shown)
    page.keyboard.press("k")
    page.clock.run_for(2000)
    expect_ply(page, 16)
    expect(page.get_by_role("button", name="Play (space)")).to_be_visible()


def test_the_exported_page_needs_no_server_and_shows_texts_of_strangers_as_texts(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    edition = EDITIONS["blokus-2021-r3"]  # where players may send hints
    states = played(edition, plies=12)
    names = (HOSTILE, "\u202e\u2066</script><script>alert(4)</script>\u2069")
    record = record_of(edition, states, names)
    record[5] = Memento(states[5], names, hints=(HOSTILE, "<!--<script>\u202d"))
    details = Details(([0.2] * 6, [0.1, 2.5, 0.2, 0.1, 0.4, 1]), 2.0, ([[HOSTILE]] * 6, None))
    game = game_in(encode_replay(edition.dialect, "room", record), details)
    watching = visit(base=export(tmp_path, game), locale="de-DE", color_scheme="dark")
    page = watching.open("#/replay/x/5")
    expect_ply(page, 5)
    for name in (HOSTILE, "\\u202e\\u2066</script><script>alert(4)</script>\\u2069"):
        expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(page.locator(".hints li")).to_have_text([HOSTILE, "<!--<script>\\u202d"])
    expect(page.locator(".stderr").first).to_have_text(HOSTILE)
    assert page.locator("main img, main script").count() == 0
    # what turns the direction of a text is nowhere on the page, neither in texts nor in labels, nor in its title
    data = page.locator("#game").text_content() or ""
    assert set((page.content() + page.title()).replace(data, "")) & set("\u202d\u202e\u2066\u2069") == set()
    expect(page.locator(".chart-limit")).to_have_count(1)
    expect(page.locator(".chart-bar")).to_have_count(12)
    expect(page.locator(".chart-line.player-0:not(.chart-legend *)")).to_have_count(2)
    page.keyboard.press("End")
    assert cells_on(page) == game["positions"][-1]["board"]["cells"]
    # a click into a chart goes to the ply below it
    page.locator(".chart").first.click(position={"x": 60, "y": 60})
    assert ply_on(page) < 3
    assert page.locator("nav").count() == 0
    watching.screenshot("exported-page")


def test_the_report_of_a_tournament_leads_to_its_replays_without_a_server(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    (tmp_path / "t.toml").write_text(
        'games = 2\n[[program]]\nname = "Häsin & Co"\ncommand = "builtin:first"\n'
        '[[program]]\nname = "<b>kaputt"\ncommand = "builtin:illegal"\n',
        encoding="utf-8",
    )
    out = tmp_path / "Ergebnis #1"
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(out))
    assert done.exit_code == 0, done.output
    watching = visit(base=(out / "report.html").as_uri())
    page = watching.open("")
    page.get_by_text("Replays", exact=True).click()
    watching.base = out.as_uri()
    watching.screenshot("tournament-report")
    page.get_by_role("link", name="game 2 (illegal move)").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<b>kaputt")
    page.keyboard.press("End")
    expect(page.locator(".refused").first).to_be_attached()


def test_a_game_without_a_drawing_module_is_a_table(visit: Callable[..., Visit], tmp_path: Path) -> None:
    states = [Nim(7, note=HOSTILE)]
    for count in (2, 1, 2, 2):
        states.append(states[-1].play(Take(count)))
    edition = replace(EDITIONS["blokus-2027"], name="nim-1", game_type="swc_nim")
    result = Ending.won_by((1,)).result(edition, states[-1], ("Ann", "Ben"))
    game = described(edition, [*(Memento(state, ("Ann", "Ben")) for state in states), result], "nim.xml")
    watching = visit(base=export(tmp_path, game), viewport={"width": 360, "height": 800})
    page = watching.open("")
    rows = page.get_by_role("table", name="Fields of the position").get_by_role("row")
    for ply, state in enumerate(states):
        expect_ply(page, ply)
        keys, values = rows.get_by_role("rowheader").all_inner_texts(), rows.get_by_role("cell").all_inner_texts()
        shown = dict(zip(keys, values, strict=True))
        assert (shown["rest"], shown["turn"], shown["note"]) == (str(state.rest), str(ply), HOSTILE)
        page.keyboard.press("ArrowRight")
    expect(page.locator(".move-list tbody tr").nth(2)).to_contain_text("Take(count=1)")
    expect(page.locator(".end-text")).to_have_text(game["end"]["words"]["en"])
    expect(page.locator(".points")).to_have_text(["0 points", "1 point"])
    watching.screenshot("table-360")
    assert watching.accessibility_violations() == []


def test_a_game_of_this_server_is_in_the_list_and_played_on_and_what_does_not_exist_leads_there(
    visit: Callable[..., Visit], served: Served
) -> None:
    edition = EDITIONS["blokus-2027"]
    states = played(edition, seed=5)
    content = encode_replay(edition.dialect, "room", record_of(edition, states, (HOSTILE, "Berta")))
    (served.replays / "hostile.xml").write_bytes(content)
    watching = visit()
    watching.expected_statuses = {404}
    page = watching.page
    for route, text, link, title in (
        ("#/seat/unknown", "There is no such seat (any more).", "Play", "Play"),
        ("#/replay/..%2F..%2Fetc%2Fpasswd/3", "There is no such address here.", "All replays", "Replays"),
    ):
        watching.open(route)
        expect(page.get_by_role("alert")).to_have_text(text)
        page.get_by_role("link", name=link).last.click()
        expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    page.get_by_role("link", name="hostile.xml").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE)
    page.goto(page.url.removesuffix("0") + "40")
    expect_ply(page, 40)
    board = cells_on(page)
    page.get_by_role("link", name="Play on from here").click()
    page.locator("[name=opponent]").select_option("strategy:random")
    page.locator("[name=player]").select_option(str(states[40].seat_on_turn))
    page.get_by_role("button", name="Start the game").click()
    expect(page.locator(".choice").first).to_be_visible()
    assert cells_on(page) == board
    page.get_by_role("button", name="Leave the game").click()
    expect(page.locator(".end-text")).to_be_visible()


def with_estimates(content: bytes, *better_moves: tuple[int, int]) -> dict[str, Any]:
    """Return a game with estimates: instead of the move of each ply, the legal move of this index would be better."""
    replay = read_replay(content, "game.xml")
    states = [memento.state for memento in distinct_positions(replay.record)]
    moments = []
    for ply, index in better_moves:
        before, played = states[ply - 1], getattr(states[ply], "last_move", None)
        better = list(before.generate_legal_moves())[index]
        assert better != played
        moments.append(describe_moment(Moment(ply, before.seat_on_turn, 7.5, played, better), before, states[ply]))
    return {**describe_game(replay), "analysis": {"moments": moments, "method": METHOD}}


def test_a_better_move_is_drawn_at_its_ply_and_a_lost_game_has_the_points_of_its_result(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    edition = EDITIONS["blokus-2027"]
    states = played(edition, plies=16)
    loser = states[-1].seat_on_turn
    record = refused_record(edition, states, next(iter(states[0].generate_legal_moves())))
    game = with_estimates(encode_replay(edition.dialect, "room", record), (9, -1))
    better = game["analysis"]["moments"][0]["better"]
    # a colour that has placed everything is not one that cannot place any more
    game["positions"][-1]["colors"][0] |= {"remaining": [], "isInGame": False}
    game["positions"][-1]["colors"][1] |= {"isInGame": False}
    watching = visit(base=export(tmp_path, game), locale="de-DE")
    page = watching.open("#/replay/x/8")
    expect_ply(page, 8)
    expect(page.locator(".better-cell")).to_have_count(0)
    expect(page.locator(".better-text")).to_be_hidden()
    page.get_by_role("link", name="Zug 9").click()
    expect_ply(page, 9)
    # drawn, and named for those who do not see it
    for marked in (".better-cell", ".cell[aria-label$='besserer Zug']"):
        cells = page.locator(marked).evaluate_all(
            "(cells) => cells.map((cell) => [Number(cell.dataset.x), Number(cell.dataset.y)])"
        )
        assert sorted(cells) == sorted(better["cells"])
    expect(page.locator(".better-tick")).to_have_count(len(better["cells"]))  # seen without colours
    expect(page.locator(".better-text")).to_contain_text(f"({better['piece']}) auf")
    expect(page.get_by_role("status").filter(has_text="Zug 9: ")).to_contain_text("besser wäre: ")
    assert cells_on(page) == game["positions"][9]["board"]["cells"]  # the board itself is that of the game
    watching.screenshot("better-move-blokus")
    assert watching.accessibility_violations() == []
    page.keyboard.press("ArrowRight")
    expect(page.locator(".better-cell, .cell[aria-label$='besserer Zug']")).to_have_count(0)
    points = [f"{states[-1].points(seat)[0]}" for seat in (0, 1)]
    shown = [f"{number} Punkte" for number in points]
    shown[loser] = f"0 Punkte (auf dem Brett {points[loser]})"
    page.keyboard.press("End")
    expect(page.locator(".points")).to_have_text(shown)
    expect(page.locator(".color-state")).to_have_text(["alle Steine gelegt", "", "kann nicht mehr legen", ""])
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".points").nth(loser)).not_to_contain_text("(")


def test_a_better_move_on_the_track_is_a_pawn_with_a_tick(visit: Callable[..., Visit], tmp_path: Path) -> None:
    content = gzip.decompress((OFFICIAL / "2018.xml.gz").read_bytes())
    states = [memento.state for memento in distinct_positions(read_replay(content, "game.xml").record)]

    def first_better(ply: int, *, moves_on: bool) -> tuple[int, int]:
        """The first move from `ply` on that is another than the one in the game, and leads to another field or not."""
        return next(
            (at, index)
            for at in range(ply, len(states))
            for index, move in enumerate(states[at - 1].generate_legal_moves())
            if move != getattr(states[at], "last_move", None)
            if (view_of(states[at - 1]).move(states[at - 1], move)["field"] is not None) == moves_on
        )

    elsewhere = first_better(1, moves_on=True)
    in_place = first_better(elsewhere[0] + 2, moves_on=False)
    game = with_estimates(content, elsewhere, in_place)
    watching = visit(base=export(tmp_path, game))
    for moment, (ply, _) in zip(game["analysis"]["moments"], (elsewhere, in_place), strict=True):
        before = game["positions"][ply - 1]
        own = before["players"][before["sideToMove"]["player"]]["field"]
        page = watching.open(f"#/replay/x/{ply}")
        expect_ply(page, ply)
        expect(page.locator(".better-pawn .better-tick")).to_have_count(1)
        field = page.locator(".field[aria-label$='better move']")
        expect(field).to_have_attribute("data-field", str(own if ply == in_place[0] else moment["better"]["field"]))
        watching.screenshot(f"better-move-track-{ply}")
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".better-pawn, .field[aria-label$='better move']")).to_have_count(0)
