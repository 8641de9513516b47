"""`spielleiter test-client`: a match with the options and the output of the organisers' `test-client.jar`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.match_and_tournament import (
    exit_code_of_games,
    play_and_exit,
    prepare_machine,
    show_unfit,
    usable_journal,
)
from spielleiter.cli.options import (
    Number,
    WholeNumber,
    admin_password_option,
    chosen_edition,
    edition_options,
    together,
)
from spielleiter.cli.output import print_line
from spielleiter.cli.running import Misuse, run_async
from spielleiter.common.text import escaped
from spielleiter.match.defaults import DEFAULT_GAMES, DEFAULT_MIN_GAMES
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT

if TYPE_CHECKING:
    from spielleiter.match.plan import Entrant, MatchSetup, PlannedGame
    from spielleiter.match.records import GameRecord
    from spielleiter.match.summary import Summary
    from spielleiter.protocol.messages import Fragment

LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF")
"""The log levels of `--loglevel`, the lowest first."""
DEFAULT_PLAYER: Final = "defaultplayer.jar"
"""The program of a player for which none is named, in the current directory."""

_LOGGER: Final = "sc.TestClient"
_WIN: Final = 2  # Siegpunkte; a draw is worth half of it

_no_timeout_options: Final = together(
    click.option("--no-timeout", is_flag=True, help="Enforce no time limits."),
    click.option("--no-timeout1", is_flag=True, help="Enforce no time limits for the first player."),
    click.option("--no-timeout2", is_flag=True, help="Enforce no time limits for the second player."),
    *(
        click.option(
            f"--timeout{number}",
            type=click.BOOL,
            metavar="true|false",
            help=f"false: the same as --no-timeout{number}, as in the seasons until 2020.",
        )
        for number in (1, 2)
    ),
)


def log_line(level: str, text: str, now: datetime) -> str:
    """Return a line of the log as `test-client.jar` writes it on its standard output, without the line end."""
    return f"{now:%H:%M:%S}.{now.microsecond // 10_000:02} {level:<5} {_LOGGER:>36} - {text}"


class Scores:
    """What `test-client.jar` prints while and after games are played; a `ProgressListener` of a match.

    - `names`: the players' names.
    - `planned`: the number of games.
    - `fragments`: the definition of the first two parts of a score, Siegpunkte and points.
    - `write`: is called with the level and the text of each entry of the log.
    """

    def __init__(
        self, names: tuple[str, str], planned: int, fragments: Sequence[Fragment], write: Callable[[str, str], None]
    ) -> None:
        self._names = names
        self._planned = planned
        self._fragments = fragments
        self._write = write
        self._records: list[GameRecord] = []

    def game_started(self, planned: PlannedGame) -> None: ...

    def game_finished(self, record: GameRecord) -> None:
        from spielleiter.match.verdict import CRASH_VERDICTS

        if record.verdict in CRASH_VERDICTS and record.offender is not None:
            name = self._names[record.offender]
            self._write("ERROR", f"{name} crashed, look into {record.folder}: {record.reason}")
        if not record.is_counted:
            self._write("ERROR", f"Game {len(self._records)} does not count: {record.reason}")
        how = "regularly -" if _is_regular(record) else "irregularly!"
        self._write("WARN", f"Game {len(self._records)} ended {how} Winner: {self._winner(record)}")
        self._records.append(record)
        scores = [self._score(program) for program in (0, 1)]
        self._write("INFO", f"New scores after {len(self._records)} of {self._planned} games: {scores[0]} {scores[1]}")

    def stopping(self) -> None:
        self._write("WARN", "Finishing the running game; press Ctrl-C again to end it at once")

    def finish(self) -> None:
        """Write the table at the end, unless no game was finished."""
        if not self._records:
            return
        irregular = sum(not _is_regular(record) for record in self._records)
        self._write(
            "WARN",
            "\n=============== SCORES ================\n"
            f"{self._names[0]}: {self._victory_points(0)}\n"
            f"{self._names[1]}: {self._victory_points(1)}\n"
            "=======================================\n"
            f"{irregular} of {len(self._records)} games ended irregularly!",
        )

    def _winner(self, record: GameRecord) -> str:
        """The sentence of the result, or else the name of the winner; `null`, as in Java, if there is neither."""
        name = "null" if record.winner is None else self._names[record.winner]
        return (record.is_counted and record.reason) or name

    def _victory_points(self, program: int) -> int:
        wins = sum(record.winner == program for record in self._records)
        return _WIN * wins + _WIN // 2 * sum(record.is_draw for record in self._records)

    def _score(self, program: int) -> str:
        points = sum(record.points[program] or 0 for record in self._records) / len(self._records)
        first, second = (fragment.name.removeprefix("∅ ") for fragment in self._fragments[:2])
        return f"{self._names[program]}[{first} {self._victory_points(program):5.2f}, ∅{second} {points:5.2f}]"


def _is_regular(record: GameRecord) -> bool:
    """Whether the result had the cause REGULAR for both players."""
    return set(record.causes) == {"REGULAR"}


def _described(entrant: Entrant) -> str:
    is_jar, can_timeout = (str(value).lower() for value in (entrant.command.endswith("jar"), entrant.can_timeout))
    what = f"name='{entrant.name}', executable='{entrant.command}', isJar={is_jar}, canTimeout={can_timeout}"
    return f"ClientPlayer{{{what}}}"


def accuracy_lines(summary: Summary) -> list[str]:
    """Return what `test-client.jar` does not say: how far the result may be from the truth, and who is better."""
    from spielleiter.match.reports.texts import elo_text, headline
    from spielleiter.match.statistics import estimate_score

    score = estimate_score(summary.pairs)
    lines = []
    if score is not None:
        margin = max(score.high - score.value, score.value - score.low)
        for name, share in zip(summary.names, (score.value, 1 - score.value), strict=True):
            lines.append(f"{name}: {100 * share:.1f} % ± {100 * margin:.1f} of the Siegpunkte (95 %)")
        lines.append(f"Elo of {summary.names[0]}: {elo_text(summary.elo)}")
    return [*lines, headline(summary)]


@click.command("test-client", context_settings={"allow_extra_args": True})
@click.option("--player1", metavar="FILE", help="The first player: a .jar file, a program, or what `match` takes.")
@click.option("--player2", metavar="FILE", help="The second player.")
@click.option("--name1", default="player1", show_default=True, metavar="TEXT", help="Name of the first player.")
@click.option("--name2", default="player2", show_default=True, metavar="TEXT", help="Name of the second player.")
@click.option(
    "-t",
    "--tests",
    type=WholeNumber(1),
    default=DEFAULT_GAMES,
    show_default=True,
    metavar="N",
    help="Number of games; the players begin alternately.",
)
@_no_timeout_options
@click.option(
    "--significance",
    type=Number(0, 0.5, min_open=True),
    metavar="P",
    help="Stop as soon as one player is better, with this probability of error at most.",
)
@click.option(
    "--min-tests",
    type=WholeNumber(1),
    default=DEFAULT_MIN_GAMES,
    show_default=True,
    metavar="N",
    help="With --significance: play at least N games.",
)
@click.option("--start-server", is_flag=True, help="Use a server of its own; none has to be installed.")
@click.option("--server", metavar="FILE", help="Accepted without effect: the server is that of spielleiter.")
@click.option(
    "-h", "--host", default=DEFAULT_HOST, show_default=True, metavar="HOST", help="Host of the running server."
)
@click.option(
    "-p",
    "--port",
    type=WholeNumber(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    metavar="PORT",
    help="Port of the running server; without effect with --start-server, where every game has ports of its own.",
)
@admin_password_option("Password for administrators there", show_default=False)
@click.option("--loglevel", default="INFO", show_default=True, metavar="LEVEL", help="The lowest level to print.")
@edition_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for all files of the games.  [default: a new one in log, named after date and time]",
)
def test_client(out: Path | None, **options: Any) -> None:
    """Let two players play many games, with the options and the output of the organisers' test-client.jar.

    Instead of `java -jar test-client.jar --start-server --tests 4 --player1 ...`, write `spielleiter test-client
    --start-server --tests 4 --player1 ...`. The lines and the table of scores are the same; after them follow the
    accuracy of the result (±), and the report of `spielleiter match`, which has more options.

    A value after an option that takes none is ignored, as there. Without --start-server the games are played on the
    server at --host and --port.

    The exit code is 0 if the games were played, 2 for misuse, 4 if the server or the machine failed, or if no game
    counts, 5 if a player cannot play at all, and 130 if it was interrupted.
    """
    from spielleiter.match.plan import Entrant
    from spielleiter.match.preparation import prepare_match
    from spielleiter.match.records import save_setup

    level = options["loglevel"].upper()
    threshold = LEVELS.index(level) if level in LEVELS else LEVELS.index("INFO")

    def write(level: str, text: str) -> None:
        if LEVELS.index(level) >= threshold:
            for line in log_line(level, text, datetime.now().astimezone()).split("\n"):
                click.echo(escaped(line))

    if level not in LEVELS:
        write("WARN", f"{options['loglevel']} is not a valid LogLevel!")
    names = options["name1"], options["name2"]
    if names[0] == names[1]:
        write("WARN", "Both players have the same name, adding suffixes!")
        names = f"{names[0]}-1", f"{names[1]}-2"
    edition = chosen_edition(options["game"], options["edition"])
    entrants = []
    for number, name in enumerate(names, 1):
        command = options[f"player{number}"] or DEFAULT_PLAYER
        if command == DEFAULT_PLAYER and not Path(command).is_file():
            raise Misuse(f"--player{number} is missing, and there is no {DEFAULT_PLAYER} in this folder")
        is_unlimited = options["no_timeout"] or options[f"no_timeout{number}"] or options[f"timeout{number}"] is False
        entrants.append(Entrant(name, command, can_timeout=not is_unlimited))
    setup = prepare_match(
        entrants[0],
        entrants[1],
        games=options["tests"],
        game_type=edition.game_type,
        edition=None if options["edition"] is None else edition.name,
        server=None if options["start_server"] else (options["host"], options["port"]),
        password=options["password"],
        significance=options["significance"],
        min_games=options["min_tests"],
    )
    folder = out or Path("log", f"test-client_{datetime.now().astimezone():%Y-%m-%dT%H%M%S}")
    save_setup(folder, setup.to_json())
    scores = Scores(setup.names, setup.games, edition.dialect.score_definition, write)
    play_and_exit("test-client", lambda: _play(setup, folder, scores, write), None, folder / "summary.json")


def _play(setup: MatchSetup, folder: Path, scores: Scores, write: Callable[[str, str], None]) -> int:
    """Play the games, print the scores, and return the exit code."""
    from spielleiter.match.runner import Conditions, EndReason, play_and_report

    conditions = prepare_machine(Conditions())
    write("INFO", f"Players: [{', '.join(map(_described, setup.entrants))}]")
    write("INFO", "Starting clients")
    with usable_journal(folder) as journal:
        result = run_async(lambda: play_and_report(setup, folder, journal, scores, conditions))
    better = result.summary.better
    if result.end is EndReason.DECIDED and better is not None:
        write("WARN", f"{setup.names[better]} is significantly better!")
    scores.finish()
    for line in accuracy_lines(result.summary):
        print_line(line)
    print_line(f"report: {folder / 'report.html'}")
    if result.end is EndReason.UNFIT:
        show_unfit(setup, folder, result.records)
    return exit_code_of_games(result.end, result.records, frozenset())
