"""Contest packages in the layouts that come from the official templates and builders, with small programs in them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Final

from tests.programs.packages.binaries import LOADER, elf, jar
from tests.programs.packages.making import zipped

FOLDER: Final = "my_player"
"""The value of --directory for the builder of the Python package."""

_WHEEL: Final = f"{FOLDER}/dependencies/socha-5.1.0-py3-none-any.whl"
_PYTHON_MAIN: Final = f"""\
#!/bin/sh

# Exit immediately if any command fails
set -e

# Sets the environment variable, which specifies the location for pip to store its cache files
export XDG_CACHE_HOME=./{FOLDER}/.pip_cache

# Sets the environment variable, which adds the directory to the list of paths that Python searches for modules and \
packages when they are imported.
export PYTHONPATH=./{FOLDER}/packages:$PYTHONPATH

# Install the package socha and dependencies
pip install --no-index --find-links=./{FOLDER}/dependencies/ --target=./{FOLDER}/packages/ \
--cache-dir=./{FOLDER}/.pip_cache ./{_WHEEL}\x20

# Run the logic.py script with start arguments
python3 ./{FOLDER}/logic.py "$@"
"""
_GRADLE: Final = {
    "build.gradle.kts": 'plugins { java; application; id("com.gradleup.shadow") version "8.3.10" }\n',
    "README.md": "# Dein Software-Challenge Spieler\n",
    "gradlew": '#!/bin/sh\nexec java -classpath gradle/wrapper/gradle-wrapper.jar org.gradle.Wrapper "$@"\n',
    "gradlew.bat": "@rem Gradle\r\n",
    "gradle/wrapper/gradle-wrapper.properties": "",
    "src/main/sc/player/Logic.java": "package sc.player;\n",
    "src/main/sc/player/util/Starter.java": "package sc.player.util;\n",
    "src/resources/logback.xml": "<configuration/>\n",
    "doc/sdk/index.html": "<html/>",
}

_LIBRARIES: Final = {"lib/sdk.jar": jar(), "lib/plugin2027.jar": jar()}


def python_package(source: str, modules: Mapping[str, str]) -> bytes:
    """What `python logic.py --build --directory my_player` of socha 5.1.0 makes: one folder with everything in it.

    The entries, their order and the script are as the builder writes them; only the wheels that come from the package
    index are replaced by one that tests can make.
    `source` is logic.py; `modules` are the contents of the wheel socha, by path.
    """
    return zipped(
        {
            f"{FOLDER}/start.sh": _PYTHON_MAIN,
            f"{FOLDER}/logic.py": source,
            f"{FOLDER}/packages/": "",
            f"{FOLDER}/dependencies/": "",
            f"{FOLDER}/.pip_cache/": "",
            _WHEEL: wheel("socha", "5.1.0", modules),
        }
    )


def wheel(name: str, version: str, modules: Mapping[str, str]) -> bytes:
    """A wheel that pip installs."""
    buffer = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    files = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def java_sources() -> bytes:
    """The Java template as it is downloaded: sources, and libraries to compile them with."""
    return zipped({**_GRADLE, "gradle/wrapper/gradle-wrapper.jar": jar(), **_LIBRARIES})


def java_project(*, folder: str = "") -> bytes:
    """The folder of the Java template after `gradlew shadowJar`, which writes the player into it."""
    files: dict[str, bytes | str] = {**_GRADLE, **_LIBRARIES, "blokus_2027_client.jar": jar()}
    return zipped({f"{folder}{name}": content for name, content in files.items()})


def java_player() -> bytes:
    """The JAR file that `gradlew shadowJar` writes, and nothing else."""
    return zipped({"blokus_2027_client.jar": jar()})


def rust_player() -> bytes:
    """What `cargo build --release` makes of a project with the Rust crate, and the script of the contest's pages."""
    program = elf(loader=LOADER, libraries=("libgcc_s.so.1", "libc.so.6"), versions=("GLIBC_2.34",))
    return zipped({"start.sh": '#!/bin/sh\nchmod +x best_player\n./best_player "$@"\n', "best_player": program})


def rust_sources() -> bytes:
    """A project with the Rust crate."""
    return zipped({"best_player/Cargo.toml": "[package]\n", "best_player/src/main.rs": "fn main() {}\n"})
