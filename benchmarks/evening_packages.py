"""The packages of a simulated evening: forty programs of planted strength in five languages, real clients, broken ones.

The programs are in the folder `evening_bots`: the same simple player of Blokus 2027 in Python, Java, C++, Rust and
shell. With the probability `strength` it makes its best move, otherwise a random one. Answers take a few milliseconds,
in shell, where the moves come from awk, about 40.
"""

from __future__ import annotations

import io
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BOTS: Final = Path(__file__).parent / "evening_bots"
_DOWNLOAD_SECONDS: Final = 120.0

PLANTED: Final[Mapping[str, tuple[float, ...]]] = {
    "Python": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "Java": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "C++": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    "Rust": (0.0, 0.25, 0.5, 0.75, 1.0),
    "shell": (0.1, 0.4, 0.7, 1.0),
}
"""The strengths of the programs of each language."""


@dataclass(frozen=True)
class Package:
    """What a team uploads.

    - `team`: its name.
    - `kind`: the language, or what is special about it.
    - `content`: the ZIP.
    - `strength`: the planted strength; None: unknown.
    - `is_sound`: whether the short check has to accept it; None: either will do.
    """

    team: str
    kind: str
    content: bytes
    strength: float | None = None
    is_sound: bool | None = True
    file_name: str = "bot.zip"


def make_packages(tell: Callable[[str], object] = lambda _text: None) -> list[Package]:
    """Build all programs and return their packages; what cannot be built here is told and left out."""
    found: list[Package] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for language, make in _LANGUAGES.items():
            tell(f"building the programs in {language}")
            try:
                files = make(folder)
            except (OSError, subprocess.SubprocessError) as error:
                tell(f"no programs in {language}: {error}")
                continue
            for strength in PLANTED[language]:
                start = f'#!/bin/sh\nexec {_COMMANDS[language]} {strength} "$@"\n'
                content = _zipped({"start.sh": start, **files})
                found.append(Package(f"{language} {round(100 * strength)}", language, content, strength))
        tell("fetching the official Python package")
        try:
            found += _official_python(folder)
        except (OSError, subprocess.SubprocessError) as error:
            tell(f"left out, since it cannot be fetched: {error}")
    return found + _special_packages()


def _zipped(files: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2027, 1, 1, 0, 0, 0))
            entry.external_attr = (stat.S_IFREG | 0o755) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return file.getvalue()


# -- the languages --------------------------------------------------------------------------------------------------


def _python(_folder: Path) -> dict[str, bytes]:
    return {"player.py": (BOTS / "player.py").read_bytes()}


def _java(folder: Path) -> dict[str, bytes]:
    _compile("javac", "--release", "17", "-d", folder / "java", BOTS / "Player.java")
    return {path.name: path.read_bytes() for path in sorted((folder / "java").glob("*.class"))}


def _cpp(folder: Path) -> dict[str, bytes]:
    # only libstdc++ is linked statically: resolving the name of the server needs the shared libc
    _compile(
        "g++",
        "-O2",
        "-static-libstdc++",
        "-static-libgcc",
        "-std=c++20",
        "-s",
        "-o",
        folder / "cpp",
        BOTS / "player.cpp",
    )
    return {"player": (folder / "cpp").read_bytes()}


def _rust(folder: Path) -> dict[str, bytes]:
    _compile("rustc", "--edition", "2021", "-O", "-C", "strip=symbols", "-o", folder / "rust", BOTS / "player.rs")
    return {"player": (folder / "rust").read_bytes()}


def _shell(_folder: Path) -> dict[str, bytes]:
    return {name: (BOTS / name).read_bytes() for name in ("player.sh", "player.awk")}


def _compile(*words: str | Path) -> None:
    """Raises OSError and subprocess.SubprocessError."""
    subprocess.run(words, check=True, timeout=300, stdout=subprocess.DEVNULL)


_LANGUAGES: Final[Mapping[str, Callable[[Path], dict[str, bytes]]]] = {
    "Python": _python,
    "Java": _java,
    "C++": _cpp,
    "Rust": _rust,
    "shell": _shell,
}
_COMMANDS: Final = {
    "Python": "python3 player.py",
    "Java": "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp . Player",
    # a ZIP from Windows has no permissions, so the script grants its own
    "C++": "/bin/sh -c 'chmod +x player; exec ./player \"$@\"' player",
    "Rust": "/bin/sh -c 'chmod +x player; exec ./player \"$@\"' player",
    "shell": "bash player.sh",
}


# -- real clients ---------------------------------------------------------------------------------------------------

_SOCHA: Final = ("socha==5.1.0", "setuptools<81")
_SOCHA_LOGIC: Final = """\
import random

from socha import GameState, Move
from socha.api.networking.game_client import IClientHandler
from socha.starter import Starter


class Logic(IClientHandler):
    game_state: GameState

    def calculate_move(self) -> Move:
        return random.choice(self.game_state.possible_moves())

    def on_update(self, state: GameState):
        self.game_state = state


if __name__ == "__main__":
    Starter(Logic())
"""


def _official_python(folder: Path) -> list[Package]:
    """The season's official Python package: as its own builder packs it, and unpacked, which starts much faster."""
    wheels, unpacked = folder / "wheels", folder / "unpacked"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run: Callable[..., object] = lambda *words: subprocess.run(  # noqa: E731
        [*pip, *words], check=True, timeout=_DOWNLOAD_SECONDS, stderr=subprocess.DEVNULL
    )
    run("download", "--only-binary=:all:", "-d", wheels, *_SOCHA)
    run("install", "--no-index", "--find-links", wheels, "--target", unpacked, *_SOCHA)
    shutil.rmtree(unpacked / "bin", ignore_errors=True)
    home = "my_player"
    names = [path.name for path in sorted(wheels.glob("*.whl"))]
    listed = " ".join(f"./{home}/dependencies/{name}" for name in names)
    built = {f"{home}/dependencies/{name}": (wheels / name).read_bytes() for name in names}
    built[f"{home}/logic.py"] = _SOCHA_LOGIC.encode()
    built[f"{home}/start.sh"] = textwrap.dedent(f"""\
        #!/bin/sh

        # Exit immediately if any command fails
        set -e

        export XDG_CACHE_HOME=./{home}/.pip_cache
        export PYTHONPATH=./{home}/packages:$PYTHONPATH

        # Install the package socha and dependencies
        pip install --no-index --find-links=./{home}/dependencies/ --target=./{home}/packages/ \
--cache-dir=./{home}/.pip_cache {listed}

        # Run the logic.py script with start arguments
        python3 ./{home}/logic.py "$@"
        """).encode()
    plain = {
        f"lib/{path.relative_to(unpacked).as_posix()}": path.read_bytes()
        for path in sorted(unpacked.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    plain["logic.py"] = _SOCHA_LOGIC.encode()
    plain["start.sh"] = b'#!/bin/sh\nPYTHONPATH=lib exec python3 logic.py "$@"\n'
    return [
        Package("socha wie gebaut", "real client", _zipped(built), file_name="my_player.zip"),
        Package("socha ausgepackt", "real client", _zipped(plain)),
    ]


# -- special and broken ones ----------------------------------------------------------------------------------------


def _special_packages() -> list[Package]:
    source = (BOTS / "player.py").read_text(encoding="utf-8")
    start = '#!/bin/sh\nexec python3 player.py 0.7 "$@"\n'

    def changed(old: str, new: str) -> bytes:
        assert old in source
        return _zipped({"start.sh": start, "player.py": source.replace(old, new)})

    send = "            move = choose(text[text.rindex"
    umlauts = {"start.sh": '#!/bin/sh\nexec python3 "Müllers Spieler/Größe ß.py" 0.7 "$@"\n'}
    umlauts["Müllers Spieler/Größe ß.py"] = source
    folder = {"mein_bot/start.sh": start.replace("player.py", "mein_bot/player.py"), "mein_bot/player.py": source}
    bomb = _zipped({"start.sh": start, "player.py": source, "data.bin": bytes(400 << 20)})
    windows = {"start.sh": start.replace("\n", "\r\n"), "player.py": source}
    join, wait = "    server.sendall(f'<protocol>", "    import time; time.sleep(1000)\n"
    hang = "            while len(text) > 2000: pass\n"
    moody = "            if random.random() < 0.02:\n                raise KeyError('PENTO_Q')\n"
    return [
        Package("Jürgen & „Söhne“ <b>", "umlauts", _zipped(umlauts), 0.7, file_name="Größe ß.zip"),
        Package("Die im Ordner", "all in a folder", _zipped(folder), 0.7),
        Package("Launisch", "crashes now and then", changed(send, moody + send), is_sound=None),
        Package("Ohne Start", "no main file", _zipped({"README.txt": "TODO", "notizen.txt": "…"}), is_sound=False),
        Package("Fehlender Import", "crashes at its start", changed("import re\n", "import nunpy\n"), is_sound=False),
        Package("Mogler", "illegal move", changed('<position x="{x}"', '<position x="{x + 1}"'), is_sound=False),
        Package("Schläfer", "never joins", changed(join, wait + join), is_sound=False),
        Package("Grübler", "hangs in a move", changed(send, hang + send), is_sound=False),
        Package("Bombe", "ZIP bomb", bomb, is_sound=False),
        Package("Kein ZIP", "not a ZIP", b"Rar!\x1a\x07\x00" + bytes(3000), is_sound=False, file_name="bot.rar"),
        Package("Windows", "line ends of Windows", _zipped(windows), is_sound=False),
    ]  # fmt: skip
