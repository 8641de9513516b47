"""`python -m tools.season COMMAND`: what helps to add a season; docs/adding-a-season.md has the order of the steps."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import click

from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tools.season.build import build as build_release
from tools.season.compare import compare as compare_recordings
from tools.season.diff import recording_differences, rule_differences, source_differences
from tools.season.forms import form_differences, forms_as_markdown, read_forms
from tools.season.oracle import play_games
from tools.season.our_player import OurPlayer
from tools.season.record import record as record_release
from tools.season.release import Release, ReleaseError
from tools.season.rules import open_rules
from tools.season.samples import pick_samples
from tools.season.skeleton import skeleton

_FOLDER = click.Path(file_okay=False, path_type=Path)
_RELEASE = click.argument("release", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.group()
def season() -> None:
    """Official servers as a reference for a season: build one, ask its rules, record what it says, compare two."""


@season.command()
@click.argument("repository", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("tag")
@click.argument("out", type=_FOLDER)
@click.option("--compiler", type=_FOLDER, help="Folder for the Kotlin compiler.  [default: beside OUT]")
def build(repository: Path, tag: str, out: Path, compiler: Path | None) -> None:
    """Compile server and player of TAG from a clone of software-challenge/backend into the folder OUT.

    Takes about two minutes. Needs Java 17 and some libraries of Debian, which it names.
    """
    out.mkdir(parents=True, exist_ok=True)
    release = build_release(repository, tag, out, compiler or out.resolve().parent / "kotlin", click.echo)
    click.echo(f"{release.folder / 'serve'} PORT starts the server, {release.folder / 'play'} --port PORT a player")


@season.command()
@_RELEASE
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--games", type=click.IntRange(1), default=200, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option(
    "--starts", type=click.File(encoding="utf-8"), help="Begin with these states, one in a line, as on the wire."
)
def oracle(release: Path, out: Path, games: int, seed: int, starts: Iterable[str] | None) -> None:
    """Play games by the rules of RELEASE, and write positions, legal moves, verdicts and results to OUT (.jsonl.gz)."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with open_rules(Release(release)) as rules, gzip.open(out, "wt", encoding="utf-8") as file:
        for line in play_games(rules, games, seed, list(starts or ())):
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            if line.get("end"):
                click.echo(f"game {line['game']}: {line['ply']} plies, {line['reason']}, winner {line['winner']}")


@season.command()
@_RELEASE
@click.argument("depth", type=click.IntRange(1))
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def perft(release: Path, depth: int, seed: int) -> None:
    """Count the sequences of 1 to DEPTH moves from a start drawn from the seed."""
    with open_rules(Release(release)) as rules:
        rules.start(seed)
        click.echo(" ".join(map(str, rules.perft(depth))))


@season.command()
@_RELEASE
@click.argument("out", type=_FOLDER)
@click.option("--games", type=click.IntRange(0), default=20, show_default=True, help="Whole games beside the cases.")
@click.option("--wrong", type=click.IntRange(0), default=40, show_default=True, help="Games with an illegal move.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--only", default="", help="Conversations whose name begins with this.")
@click.option("--player", nargs=2, metavar="EDITION STRATEGY", help="Whole games: ours is TWO, the release's ONE.")
def record(
    release: Path, out: Path, games: int, wrong: int, seed: int, only: str, player: tuple[str, str] | None
) -> None:
    """Hold conversations with the server of RELEASE, and write transcripts of them into the folder OUT."""
    record_release(
        Release(release),
        out,
        whole_games=games,
        wrong_moves=wrong,
        seed=seed,
        only=only,
        say=click.echo,
        player=(lambda seed: OurPlayer(_edition(player[0]), player[1], seed).move) if player else None,
    )


def _edition(name: str) -> Edition:
    if name not in EDITIONS:
        raise click.BadParameter(f"{name} is none of our editions: {', '.join(EDITIONS)}")
    return EDITIONS[name]


@season.command()
@click.argument("edition")
@click.argument("recordings", type=click.Path(exists=True, file_okay=False, path_type=Path))
def compare(edition: str, recordings: Path) -> None:
    """Replay RECORDINGS of an official server against our EDITION, and print where the answers differ."""
    for line in compare_recordings(_edition(edition), recordings):
        click.echo(line)


@season.command()
@click.argument("recordings", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=_FOLDER)
def samples(recordings: Path, out: Path) -> None:
    """Write one packet of each kind in RECORDINGS into the folder OUT, a file for each."""
    out.mkdir(parents=True, exist_ok=True)
    for name, packet in pick_samples(recordings):
        (out / f"{name}.xml").write_bytes(packet)
        click.echo(f"{name}.xml")


@season.command()
@_RELEASE
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def forms(release: Path, as_json: bool) -> None:
    """Print the wire form of RELEASE: elements and attributes in their order, texts, constants."""
    with open_rules(Release(release)) as rules:
        found = read_forms(rules)
    click.echo(json.dumps(found, ensure_ascii=False, indent=1) if as_json else "\n".join(forms_as_markdown(found)))


@season.command()
@click.argument("old", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("new", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--repository", type=_FOLDER, help="A clone of software-challenge/backend: compare the sources, too.")
@click.option("--oracle", type=click.Path(path_type=Path), help="An oracle of OLD: compare the rules, too.")
@click.option("--recordings", type=_FOLDER, nargs=2, help="Recordings of OLD and NEW with the same seed.")
def diff(
    old: Path, new: Path, repository: Path | None, oracle: Path | None, recordings: tuple[Path, Path] | None
) -> None:
    """Print what changed from the release OLD to the release NEW (folders of `build`)."""
    releases = Release(old), Release(new)
    found = []
    for release in releases:
        with open_rules(release) as rules:
            found.append(read_forms(rules))
    _print("Forms, texts and constants", form_differences(*found))
    if repository:
        _print("Sources", source_differences(repository, releases[0].version, releases[1].version))
    if oracle:
        with open_rules(releases[1]) as rules:
            _print("Rules", rule_differences(oracle, rules))
    if recordings:
        _print("Conversations", recording_differences(*recordings))


def _print(title: str, lines: Iterable[str]) -> None:
    click.echo(f"\n## {title}\n")
    for line in list(lines) or ["nothing"]:
        click.echo(f"- {line}")


season.add_command(skeleton)


def main() -> None:
    """Run a command; what a person can mend is one line."""
    try:
        season()
    except ReleaseError as error:
        raise SystemExit(f"season: {error}") from None


if __name__ == "__main__":
    main()
