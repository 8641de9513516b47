"""Chooses the main file of a package: the one that is started.

Invariants: a file that the user names is taken if it is there, whatever it contains. Otherwise the files at the top of
the package are candidates, and if there is nothing to start, those in its folders: packages of the official builder for
Python consist of one folder. The kinds of files are tried in a fixed order, and there is no guess between equals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import Archive, Entry
from spielleiter.match.packages.faults import Finding, finding_of, shortened
from spielleiter.server.config.setting import suggestion

_USUAL_STEMS: Final = ("start", "run", "main", "player", "client", "bot")
"""Names of main files, the most usual one first; they decide between files of the same kind."""
_SCRIPTS: Final = frozenset({".sh", ".bash", ".zsh", ".ksh"})
_PROGRAMS: Final = frozenset(
    {".exe", ".jar", ".py", ".pyw", ".bat", ".cmd", ".ps1", ".js", ".class", ".rb", ".pl", ".lua"}
)
_BINARIES: Final = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe")
_LIBRARIES: Final = frozenset({".so", ".dll", ".dylib", ".o", ".a", ".class", ".pyd"})
_BUILD_TOOLS: Final = frozenset({"gradlew", "gradlew.bat", "mvnw", "mvnw.cmd"})
"""Programs that come with sources, and never start a player."""
_BUILD_FILES: Final = frozenset(
    {
        "Cargo.toml",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "go.mod",
        "CMakeLists.txt",
        "Makefile",
        "package.json",
    }
)
_SOURCES: Final = frozenset({".java", ".kt", ".c", ".cpp", ".cc", ".rs", ".go", ".cs", ".hs", ".scala", ".swift"})
_IGNORED: Final = frozenset({"__MACOSX"})
_MAX_SHOWN: Final = 5
"""Candidates beyond this number are not named."""


def choose_main(archive: Archive, wanted: str | None = None) -> Entry | Finding:
    """Return the main file: `wanted`, or the only candidate. Returns a finding if there is not exactly one."""
    return _by_name(archive, wanted) if wanted is not None else _by_content(archive)


def _by_name(archive: Archive, wanted: str) -> Entry | Finding:
    path = PurePosixPath(wanted.replace("\\", "/"))
    files = {each.path: each for each in archive.entries if not each.is_folder}
    if path in files:
        return files[path]
    if any(path in (each.path, *each.path.parents) for each in archive.entries):
        return finding_of("main-is-folder", [wanted])
    hint = suggestion(str(path), [str(each) for each in files])
    return finding_of("main-missing", [wanted], hint=hint)


def _by_content(archive: Archive) -> Entry | Finding:
    candidates = _candidates(archive, PurePosixPath()) or _candidates_in_folders(archive)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = [shortened(str(each.path)) for each in candidates[:_MAX_SHOWN]]
        return finding_of("several-main-files", names=", ".join(names))
    return _none_found(archive)


def _candidates_in_folders(archive: Archive) -> list[Entry]:
    """The files one level down that may be the main file: those named start.sh, if there are any.

    A file that is a program only by its suffix counts if its folder is all there is in the package, since a folder of
    libraries is full of such files.
    """
    folders = [PurePosixPath(name) for name in sorted(archive.names_in(PurePosixPath())) if name not in _IGNORED]
    is_only_folder = len(folders) == 1
    found = [
        each
        for folder in folders
        for each in _candidates(archive, folder)
        if is_only_folder or each.path.suffix.lower() not in _PROGRAMS or _begins_like_script(archive.read(each, 64))
    ]
    return [each for each in found if each.path.name == "start.sh"] or found


def _candidates(archive: Archive, folder: PurePosixPath) -> list[Entry]:
    """The files in a folder that may be the main file: those of the first kind of which there are any."""
    files = [
        archive.files[folder / name]
        for name in sorted(archive.names_in(folder))
        if folder / name in archive.files and not name.startswith(".") and name not in _BUILD_TOOLS
    ]
    heads = {each.path: archive.read(each, 64) for each in files}
    kinds: Sequence[Callable[[Entry], bool]] = (
        lambda each: each.path.name == "start.sh",
        lambda each: _begins_like_script(heads[each.path]) or each.path.suffix.lower() in _SCRIPTS,
        lambda each: heads[each.path].startswith(_BINARIES) and not _is_library(each.path),
        lambda each: each.path.suffix.lower() in _PROGRAMS,
    )
    for is_candidate in kinds:
        candidates = [each for each in files if is_candidate(each)]
        for stem in _USUAL_STEMS if len(candidates) > 1 else ():
            named = [each for each in candidates if each.path.stem.lower() == stem]
            if len(named) == 1:
                return named
        if candidates:
            return candidates
    return []


def _begins_like_script(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"#!")


def _is_library(path: PurePosixPath) -> bool:
    return not _LIBRARIES.isdisjoint(suffix.lower() for suffix in path.suffixes)


def _none_found(archive: Archive) -> Finding:
    """Say why there is no candidate."""
    files = [each for each in archive.files if each.parts[0] not in _IGNORED]
    if len(files) == 1 and files[0].suffix.lower() == ".zip":
        return finding_of("zip-inside", [str(files[0])])
    folders = sorted({each.parts[0] for each in files if len(each.parts) > 1})
    top = [each for each in files if len(each.parts) == 1]
    is_folder = not top and len(folders) == 1
    shown = [each for each in files if len(each.parts) == 2] if is_folder else top
    sources = [str(each) for each in shown if each.name in _BUILD_FILES or each.suffix in _SOURCES]
    if sources:
        return finding_of("source-only", sources[:1])
    return finding_of("folder-inside", folders) if is_folder else finding_of("no-main-file")
