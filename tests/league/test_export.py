"""An export has everything that may be shown, in files that other programs read, and no secret."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from sqlalchemy import Connection

from spielleiter.common.files import portable_name
from spielleiter.league.accounts import new_spectator_link, set_password
from spielleiter.league.backup import league_certificate
from spielleiter.league.challenges import challenge_team
from spielleiter.league.errors import LeagueFileError
from spielleiter.league.export import INCOMPLETE, write_export, write_export_zip
from spielleiter.league.games import open_pair, record_game
from spielleiter.league.helpers import add_helper
from spielleiter.league.log import add_message
from spielleiter.league.model import PlayedGame
from spielleiter.league.settings import Anchor, change_settings
from spielleiter.league.versions import set_anchors
from tests.league.leagues import NOON, League
from tests.viewer.replay_files import replay_of

TODAY = "2027-01-15"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def everything(folder: Path) -> bytes:
    content = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    for path in folder.rglob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            content += b"".join(map(archive.read, archive.namelist()))
    return content


def test_an_export_has_tables_and_replays(league: League, tmp_path: Path) -> None:
    first, second = league.accept(league.add_team("Äpfel")), league.accept(league.add_team("Igel"))
    league(set_anchors, [Anchor("builtin:random", 0.0)], NOON)
    league(change_settings, name="7b")
    league(add_message, "Morgen ist Finale.", NOON)
    game = league.play(league.open_pair(first, second), 1, 0, replay=b"replay", verdict="crash", offender=1)
    assert first.team_id is not None
    assert second.team_id is not None
    league(challenge_team, first.team_id, second.team_id, NOON, seed=1)
    folder = tmp_path / "export"
    write_export(league.database, folder, TODAY)
    with zipfile.ZipFile(folder / "replays" / "0000001-0010000.zip") as archive:
        assert archive.read(f"{game}.xml.gz") == b"replay"
    (played,) = rows_of(folder / "games.csv")
    assert (played["label1"], played["winner"]) == ("Äpfel v1", "0")
    assert (played["verdict"], played["offender"]) == ("crash", "1")
    assert {row["name"] for row in rows_of(folder / "table.csv")} == {"Äpfel", "Igel", "random"}
    assert len(rows_of(folder / "pairs.csv")) == 2
    whole: dict[str, Any] = json.loads((folder / "league.json").read_text(encoding="utf-8"))
    assert whole["settings"]["name"] == "7b"
    assert whole["messages"][0]["text"] == "Morgen ist Finale."
    assert len(whole["challenges"]) == 1
    (line,) = (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["id"] == game


def test_no_secret_and_no_upload_is_exported(league: League, tmp_path: Path) -> None:
    team = league.add_team("Hasen")
    version = league.accept(team)
    other = league.accept(league.add_team("Igel"))
    league.play(league.open_pair(version, other), 1, 0, stderr1=b"the pupil's own words", replay=b"replay")
    league(set_password, "korrekt pferd batterie", NOON)
    link = league(new_spectator_link, NOON)
    league(add_helper, "PC 1", "f" * 64, NOON)
    league_certificate(league.database)
    folder = tmp_path / "export"
    write_export(league.database, folder, TODAY)
    content = everything(folder)
    secrets = (b"PRIVATE KEY", b"argon2", b"f" * 64, b"own words", b"package ")
    for secret in (*secrets, link.encode(), league.codes["Hasen"].encode()):
        assert secret not in content


@pytest.mark.parametrize(
    "name", ["=cmd|'/C calc'!A0", "x;=1+1;y", 'x;"=1+1";y', "x,@SUM(1),y", "x;  -1+1", "＝HYPERLINK(1)"]
)
def test_a_spreadsheet_takes_nothing_for_a_formula(league: League, tmp_path: Path, name: str) -> None:
    """Neither does one that separates cells by semicolons, as in Germany, and so sees other ones."""
    team, other = league.add_team(name), league.add_team("Igel")
    pair = league.open_pair(league.accept(team), league.accept(other))
    league.play(pair, 1, 1, verdict="crash", offender=0, reason_en='=HYPERLINK("x")', reason_de="@SUM(1)")
    write_export(league.database, tmp_path / "export", TODAY)
    for path in (tmp_path / "export").glob("*.csv"):
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            for delimiter in ",;\t":
                for cell in next(csv.reader([line], delimiter=delimiter)):
                    assert not cell.strip(' "').startswith(("=", "@", "＝")), (path, line)
                    assert not re.match(r"[+-](?!\d+(\.\d+)?$)", cell.strip(' "')), (path, line)


def test_no_file_is_named_by_a_team(league: League, tmp_path: Path) -> None:
    """So no name leads elsewhere, or is one that Windows keeps for itself."""
    names = ["../../evil", "CON", "nul.zip", "a/b\\c:d", "<script>alert(1)</script>"]
    versions = [league.accept(league.add_team(name)) for name in names]
    for number, version in enumerate(versions[1:]):
        league.play(league.open_pair(versions[number], version), 1, 0, replay=replay_of("blokus-2027", plies=2))
    write_export_zip(league.database, tmp_path / "export.zip", TODAY)
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        for path in map(PurePosixPath, archive.namelist()):
            assert all(re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", part) for part in path.parts), path
            assert all(portable_name(part) == part for part in path.parts), path
        for name in archive.namelist():
            if name.endswith(".html"):
                assert b"<script>alert" not in archive.read(name)


def test_a_folder_with_something_in_it_is_refused(league: League, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "letter.txt").write_text("Dear")
    with pytest.raises(LeagueFileError, match="something in this folder"):
        write_export(league.database, tmp_path / "export", TODAY)
    (tmp_path / "file").write_text("x")
    with pytest.raises(LeagueFileError, match="another folder"):
        write_export(league.database, tmp_path / "file", TODAY)
    assert (tmp_path / "export" / "letter.txt").read_text() == "Dear"


def league_with_games(league: League, count: int) -> None:
    first, second = league.accept(league.add_team("A")), league.accept(league.add_team("B"))

    def play(db: Connection) -> None:
        for seed in range(count):
            pair = open_pair(db, first.id, second.id, purpose="league", stage="practice", seed=seed, now=NOON)
            played = PlayedGame(
                pair_id=pair.id, number=1, winner=0, is_counted=True, verdict="regular", replay=b"replay"
            )
            record_game(db, played, NOON)

    league(play)


@pytest.mark.slow
def test_export_tells_how_far_it_is(league: League, tmp_path: Path) -> None:
    league_with_games(league, 600)
    shares: list[float] = []
    write_export(league.database, tmp_path / "export", TODAY, shares.append)
    assert len(shares) == 2
    assert shares == sorted(shares)
    assert 0.3 < shares[0] < shares[1] <= 1
    shares.clear()
    write_export_zip(league.database, tmp_path / "export.zip", TODAY, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        names = {path.relative_to(tmp_path / "export").as_posix() for path in (tmp_path / "export").rglob("*.*")}
        assert set(archive.namelist()) == names
        with zipfile.ZipFile(archive.open("replays/0000001-0010000.zip")) as replays:
            assert len(replays.namelist()) == 600


@pytest.mark.slow
def test_export_that_is_stopped_leaves_no_file(league: League, tmp_path: Path) -> None:
    league_with_games(league, 600)

    def stop(_share: float) -> None:
        raise KeyboardInterrupt

    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "export", tmp_path / "there"):
        with pytest.raises(KeyboardInterrupt):
            write_export(league.database, folder, TODAY, stop)
    with pytest.raises(KeyboardInterrupt):
        write_export_zip(league.database, tmp_path / "export.zip", TODAY, stop)
    assert not (tmp_path / "export").exists()
    assert list((tmp_path / "there").iterdir()) == []
    assert not list(tmp_path.glob("export*"))


def test_export_that_was_killed_is_made_anew(league: League, tmp_path: Path) -> None:
    league_with_games(league, 1)
    half = tmp_path / "export" / INCOMPLETE
    half.mkdir(parents=True)
    (half / "games.csv").write_text("half")
    write_export(league.database, tmp_path / "export", TODAY)
    assert not half.exists()
    assert len(rows_of(tmp_path / "export" / "games.csv")) == 1
