"""Files that are opened on the page: one sentence about a bad one, and the game of a good one."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.viewer.browser.browsers import Visit, cells_on, expect_ply
from tests.viewer.browser.replay_pages import OFFICIAL, choose, drop, game_in
from tests.viewer.replay_files import replay_of

pytestmark = pytest.mark.slow

BAD_FILES: dict[str, tuple[bytes, str, str]] = {
    "truncated": (
        replay_of("blokus-2027", plies=6)[:-900],
        "Die Datei ist nicht vollständig: Ihr Ende fehlt.",
        "The file is incomplete: its end is missing.",
    ),
    "truncated and compressed": (
        gzip.compress(replay_of("blokus-2027", plies=6))[:-90],
        "Die gepackte Datei ist beschädigt oder nicht vollständig.",
        "The compressed file is damaged or incomplete.",
    ),
    "no XML": (
        b"PK\x03\x04 this is something else",
        "Die Datei ist kein Replay: Sie enthält kein XML, das sich lesen lässt.",
        "The file is not a replay: it holds no XML that can be read",
    ),
    "another season": (
        b'<protocol><room roomId="r"><data class="memento"><state/></data></room></protocol>',
        "Das Replay stammt aus einem Spieljahr, das dieses Programm nicht kennt",
        "The replay is of a season that this program does not know",
    ),
    "huge when unpacked": (
        gzip.compress(b"<protocol>" + b" " * 40_000_000),
        "Die Datei ist zu groß für ein Replay: Sie hat ausgepackt mehr als 16 MiB.",
        "The file is too large for a replay: it has more than 16 MiB when it is unpacked.",
    ),
}
"""By fault: the file, and how the sentence about it begins in German and in English."""


@pytest.mark.parametrize("fault", BAD_FILES)
def test_a_bad_file_is_refused_with_one_sentence(fault: str, visit: Callable[..., Visit]) -> None:
    content, german, english = BAD_FILES[fault]
    watching = visit(locale="de-DE")
    watching.expected_statuses = {400, 413, 422}
    page = watching.open("#/replays")
    drop(page, content)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(german)
    assert alert.inner_text().endswith(".")
    assert "\n" not in alert.inner_text()
    page.get_by_role("button", name="EN", exact=True).click()
    choose(page, content, "Open a file")
    expect(alert).to_contain_text(english)
    assert alert.inner_text().endswith(".")
    assert page.url.endswith("#/replays")
    if fault == "another season":
        watching.screenshot("bad-file")


def test_a_file_is_chosen_with_the_button(visit: Callable[..., Visit]) -> None:
    content = (OFFICIAL / "2027.xml.gz").read_bytes()
    watching = visit(locale="de-DE")
    watching.expected_statuses = {422}
    page = watching.open("#/replays")
    choose(page, b"", "Datei öffnen")
    expect(page.get_by_role("alert")).to_contain_text("Die Datei ist leer.")
    for _ in range(2):  # the same file again, too
        page.get_by_role("button", name="Datei öffnen").focus()
        choose(page, content, "Datei öffnen", by_key=True)
        expect_ply(page, 0)
        assert "#/replay/" in page.url
        page.keyboard.press("End")
        assert cells_on(page) == game_in(gzip.decompress(content))["positions"][-1]["board"]["cells"]
        page.get_by_role("link", name="Replays").click()
