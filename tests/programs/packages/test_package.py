"""Unpacking a package."""

from __future__ import annotations

import stat
import sys
from pathlib import Path, PurePosixPath

import pytest

from spielleiter.programs.packages import package
from spielleiter.programs.packages.archive import Archive
from spielleiter.programs.packages.faults import PackageError
from spielleiter.programs.packages.package import Package, unpack_package
from tests.programs.packages.broken_packages import BROKEN, SOUND
from tests.programs.packages.making import BOT, zipped


def unpacked(tmp_path: Path, content: bytes, main: str | None = None) -> Package:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "player.zip"
    path.write_bytes(content)
    return unpack_package(path, tmp_path / "new" / "folder", main, ["--level", "3"])


def test_only_the_main_file_may_be_executed(tmp_path: Path) -> None:
    made = unpacked(tmp_path, zipped({**BOT, "lib/helper.sh": "#!/bin/sh\n"}))
    assert made.main == PurePosixPath("start.sh")
    assert made.words == (str(tmp_path / "new" / "folder" / "start.sh"), "--level", "3")
    modes = {
        str(each.relative_to(made.folder)): stat.S_IMODE(each.stat().st_mode)
        for each in made.folder.rglob("*")
        if each.is_file()
    }
    assert modes == {"start.sh": 0o755, "bot.py": 0o644, "lib/helper.sh": 0o644}
    assert (made.folder / "bot.py").read_text() == BOT["bot.py"]


def test_permissions_in_the_zip_file_do_not_matter(tmp_path: Path) -> None:
    made = unpacked(tmp_path, SOUND["folders of their own"].content)
    assert sorted(each.name for each in made.folder.iterdir()) == ["bot.py", "data", "lib", "start.sh"]
    assert (made.folder / "data" / "book").is_dir()


@pytest.mark.parametrize("name", ["path with ..", "symbolic link", "line ends of Windows", "text instead of a ZIP"])
def test_a_broken_package_is_not_unpacked(name: str, tmp_path: Path) -> None:
    with pytest.raises(PackageError) as caught:
        unpacked(tmp_path, BROKEN[name].content)
    assert [each.code for each in caught.value.findings] == [BROKEN[name].code]
    assert str(caught.value) == f"{tmp_path / 'player.zip'}: {caught.value.findings[0].text}"
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_windows_does_not_unpack_a_package_with_a_name_that_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = zipped({**BOT, "aux.txt": "x", "data/a:b": "y"})
    if sys.platform != "win32":
        assert unpacked(tmp_path / "here", content).folder.is_dir()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(PackageError, match=r"has a name that Windows does not allow"):
        unpacked(tmp_path / "there", content)
    assert list((tmp_path / "there" / "new" / "folder").iterdir()) == []


def test_all_reasons_are_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError) as caught:
        unpacked(tmp_path, zipped({"start.sh": '\n#!/bin/sh\r\n./player "$@"\r\n', "player": "x"}))
    assert [each.code for each in caught.value.findings] == ["blank-before-first-line", "crlf"]


def test_a_folder_with_files_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "new" / "folder").mkdir(parents=True)
    (tmp_path / "new" / "folder" / "start.sh").write_text("mine")
    with pytest.raises(FileExistsError):
        unpacked(tmp_path, zipped(BOT))
    assert (tmp_path / "new" / "folder" / "start.sh").read_text() == "mine"


def test_names_that_the_file_system_does_not_distinguish_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = package._write_files

    def write_to_a_file_system_with_that_name(archive: Archive, folder: Path) -> None:
        (folder / "bot.py").write_text("another spelling")
        original(archive, folder)

    monkeypatch.setattr(package, "_write_files", write_to_a_file_system_with_that_name)
    with pytest.raises(PackageError) as caught:
        unpacked(tmp_path, zipped(BOT))
    assert [each.code for each in caught.value.findings] == ["duplicate-name"]
