"""Builds the program as one folder that needs no Python, and packs it into an archive for this platform.

    python release/build.py [--wheel FILE] [--out FOLDER]

What is built is the wheel, not the checkout; without `--wheel` it is built first. PyInstaller and the requirements of
the server must be installed (`make setup-dev`). The archive is for the system and the processor that it is built on.

The folder holds everything that the wheel and its dependencies bring along, and nothing of this machine but
Python itself and its libraries. The archive has one folder at its top.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spielleiter.common.files import temporary_directory

ROOT: Final = Path(__file__).resolve().parents[1]
NAME: Final = "spielleiter"
SPEC: Final = ROOT / "release" / "spielleiter.spec"
BESIDE: Final = (ROOT / "LICENSE", ROOT / "README.md", ROOT / "README.de.md", ROOT / "server.properties")
"""Files that are put next to the program. It reads its settings from `server.properties` if it is started there."""
MAN_PAGE: Final = "spielleiter.1"
"""The man page, which is put there too, except on Windows: it is made from the help of the commands."""
BESIDE_ON_WINDOWS: Final = (ROOT / "release" / "start.bat",)

_SYSTEMS: Final = {"darwin": "macos", "linux": "linux", "win32": "windows"}
_MACHINES: Final = {"amd64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


def archive_name(version: str, system: str = sys.platform, machine: str = "") -> str:
    """Return the name of the archive without its suffix, such as ``spielleiter-0.1.0-windows-x86_64``.

    - `system`: as `sys.platform` names it.
    - `machine`: as `platform.machine` names it; empty for this one.
    """
    processor = (machine or platform.machine()).lower()
    return f"{NAME}-{version}-{_SYSTEMS.get(system, system)}-{_MACHINES.get(processor, processor)}"


def archive_format(system: str = sys.platform) -> str:
    """Return the form of the archive: on Windows ZIP, elsewhere one that keeps links and permissions."""
    return "zip" if system == "win32" else "gztar"


def files_beside(system: str = sys.platform) -> tuple[Path, ...]:
    """Return the files that are put next to the program."""
    return BESIDE + (BESIDE_ON_WINDOWS if system == "win32" else ())


def version_of(wheel: Path) -> str:
    """Return the version in the name of a wheel."""
    return wheel.name.split("-")[1]


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into `folder` and return it. Raises CalledProcessError."""
    _run([sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)], {})
    (wheel,) = folder.glob("*.whl")
    return wheel


def build_folder(wheel: Path, out: Path) -> Path:
    """Freeze what is in `wheel`; return the folder below `out` that holds the program. Raises CalledProcessError."""
    with temporary_directory("spielleiter-build-") as temporary:
        site, work = temporary / "site", temporary / "work"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        command = [sys.executable, "-P", "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
        command += ["--distpath", str(out), "--workpath", str(work), str(SPEC)]
        # found before an installed or editable spielleiter
        _run(command, {"PYTHONPATH": str(site), "PYINSTALLER_CONFIG_DIR": str(work / "cache")})
        if sys.platform != "win32":
            page = subprocess.run(
                [sys.executable, "-P", "-m", "spielleiter.cli.manual"],
                env={**os.environ, "PYTHONPATH": str(site)}, check=True, stdout=subprocess.PIPE,
            )  # fmt: skip
            (out / NAME / MAN_PAGE).write_bytes(page.stdout)
    for path in files_beside():
        shutil.copy(path, out / NAME)
    return out / NAME


def build(wheel: Path | None, out: Path) -> Path:
    """Build the folder and its archive below `out`, and return the archive. Raises CalledProcessError."""
    with temporary_directory("spielleiter-wheel-") as temporary:
        wheel = wheel or build_wheel(temporary)
        folder = build_folder(wheel, out)
        target = out / archive_name(version_of(wheel))
        return Path(shutil.make_archive(str(target), archive_format(), folder.parent, folder.name))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script; exit with 1 and one line if a tool has failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="the wheel to freeze; the default is to build it")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER", help="where to put the results")
    options = parser.parse_args(arguments)
    if options.wheel and not options.wheel.is_file():
        parser.error(f"there is no wheel {options.wheel}")
    try:
        print(build(options.wheel, options.out.resolve()))
    except subprocess.CalledProcessError as error:
        sys.exit(f"release/build.py: {error.cmd[3]} has failed with exit code {error.returncode}; see above")


def _run(command: list[str], variables: dict[str, str]) -> None:
    subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
