"""The TOML file that describes a match; keys that exist in tournament files, too, have the same meaning there.

Invariants: the file sets options that the command line does not set, and its values are checked like those of options.
Keys are the long names of options with underscores; the two programs are tables ``[[program]]``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from spielleiter.cli.commands import Misuse
from spielleiter.cli.program_options import file_values

CWD: Final = "match.cwd"
"""The key in the context's `meta` for the directory that programs are started in, according to the file."""

FOLDERS: Final = "match.folders"
"""The key in the context's `meta` for the folders of --combine."""

_NOT_IN_FILES: Final = frozenset({"file", "combine", "resume", "help", "password", "loglevel"})


def file_argument(command: Any) -> Any:
    """Decorate a command with the optional argument FILE, which is read before all options, or the folders DIR..."""
    return click.argument(
        "file",
        metavar="[FILE | DIR...]",
        nargs=-1,
        is_eager=True,
        expose_value=False,
        type=click.Path(path_type=Path),
        callback=_read,
    )(command)


def _read(context: click.Context, _parameter: click.Parameter, paths: tuple[Path, ...]) -> None:
    from spielleiter.common.errors import SetupError

    if context.params.get("combine"):
        context.meta[FOLDERS] = paths
        return
    if len(paths) > 1:
        raise click.UsageError(f"expected one FILE, found {len(paths)}; the folders of matches need --combine")
    if not paths:
        return
    file = paths[0]
    try:
        context.default_map = _values(context, file)
    except SetupError as error:
        raise Misuse(str(error)) from None


def _values(context: click.Context, file: Path) -> dict[str, Any]:
    """The values in the file, by the names of the options. Raises SetupError."""
    from spielleiter.common.errors import SetupError
    from spielleiter.match.toml_files import read_entrant, read_toml, require_known, resolve_paths, take, take_folder

    value = read_toml(file)
    names = [str(each.name) for each in context.command.params]
    of_programs = {name for name in names if name[-1:] in {"1", "2"}}
    try:
        resolve_paths(value, file.parent)
        require_known(value, ("program", "cwd", *(each for each in names if each not in of_programs | _NOT_IN_FILES)))
        programs = take(value, "program", list, [])
        entrants = [read_entrant(program, has_name=False) for program in programs]
        context.meta[CWD] = take_folder(value, "cwd")
        for each in context.command.params:
            if isinstance(each.type, click.types.IntParamType):
                take(value, str(each.name), int, None)
            elif isinstance(each.type, click.types.FloatParamType):
                take(value, str(each.name), (int, float), None)
    except SetupError as error:
        raise SetupError(f"{file}: {error}") from None
    if len(entrants) != 2:
        raise SetupError(f"{file}: expected 2 programs, found {len(entrants)}; for more, use `spielleiter tournament`")
    values = {name: given for name, given in value.items() if name not in {"program", "cwd"}}
    if "openings" in values:  # the option can be repeated, so that a second value can be refused
        values["openings"] = [values["openings"]]
    for number, entrant in enumerate(entrants, 1):
        values |= file_values(entrant, number)
    return values
