"""Commands that cannot work in the contest."""

from __future__ import annotations

import pytest

from spielleiter.match.packages.shell_advice import advice
from spielleiter.match.packages.shell_words import parse_script


def codes(text: str) -> list[str]:
    return [each.code for each in advice("start.sh", parse_script(text))]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("sudo ./bot", "sudo"),
        ("nice /usr/bin/apt-get -y install x", "package-manager"),
        ("conda install x", "package-manager"),
        ("yarn", "package-manager"),
        ("pip3.11 install x", "pip-install"),
        ("python3 -m pip install -U x", "pip-install"),
        ("wget x", "download"),
        ("git pull", "download"),
        ("./gradlew run", "build-at-start"),
        ("cargo build --release", "build-at-start"),
        ("go run .", "build-at-start"),
        ("javac Main.java", "build-at-start"),
        ("xvfb-run ./bot", "window"),
        ("DISPLAY=:1 ./bot", "window"),
        ("./bot --display $DISPLAY", "window"),
        ("./bot --host=127.0.0.1 -p 1", "fixed-host"),
        ("./bot 'localhost:1'", "fixed-host"),
        ("./bot --port=13050", "fixed-port"),
        ("BOOK=C:/x ./bot", "windows-path"),
        ("./bot /Users/anna/x", "home-path"),
        ("cls", "windows-command"),
        ("run.bat", "windows-command"),
        ("a\n./bot &", "background-start"),
    ],
)
def test_what_cannot_work_is_found(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "# sudo pip install x",
        "echo localhost 13050 C:\\x /home/anna",
        "if x; then sudo pip install x; fi",
        "pip install --no-index x",
        "pip --version",
        "npm start",
        "npm run bot",
        "git --version",
        "go version",
        "cargo --version",
        "HOST=${HOST:-localhost}",
        "./bot /homework/x a:b",
        "./bot &\nwait",
        "(./bot &)",
        "cat <<E\nsudo $DISPLAY\nE",
    ],
)
def test_what_may_work_is_accepted(text: str) -> None:
    assert codes(text) == []


def test_a_fault_is_reported_once() -> None:
    assert codes("sudo a\nsudo b\n./c localhost localhost 13050") == ["sudo", "fixed-host", "fixed-port"]
