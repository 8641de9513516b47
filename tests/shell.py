"""A shell that runs the commands of the documents as they are shown.

In it, `spielleiter` is the real command, with the port of a server that runs in this process, and `java`, `jq`,
`python` and `python3` exist on every machine: `java` plays as a built-in player, `jq` knows the filters that the
documents use. `logic.py` stands for a player with the official Python package, whose builder needs the package index:
it takes the builder's options and writes a ZIP with the entries and the start script that the builder writes.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.background import BackgroundServer, background_server
from tests.documents import Block, blocks
from tests.interpreter import PACKAGES
from tests.match.players import LIGHT, listening_players
from tests.programs.packages.official_packages import python_package
from tests.timeouts import HANG_TIMEOUT

SPIELLEITER = """\
#!/bin/bash
# spielleiter with the port of the test's server; `serve` and `league` are stopped as soon as they listen, matches have
# two games, time limits are so long that a busy machine does not reach them, no browser is opened, and what another
# machine's league is needed for only has the right options
real=({python} -P -m spielleiter)
case "$1 $*" in
serve\\ *--port*) exec "${{real[@]}}" "$@" ;;
serve\\ *)
    shift
    ports={folder}/listening.$$
    "${{real[@]}}" serve --port 0 --port-file "$ports" "$@" &
    until [[ -s $ports ]]; do kill -0 $! || exit 9; sleep 0.05; done
    kill $!
    wait $!
    ;;
league\\ *)
    shift
    "${{real[@]}}" league "$@" --port 0 --helpers-port 0 >{folder}/league.log 2>&1 &
    until grep --quiet "is the league" {folder}/league.log; do kill -0 $! || break; sleep 0.05; done
    kill $!
    wait $! || true
    cat {folder}/league.log
    ;;
upload\\ *|help-league\\ *)
    command=${{1/-/_}}
    shift
    import="from spielleiter.cli.$command import $command as command"
    {python} -P -c "import sys; $import; command.make_context('', sys.argv[1:])" "$@"
    ;;
play\\ *) shift; exec "${{real[@]}}" play --port {port} "$@" ;;
admin\\ *) name=$2; shift 2; exec "${{real[@]}}" admin "$name" --port {port} "$@" ;;
match\\ *--resume*) exec "${{real[@]}}" "$@" ;;
match\\ *--live*) exec "${{real[@]}}" "$@" --no-browser -n 2 --seed 1 {long_limits} ;;
match\\ *) exec "${{real[@]}}" "$@" -n 2 --seed 1 {long_limits} ;;
check\\ *) exec "${{real[@]}}" "$@" --start-timeout {start_timeout} {long_limits} ;;
replay\\ *--*) exec "${{real[@]}}" "$@" ;;
replay\\ *) exec "${{real[@]}}" "$@" --text ;;
demo\\ *|tournament\\ *|--version\\ *) exec "${{real[@]}}" "$@" ;;
esac
"""

JQ = """\
import functools, json, re, sys
value = json.load(sys.stdin)
for key, index in re.findall(r"\\.(\\w+)|\\[(\\d+)\\]", sys.argv[-1]):
    value = None if value is None else value[key or int(index)]
print(value if isinstance(value, str) else json.dumps(value))
"""


JAVA = """\
# java -jar NAME.jar, with the options that a match adds; a match, which starts its programs often, gets a light one
shift 2
case " $* " in
*" -p "*) exec {light_player} first "$@" ;;
*) exec spielleiter play --strategy first "$@" ;;
esac
"""

BUILDER = """\
import argparse, pathlib, shutil
parser = argparse.ArgumentParser()
parser.add_argument("--build", action="store_true", required=True)
for name in ("--directory", "--architecture", "--python-version"):
    parser.add_argument(name, required=True)
folder = pathlib.Path("socha_builds", "2026-11-24_11-12-16")
folder.mkdir(parents=True)
shutil.copy({built!r}, folder / (parser.parse_args().directory + ".zip"))
"""


class Shell:
    """Runs commands of the documents in `folder`, which contains the files that the documents mention."""

    def __init__(self, folder: Path, server: BackgroundServer) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir()
        limit = round(HANG_TIMEOUT * 1000)
        values = {
            "python": shlex.quote(sys.executable),
            "light_player": LIGHT,
            "folder": shlex.quote(str(programs)),
            "port": server.port,
            "start_timeout": HANG_TIMEOUT,
            "long_limits": f"--soft-timeout {limit} --hard-timeout {limit}",
        }
        (programs / "jq.py").write_text(JQ)
        run_jq = 'exec {python} {folder}/jq.py "$@"\n'
        run_python = 'exec {python} "$@"\n'
        for name, text in {
            "spielleiter": SPIELLEITER,
            "jq": run_jq,
            "python3": run_python,
            "python": run_python,
            "java": JAVA,
        }.items():
            lead = "" if text.startswith("#!") else "#!/bin/sh\n"
            (programs / name).write_text(lead + text.format(**values))
            (programs / name).chmod(0o755)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")},
            "SPIELLEITER_RECENT_GAMES": "0",
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": PACKAGES,
        }
        (tiny,) = blocks("docs/getting-started.md", "python", "A client in ten lines")
        (folder / "tiny.py").write_text(tiny.text.replace("13050", str(server.port)), encoding="utf-8")
        (player,) = blocks("docs/getting-started.md", "python", "A player as a Python function")
        (folder / "my_player.py").write_text(player.text.replace("13050", str(server.port)), encoding="utf-8")
        german_player, better_strategy = blocks("docs/de/lektion-1.md", "python")
        text = with_function(german_player.text, better_strategy.text).replace("13050", str(server.port))
        (folder / "mein_spieler.py").write_text(text, encoding="utf-8")
        (options,) = blocks("docs/de/lektion-4.md", "python")
        (folder / "spieler.py").write_text(with_options(tiny.text, options.text), encoding="utf-8")
        (programs / "built.zip").write_bytes(python_package("", {}))
        (folder / "logic.py").write_text(BUILDER.format(built=str(programs / "built.zip")), encoding="utf-8")
        (folder / "start.sh").write_text('#!/bin/sh\nexec python3 spieler.py "$@"\n', encoding="utf-8")
        for name in ("new.jar", "old.jar", "my-player.jar", "anna.jar", "neu.jar", "alt.jar", "mein-spieler.jar"):
            (folder / name).touch()
        (folder / "ben.py").write_text((folder / "my_player.py").read_text(encoding="utf-8"), encoding="utf-8")
        for document, name in (("README.md", "class.toml"), ("README.de.md", "klasse.toml")):
            (programs_file,) = blocks(document, "toml")
            self.write_tournament(programs_file, name)

    def write_tournament(self, block: Block, name: str) -> None:
        """Write the programs of a tournament: two games for each pair, and time limits that are not reached."""
        limit = round(HANG_TIMEOUT * 1000)
        text = re.sub(r"games = \d+", f"games = 2\nsoft_timeout = {limit}\nhard_timeout = {limit}", block.text)
        (self.folder / name).write_text(text, encoding="utf-8")

    def start(self, script: str) -> subprocess.Popen[str]:
        """Start a script, with its errors among its output, in a process group of its own."""
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script + "\nwait\n"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str) -> str:
        """Run a script, which must succeed, and return its output and errors."""
        started = self.start(script)
        output = end_of(started)
        assert started.returncode == 0, output
        return output


def with_options(player: str, options: str) -> str:
    """The player in ten lines, with the two lines replaced that `docs/de/lektion-4.md` says to replace by `options`."""
    lines = player.splitlines()
    (first,) = [index for index, line in enumerate(lines) if line.startswith("server = ")]
    assert lines[first + 1].startswith("server.sendall(b")
    return "\n".join([*lines[:first], *options.splitlines(), *lines[first + 2 :], ""])


def with_function(program: str, function: str) -> str:
    """The program with its function `strategy` replaced, as `docs/de/lektion-1.md` says."""
    before, _, after = program.partition("def strategy(state):\n")
    return before + function + after[after.index("\n\n\n") :]


def end_of(started: subprocess.Popen[str]) -> str:
    """Wait for the end of a process and return its output; if it hangs, kill it and all processes it has started."""
    try:
        return started.communicate(timeout=HANG_TIMEOUT)[0]
    except subprocess.TimeoutExpired:
        if sys.platform == "win32":
            started.kill()
        else:
            os.killpg(started.pid, signal.SIGKILL)
        return started.communicate()[0]


@contextmanager
def shell(folder: Path, **settings: object) -> Iterator[tuple[Shell, BackgroundServer]]:
    """Start a server with these settings, and yield a shell for it and the server."""
    with listening_players(), background_server(**settings) as server:
        yield Shell(folder, server), server


def saved_game(folder: Path) -> bytes:
    """Play a whole game at a server that saves it in `folder`, and return the replay."""
    with background_server(replay_directory=folder) as server:
        server.add_player()
        server.run("play", "-s", "first")
        server.wait_for("replay_saved")
    (path,) = folder.glob("*.xml")
    return path.read_bytes()
