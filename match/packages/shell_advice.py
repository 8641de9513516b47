"""Finds commands in a shell script that cannot work in the contest: no network, no display, another host.

Invariants: only commands are considered that are executed unconditionally, never comments or texts. Each fault is
reported once for a script.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from spielleiter.match.packages.faults import Finding, finding_of
from spielleiter.match.packages.shell_script import PYTHONS, unwrapped
from spielleiter.match.packages.shell_words import Command, Script

_SILENT: Final = frozenset({"echo", "printf", "test", "[", "[[", "grep", ":"})
"""Commands whose arguments are texts."""
_RIGHTS: Final = frozenset({"sudo", "doas", "su"})
_PACKAGE_MANAGERS: Final = frozenset(
    {"apt", "apt-get", "yum", "dnf", "apk", "pacman", "brew", "snap", "zypper", "conda", "mamba"}
)
_JAVASCRIPT_MANAGERS: Final = frozenset({"npm", "yarn", "pnpm"})
_DOWNLOADERS: Final = frozenset({"curl", "wget", "ssh", "scp", "ping", "ftp"})
_BUILDERS: Final = frozenset(
    """
    gradle gradlew mvn mvnw make cmake ninja ant sbt javac kotlinc scalac gcc g++ cc c++ clang clang++ rustc ghc stack
    cabal meson bazel msbuild
    """.split()  # noqa: SIM905
)
_BUILDERS_BY_VERB: Final = {
    "cargo": {"run", "build", "install"},
    "go": {"run", "build", "install"},
    "dotnet": {"run", "build", "restore", "publish"},
    "swift": {"run", "build"},
}
_WINDOWS_COMMANDS: Final = frozenset(
    {"py", "cls", "start", "call", "pause", "cmd", "powershell", "@echo", "title", "rem"}
)
_HOST: Final = re.compile(r"(?:--?[\w-]+=)?(localhost|127\.0\.0\.1|::1)(?::\d+)?")
_PORT: Final = re.compile(r"(?:--?[\w-]+=|localhost:|127\.0\.0\.1:)?(13050)")
_WINDOWS_PATH: Final = re.compile(r"""(?:^|["'=])([A-Za-z]:[\\/][^\s"']*)""")
_HOME_PATH: Final = re.compile(r"""(?:^|["'=:])(/(?:home|Users)/[^\s"'/]+(?:/[^\s"':]*)?)""")
_DISPLAY: Final = re.compile(r"\$\{?DISPLAY\b|\bDISPLAY=")


def advice(path: str, script: Script) -> Iterator[Finding]:
    """Find what cannot work in the script at `path`."""
    seen: set[str] = set()
    for command in script.commands:
        if command.is_nested:
            continue
        for code, values in _faults(command):
            if code not in seen:
                seen.add(code)
                yield finding_of(code, [path], **values)
    if _DISPLAY.search(script.code) and "window" not in seen:
        yield finding_of("window", [path])
    if script.is_complete and _ends_early(script):
        yield finding_of("background-start", [path])


def _ends_early(script: Script) -> bool:
    """Whether the last command is started in the background, and nobody waits for it."""
    commands = [each for each in script.commands if each.words]
    return bool(commands) and commands[-1].end == "&" and not commands[-1].is_nested


def _faults(command: Command) -> Iterator[tuple[str, dict[str, str]]]:
    """The codes of the faults of one command, and the values for their sentences."""
    first = command.words[0].rpartition("/")[2] if command.words else ""
    if first in _RIGHTS:
        yield "sudo", {"command": first}
    if first == "xvfb-run":
        yield "window", {}
    words = [each.strip("\"'") for each in unwrapped(command.words)]
    name = posixpath.basename(words[0]) if words else ""
    if name in _SILENT:
        return
    yield from _tool_faults(name, words[1:])
    for word in (*command.words, *command.assignments):
        if found := _WINDOWS_PATH.search(word):
            yield "windows-path", {"path": found[1]}
        elif found := _HOME_PATH.search(word):
            yield "home-path", {"path": found[1]}
    for word in words[1:]:
        if found := _HOST.fullmatch(word):
            yield "fixed-host", {"host": found[1]}
        if found := _PORT.fullmatch(word):
            yield "fixed-port", {"port": found[1]}


def _tool_faults(name: str, arguments: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    verb = next((each for each in arguments if not each.startswith("-")), "")
    shown = {"command": f"{name} {verb}".strip() if verb.isalpha() else name}
    if PYTHONS.fullmatch(name) and arguments[:2] == ["-m", "pip"]:
        name, arguments = "pip", arguments[2:]
        verb = next((each for each in arguments if not each.startswith("-")), "")
    if re.fullmatch(r"pip[0-9.]*", name) and verb == "install":
        if "--no-index" not in arguments:
            yield "pip-install", {}
    elif (name in _PACKAGE_MANAGERS and verb in {"install", "update", "add", "upgrade"}) or (
        name in _JAVASCRIPT_MANAGERS and verb in {"install", "ci", "i", "add", ""}
    ):
        yield "package-manager", shown
    elif name in _DOWNLOADERS or (name == "git" and verb in {"clone", "pull", "fetch", "submodule"}):
        yield "download", shown
    elif name in _BUILDERS or verb in _BUILDERS_BY_VERB.get(name, ()):
        yield "build-at-start", shown
    elif name.lower() in _WINDOWS_COMMANDS or name.lower().endswith((".bat", ".cmd")):
        yield "windows-command", {"command": name}
