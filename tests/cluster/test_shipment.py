"""Shipping programs: the same files at the same relative places."""

from __future__ import annotations

import dataclasses
import io
import os
import shlex
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import spielleiter.cluster.shipment
from spielleiter.cluster.shipment import Shipped, incoming, read_shipment, setup_at, setup_to_send, unpack_item
from spielleiter.cluster.site_messages import Item
from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The folder in which the match is started."""
    folder = tmp_path / "here"
    (folder / "bots/new").mkdir(parents=True)
    (folder / "bots/new/bot.sh").write_text("#!/bin/sh\n")
    (folder / "bots/new/bot.sh").chmod(0o755)
    (folder / "bots/weights.bin").write_bytes(bytes(1000))
    (folder / "player.zip").write_bytes(b"PK")
    return folder


def arrive(shipment: tuple[Shipped, ...], scratch: Path) -> None:
    scratch.mkdir(exist_ok=True)
    for number, each in enumerate(shipment):
        incoming(scratch, number).write_bytes(each.content)
        unpack_item(Item(each.target, each.digest, each.is_folder), number, scratch)


def match_of(first: str, here: Path, **changes: Any) -> MatchSetup:
    entrants = Entrant("new", first), Entrant("old", "builtin:random")
    return dataclasses.replace(MatchSetup(entrants, "chess", 2, 1, "run", cwd=str(here)), **changes)


def test_a_folder_and_a_file_arrive(here: Path, tmp_path: Path) -> None:
    shipment = read_shipment([Path("bots"), here / "player.zip"], here)
    assert [each.target for each in shipment] == ["bots", "player.zip"]
    assert shipment == read_shipment([Path("bots"), here / "player.zip"], here)
    scratch = tmp_path / "scratch"
    arrive(shipment, scratch)
    assert (scratch / "bots/new/bot.sh").stat().st_mode & 0o111
    assert (scratch / "bots/weights.bin").read_bytes() == bytes(1000)
    assert (scratch / "player.zip").read_bytes() == b"PK"


def test_what_was_damaged_is_refused(here: Path, tmp_path: Path) -> None:
    [shipped] = read_shipment([Path("player.zip")], here)
    incoming(tmp_path, 0).write_bytes(b"PX")
    with pytest.raises(SetupError, match="damaged on its way"):
        unpack_item(Item("player.zip", shipped.digest, False), 0, tmp_path)
    incoming(tmp_path, 0).write_bytes(b"PK")
    with pytest.raises(SetupError, match="outside the scratch folder"):
        unpack_item(Item("../player.zip", shipped.digest, False), 0, tmp_path)


@pytest.mark.parametrize("scratch_name", ["scratch", "with blanks and 'quotes'"])
def test_paths_in_commands_lead_to_the_scratch_folder(here: Path, tmp_path: Path, scratch_name: str) -> None:
    shipment = read_shipment([Path("bots")], here)
    scratch = tmp_path / scratch_name
    arrive(shipment, scratch)
    absolute = here / "bots/weights.bin"
    setup = match_of(f"./bots/new/bot.sh --weights {shlex.quote(str(absolute))} --fast -o bots", here)
    there = setup_at(MatchSetup.from_json(setup_to_send(setup, shipment).to_json()), scratch, "run-1")
    assert shlex.split(there.entrants[0].command) == [
        str(scratch / "bots/new/bot.sh"),
        "--weights",
        str(scratch / "bots/weights.bin"),
        "--fast",
        "-o",
        str(scratch / "bots"),
    ]
    assert (there.cwd, there.run_id) == (str(scratch), "run-1")
    assert there.entrants[1] == setup.entrants[1]


def test_the_directory_of_a_program_is_shipped_as_well(here: Path, tmp_path: Path) -> None:
    setup = match_of("./bot.sh", here)
    entrants = dataclasses.replace(setup.entrants[0], cwd="bots/new"), setup.entrants[1]
    shipment = read_shipment([Path("bots")], here)
    there = setup_at(setup_to_send(dataclasses.replace(setup, entrants=entrants), shipment), tmp_path, "run-1")
    assert there.entrants[0].cwd == str(tmp_path / "bots/new")
    assert there.entrants[0].command == f"{tmp_path}/bots/new/bot.sh"


def test_files_outside_the_current_folder_have_places_of_their_own(here: Path, tmp_path: Path) -> None:
    setup = match_of("python3 ../here/bots/new/bot.sh", here / "bots")
    shipment = read_shipment([here / "bots/new"], tmp_path / "elsewhere")
    assert shipment[0].target == "shipped/1/new"
    there = setup_at(setup_to_send(setup, shipment), tmp_path, "run-1")
    assert there.entrants[0].command == "python3 ../here/bots/new/bot.sh"  # from here/bots, this leads nowhere
    setup = match_of("python3 ./new/bot.sh", here / "bots")
    there = setup_at(setup_to_send(setup, shipment), tmp_path, "run-1")
    assert there.entrants[0].command == f"python3 {tmp_path}/shipped/1/new/bot.sh"


def test_what_cannot_be_shipped_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="--ship nothing: "):
        read_shipment([Path("nothing")], here)
    monkeypatch.setattr(spielleiter.cluster.shipment, "MAX_SHIPMENT", 100)
    for path in ("bots", "bots/weights.bin"):
        with pytest.raises(SetupError, match="install it on the machines"):
            read_shipment([Path(path)], here)


def test_links_and_empty_folders_arrive(here: Path, tmp_path: Path) -> None:
    (here / "bots/logs").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/book.txt").write_text("e4")
    (here / "bots/data").symlink_to(tmp_path / "data")
    (here / "bots/back").symlink_to(here / "bots")
    (here / "bots/broken").symlink_to(tmp_path / "nowhere")
    (here / "bots/Läufer.txt").touch()
    arrive(read_shipment([Path("bots")], here), tmp_path / "scratch")
    there = tmp_path / "scratch/bots"
    assert {path.name for path in there.iterdir()} == {"back", "data", "Läufer.txt", "logs", "new", "weights.bin"}
    assert (there / "data/book.txt").read_text() == "e4"
    assert [list((there / name).iterdir()) for name in ("back", "logs")] == [[], []]
    assert {path.name for path in (tmp_path / "scratch").iterdir()} == {"bots"}  # nothing is stored twice


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such names")
def test_a_name_that_no_archive_can_hold_is_refused(here: Path) -> None:
    Path(os.fsdecode(os.fsencode(here) + b"/bots/L\xe4ufer")).touch()
    with pytest.raises(SetupError, match=r"--ship bots: .*is no valid name of a file"):
        read_shipment([Path("bots")], here)


@pytest.mark.skipif(sys.platform == "win32", reason="devices are not files there")
def test_a_device_is_refused(here: Path) -> None:
    with pytest.raises(SetupError, match="neither a file nor a folder"):
        read_shipment([Path("/dev/zero")], here)


def test_large_files_are_refused_before_they_are_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.cluster.shipment, "MAX_SHIPMENT", 100)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
    for path in ("bots", "bots/weights.bin"):
        with pytest.raises(SetupError, match="install it on the machines"):
            read_shipment([Path(path)], here)


def test_programs_of_a_folder_packed_on_windows_may_be_executed(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("run")
        info.create_system, info.external_attr = 0, 0o666 << 16
        archive.writestr(info, "#!/bin/sh")
    arrive((Shipped("C:/bot", "bot", buffer.getvalue(), is_folder=True),), tmp_path)
    assert (tmp_path / "bot/run").stat().st_mode & 0o100


def test_a_command_of_the_machine_may_have_the_name_of_a_shipped_folder(here: Path, tmp_path: Path) -> None:
    (here / "python3").mkdir()
    (here / "python3/bot.py").touch()
    setup = match_of("python3 python3/bot.py", here)
    there = setup_at(setup_to_send(setup, read_shipment([Path("python3")], here)), tmp_path, "run-1")
    assert there.entrants[0].command == f"python3 {tmp_path}/python3/bot.py"
