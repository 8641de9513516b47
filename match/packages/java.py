"""Checks Java programs: whether a JAR file can be started, and for which Java its classes were compiled.

Invariants: a JAR file is read within the same limits as a package, and any bytes may be passed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import DAMAGE, Archive, Entry, read_inner_file, read_inner_zip
from spielleiter.match.packages.faults import finding_of
from spielleiter.match.packages.finding import Finding

NEWEST_JAVA: Final = 21
"""The newest release of Java that can be expected in the contest."""

_FIRST_VERSION: Final = 44
"""The version of a class file is the release of Java plus this number."""
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_MAX_MANIFEST: Final = 256 * 1024


def jar_findings(archive: Archive, entry: Entry) -> Iterator[Finding]:
    """Find why ``java -jar`` does not start this file of the package."""
    name = str(entry.path)
    try:
        jar = read_inner_zip(archive, entry)
        if jar is None:
            return  # too large to be looked at
        with jar:
            yield from _open_jar_findings(archive, entry.path, jar)
    except (*DAMAGE, OSError):
        yield finding_of("damaged-jar", [name])


def _open_jar_findings(archive: Archive, path: PurePosixPath, jar: zipfile.ZipFile) -> Iterator[Finding]:
    name = str(path)
    names = set(jar.namelist())
    manifest_name = next((each for each in names if each.upper() == _MANIFEST), None)
    if manifest_name is None:
        yield finding_of("jar-without-manifest", [name])
        return
    manifest = read_manifest(read_inner_file(jar, manifest_name, _MAX_MANIFEST))
    main_class = manifest.get("main-class")
    if not main_class:
        yield finding_of("jar-without-main-class", [name])
        return
    libraries = manifest.get("class-path", "").split()
    missing = [each for each in libraries if ":" not in each and not archive.has(path.parent / each)]
    if missing:
        yield finding_of("jar-library-missing", [name], libraries=", ".join(missing))
    class_file = f"{main_class.replace('.', '/')}.class"
    if class_file in names:
        yield from class_findings(name, read_inner_file(jar, class_file, 8))
    elif not libraries:
        yield finding_of("jar-main-class-missing", [name], main_class=main_class)


def read_manifest(content: bytes) -> dict[str, str]:
    """The main section of a manifest, with lower-case names; a line that begins with a space continues the last one."""
    values: dict[str, str] = {}
    last = ""
    for line in content.decode(errors="replace").splitlines():
        if not line:
            break
        if line.startswith(" ") and last:
            values[last] += line[1:]
        elif ":" in line:
            last, _, value = line.partition(":")
            last = last.strip().lower()
            values[last] = value.strip()
    return values


def class_findings(name: str, head: bytes) -> Iterator[Finding]:
    """Find whether the class file that begins with `head` needs a newer Java; `name` is the file that is shown."""
    release = int.from_bytes(head[6:8], "big") - _FIRST_VERSION
    if release > NEWEST_JAVA:
        yield finding_of("newer-java", [name], version=release, newest=NEWEST_JAVA)
