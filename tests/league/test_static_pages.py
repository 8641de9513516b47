"""The pages of a league for a school's web site: complete, without a server, without secrets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spielleiter.league.games import pairing_results
from spielleiter.league.model import RatingOfDay
from spielleiter.league.rating_history import save_ratings
from spielleiter.league.settings import change_settings
from spielleiter.league.standings import compute_standings
from spielleiter.league.static_pages import write_static_pages
from spielleiter.league.versions import list_versions
from tests.league.leagues import League
from tests.viewer.replay_files import replay_of

DAY = "2027-01-31"


def written(league: League, folder: Path) -> dict[str, str]:
    """Write the pages, and return their texts by name."""
    standings = league(lambda db: compute_standings(list_versions(db), pairing_results(db), {}))
    league(write_static_pages, folder, standings, DAY)
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.html")}


@pytest.mark.slow
def test_every_link_leads_to_a_page_and_nothing_secret_is_told(league: League, tmp_path: Path) -> None:
    league(lambda db: change_settings(db, name="Liga <10b>"))
    ada, grace = (league.accept(league.add_team(name)) for name in ("Ada <i>", "Grace"))
    league.add_team("Silent")
    replay = replay_of("blokus-2027", plies=4)
    pair = league.open_pair(ada, grace)
    league.play(pair, 1, 0, points1=80, points2=60, replay=replay, stderr1=b"a secret", reason_de="a secret")
    league.play(pair, 2, 1, replay=b"no replay")
    league(save_ratings, [RatingOfDay(ada.id, DAY, 1000.0, 900.0, 1100.0, 2)])
    pages = written(league, tmp_path / "pages")
    assert sorted(pages) == ["games/1.html", "index.html", "team-1.html", "team-2.html", "team-3.html"]
    for name, page in pages.items():
        links = re.findall(r'(?:href|src)="([^"#:]+)"', page)
        for link in links:
            assert ((tmp_path / "pages" / name).parent / link).is_file(), (name, link)
        assert "secret" not in page
        assert "<i>" not in page
    assert "Liga &lt;10b&gt;" in pages["index.html"]
    assert "1 / 0 / 1" in pages["team-2.html"]
    assert "31.1.2027" in pages["team-1.html"]


@pytest.mark.slow
def test_a_league_without_games_has_pages(league: League, tmp_path: Path) -> None:
    league.add_team("Ada")
    assert "Noch spielt niemand" in written(league, tmp_path / "pages")["index.html"]
