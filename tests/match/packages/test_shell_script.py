"""What a shell script starts, and what is not there."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given

from spielleiter.match.packages.archive import open_archive
from spielleiter.match.packages.inspection import inspect_package
from spielleiter.match.packages.shell_script import ScriptWalk, unwrapped
from spielleiter.match.packages.shell_words import parse_script
from tests.match.packages.binaries import jar, java_class
from tests.match.packages.making import shell, zipped
from tests.match.packages.test_shell_words import SCRIPTS

FILES: dict[str, bytes | str] = {
    "bot.py": "",
    "player": "x",
    "lib/run.sh": "",
    "lib/bot.jar": jar(),
    "out/Main.class": java_class(),
    "app/__main__.py": "",
    "tool.rb": "",
}


def walked(text: str, tmp_path: Path) -> tuple[list[str], list[str]]:
    """The codes that a script causes, and the files that it starts, each with the interpreter."""
    path = tmp_path / "player.zip"
    path.write_bytes(zipped(FILES))
    with open_archive(path) as archive:
        walk = ScriptWalk(archive, PurePosixPath("start.sh"), PurePosixPath())
        walk.walk(parse_script(f'{text}\n: "$@"'))
    return [each.code for each in walk.findings], [f"{each.path}: {each.by.value}" for each in walk.starts]


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("python3 -u -X dev bot.py", "bot.py: Python"),
        ("exec /usr/bin/python3.11 ./bot.py", "bot.py: Python"),
        ("python3 app", "app/__main__.py: Python"),
        ("python3 -m app", "app/__main__.py: python -m"),
        ("python3 -m bot", "bot.py: python -m"),
        ("FOO=1 env BAR=2 nice -n 5 bash -e lib/run.sh", "lib/run.sh: a shell"),
        (". lib/run.sh", "lib/run.sh: a shell"),
        ("cd lib; java -Xmx1g -jar bot.jar", "lib/bot.jar: java -jar"),
        ("java -cp out Main", "out/Main.class: java -jar"),
        ("cd out && java Main", "out/Main.class: java -jar"),
        ("java lib/bot.jar", "lib/bot.jar: the system"),
        ("ruby tool.rb", "tool.rb: another interpreter"),
        ("chmod +x player; ./player", "player: the system"),
        ("chmod 755 *; ./player", "player: the system"),
        ("chmod -R u+x lib; lib/run.sh", "lib/run.sh: the system"),
        ("chmod a+rx $FILE; ./player", "player: the system"),
        ('B=player; chmod +x "$B"; "$PWD/$B"', "player: the system"),
    ],
)
def test_what_is_started_is_known(text: str, started: str, tmp_path: Path) -> None:
    assert walked(text, tmp_path) == ([], [started])


@pytest.mark.parametrize(
    "text",
    [
        "python3 $BOT",
        "python3 -c 'import x'",
        "python3 -m http.server",
        "python3",
        "ruby -v",
        "bash -c './missing'",
        "/opt/missing",
        "cd /tmp; ./missing",
        "cd $DIR; ./missing",
        "cd $DIR; python3 -m bot",
        "cd; ./missing",
        "tar xf a.tar; ./missing; cd missing; java missing.jar",
        "mkdir -p a/b; cd a/b",
        "mkdir $A; cd a",
        "touch x.py; python3 x.py",
        "echo 1 > x.py; python3 x.py",
        "echo 1 > $A; python3 x.py",
        "if x; then ./missing; cd missing; player; java Missing; fi",
        "test -f x && ./missing",
        "unset JAR; java -cp $JAR Main",
        "java -cp lib/bot.jar:out Main2",
        "java -version",
        "java -p mods -m app/Main",
        "java -jar",
        "$RUN x",
        "exec > log",
    ],
)
def test_what_is_not_certain_is_accepted(text: str, tmp_path: Path) -> None:
    assert walked(text, tmp_path) == ([], [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("./missing", "missing-file"),
        ("java missing.jar", "missing-file"),
        ("java Missing.java", "missing-file"),
        ("export JAR=x; java -jar $JAR", "missing-file"),
        ("echo > /dev/null; python3 Bot.py", "missing-file"),
        ("cd lib; ./player", "missing-file"),
        ("cd missing", "missing-folder"),
        ("java -cp out:. Missing", "missing-class"),
        ("player", "missing-dot-slash"),
        ("chmod 644 player; ./player", "not-executable"),
        ("chmod +x other; ./player", "not-executable"),
    ],
)
def test_what_is_certain_is_a_fault(text: str, code: str, tmp_path: Path) -> None:
    codes, _ = walked(text, tmp_path)
    assert codes == [code]


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        ("exec env A=1 nice -n 5 timeout 10 ./bot -x", "./bot -x"),
        ("./bot A=1", "./bot A=1"),
        ("nohup", ""),
    ],
)
def test_wrappers_are_left_out(words: str, rest: str) -> None:
    assert unwrapped(words.split()) == rest.split()


@pytest.mark.slow
@given(SCRIPTS)
def test_any_script_can_be_followed(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "player.zip")
        path.write_bytes(shell(text, {"b": "x"}))
        inspect_package(path)
