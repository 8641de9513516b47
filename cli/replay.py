"""`spielleiter replay`: a saved game in the browser, in the terminal, or as a file to pass on.

The file is read completely before anything is written or opened, so a bad replay leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.options import WholeNumber, json_option
from spielleiter.cli.output import json_text, print_line
from spielleiter.cli.running import Failure, Misuse, run_async
from spielleiter.common.files import write_whole

if TYPE_CHECKING:
    from spielleiter.viewer.game_json import Details
    from spielleiter.viewer.replay_files import Replay

_OUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--html", type=_OUT, metavar="OUT", help="Write one page that needs no server and no other file.")
@click.option("--png", type=_OUT, metavar="OUT", help="Write a picture of the position after --ply.")
@click.option("--gif", type=_OUT, metavar="OUT", help="Write the whole game as an animation.")
@click.option("--text", "as_text", is_flag=True, help="Print the moves and the last position.")
@json_option
@click.option(
    "--analysis",
    is_flag=True,
    help="For --html, --text and --json: estimate the moves that cost the loser most; takes some seconds.",
)
@click.option(
    "--ply",
    type=WholeNumber(),
    metavar="N",
    help="For the browser, --png, --text and --json: the position after N moves.  [default: the last one; in the "
    "browser, the first]",
)
@click.option("--no-browser", is_flag=True, help="Print the address of the page instead of opening it.")
def replay(
    file: Path,
    *,
    html: Path | None,
    png: Path | None,
    gif: Path | None,
    as_text: bool,
    as_json: bool,
    analysis: bool,
    ply: int | None,
    no_browser: bool,
) -> None:
    """Show the game in FILE, a replay of this server or of an official one.

    FILE may be compressed with gzip; its season is recognised. Think times, hints and outputs of the programs are shown
    as well if they are in the files beside it: the .json file and results.jsonl of `serve --save-replay`, or the folder
    of a match.

    Without options, the game opens in the browser, and Ctrl-C ends the program. The page is served on this machine
    only.

    With --json, prints one object: the whole game, or with --ply one of its positions (docs/replays.md).

    The exit code is 0; 2 if FILE is not a replay that can be shown; 1 if a file could not be written.
    """
    if as_text and as_json:
        raise click.UsageError("expected --text or --json, and not both")
    if analysis and html is None and (ply is not None or not (as_text or as_json)):
        raise click.UsageError(
            "--analysis needs --html, or --text or --json without --ply; the page itself has a button"
        )
    if ply is not None and (html or gif) and not (png or as_text or as_json):
        raise click.UsageError("--ply has no effect on --html and --gif, which hold the whole game")
    game = _Game(file)
    if ply is not None and not 0 <= ply <= game.plies:
        raise Misuse(f"--ply {ply}: {file.name} has {game.plies} plies, expected a number from 0 to {game.plies}")
    raise_on_ctrl_c()
    if analysis:
        game.analyse()
    outputs = (
        (html, game.html),
        (png, lambda: game.picture(ply, is_animated=False)),
        (gif, lambda: game.picture(None, is_animated=True)),
    )
    for given in filter(None, (html, png, gif)):
        with contextlib.suppress(OSError):  # there is no such file yet
            if given.samefile(file):
                raise Misuse(f"{file} is the replay itself, and would be overwritten; choose another name")
    for path, render in outputs:
        if path is not None:
            content = render()
            try:
                write_whole(path, content)
            except OSError as error:
                raise Failure(f"{path}: {error.strerror or error}") from None
    if as_json:
        click.echo(json_text(game.json if ply is None else game.json["positions"][ply]))
    elif as_text:
        _print_game(game, ply)
    elif not any(path for path, _ in outputs):
        _serve(file, ply or 0, is_opened=not no_browser)


class _Game:
    """The game in a file, and the forms in which it can be exported. Raises Misuse if it cannot be read."""

    def __init__(self, file: Path) -> None:
        from spielleiter.viewer.game_details import details_beside
        from spielleiter.viewer.game_json import describe_game
        from spielleiter.viewer.replay_files import ReplayFileError, load_replay

        try:
            self.replay: Replay = load_replay(file)
        except ReplayFileError as error:
            raise Misuse(f"{file}: {error}") from None
        details: Details = details_beside(file)
        self.json: dict[str, Any] = describe_game(self.replay, details)

    @property
    def plies(self) -> int:
        """The number of moves."""
        return len(self.json["positions"]) - 1

    def analyse(self) -> None:
        """Add the estimate of the moves that cost most."""
        from spielleiter.viewer.analysis import analyse_replay
        from spielleiter.viewer.replay_files import ReplayFileError

        try:
            self.json["analysis"] = analyse_replay(self.replay)
        except ReplayFileError as error:
            raise Misuse(f"{self.json['source']}: {error}") from None

    def html(self) -> bytes:
        """One page that needs no server."""
        return self._export("html", -1)

    def picture(self, ply: int | None, *, is_animated: bool) -> bytes:
        """The position after `ply` moves (None: the last one) as PNG, or the whole game as GIF."""
        return self._export("gif" if is_animated else "png", -1 if ply is None else ply)

    def _export(self, form: str, ply: int) -> bytes:
        from spielleiter.viewer.exports import INSTALL_PICTURES, PicturesMissingError, export_game

        try:
            return export_game(self.json, form, ply)
        except PicturesMissingError as error:
            raise Misuse(f"--png and --gif need Pillow ({error}); install it with: {INSTALL_PICTURES}") from None


# -- the terminal -------------------------------------------------------------------------------------------------


def _print_game(game: _Game, ply: int | None) -> None:
    """Print all moves, the last position and the end of the game; or, with `ply`, one position and its move."""
    from spielleiter.cli.screen import canvas_of
    from spielleiter.viewer.game_json import distinct_positions
    from spielleiter.viewer.terminal import draw

    shown = game.json
    names = [player["name"] or f"player {number}" for number, player in enumerate(shown["players"], 1)]
    print_line(f"{names[0]} against {names[1]}, {shown['edition']}, {game.plies} plies")
    for each in shown["plies"] if ply is None else shown["plies"][max(0, ply - 1) : ply]:
        position = shown["positions"][each["ply"]]
        move = "" if position["lastMove"] is None else position["lastMove"]["text"]
        time = "" if each["thinkSeconds"] is None else f"  {each['thinkSeconds']:.3f} s"
        points = ":".join(str(player["points"]) for player in position["players"])
        print_line(f"{each['ply']:3}  turn {position['turn']:3}  {points:>7}  {move}{time}")
        if ply is not None:
            for hint in each["hints"]:
                print_line(f"     hint: {hint['content']}")
            for line in each["stderr"] or ():
                print_line(f"     stderr: {line}")
            for thought in filter(lambda thought: thought["ply"] == ply, shown["thinking"]):
                _print_thought(thought)
    memento = list(distinct_positions(game.replay.record))[game.plies if ply is None else ply]
    canvas = canvas_of(sys.stdout, rows=1000)
    for line in draw(memento.state, memento.names, canvas) or ():
        click.echo(line, color=canvas.is_coloured)
    if ply not in {None, game.plies}:
        return
    if (end := shown["end"]) is None:
        print_line("the file holds no result")
    else:
        print_line(end["words"]["en"])
        if end["reason"]:
            print_line(f"the server says: “{end['reason']}”")
        if end["illegal"] is not None:
            cells = ", ".join(f"({x}, {y})" for x, y in end["illegal"]["offendingCells"])
            print_line(f"the move broke a rule: {end['illegal']['rule']}" + (f" Cells: {cells}" if cells else ""))
        if end["verdictWords"] is not None:
            print_line(f"the match's verdict: {end['verdictWords']['en']}")
        for line in end["stderr"] or ():
            print_line(f"     stderr: {line}")
    if "analysis" in shown:
        print_line(shown["analysis"]["method"]["en"])
        for moment in shown["analysis"]["moments"]:
            print_line(f"{moment['ply']:3}  {moment['words']['en']}")


def _print_thought(thought: dict[str, Any]) -> None:
    """Print what a program thought about a move, apart from the marked cells, which need a board."""
    if "value" in thought:
        print_line(f"     value: {thought['value']:g}")
    for name, number in thought.get("numbers", {}).items():
        print_line(f"     {name}: {number:g}")
    for text in thought.get("texts", ()):
        print_line(f"     thinks: {text}")
    for number, move in enumerate(thought.get("moves", ()), 1):
        worth = f": {move['value']:g}" if "value" in move else ""
        print_line(f"     candidate: {move.get('text') or number}{worth}")


def _serve(file: Path, ply: int, *, is_opened: bool) -> None:
    """Serve the page until Ctrl-C."""
    from spielleiter.server.errors import StartError
    from spielleiter.viewer.web.companion import serve_replay

    def announce(address: str) -> None:
        print_line(f"{address} shows {file.name}; Ctrl-C ends it")
        if is_opened:
            import webbrowser

            webbrowser.open(address)

    try:
        with contextlib.suppress(KeyboardInterrupt):  # the usual end of this command
            run_async(lambda: serve_replay(file, announce, ply))
    except StartError as error:
        raise Failure(str(error)) from None
