"""Starting a real package with its options in every order and form."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from spielleiter.contest import package_check as option_check
from spielleiter.contest.check import ATTEMPTS
from spielleiter.contest.package_check import OptionResult, option_forms, try_option_forms
from spielleiter.contest.package_games import PackageCheckSetup
from spielleiter.contest.scripted_server import InconclusiveError
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.programs.packages.package import unpack_package
from spielleiter.programs.processes import find_processes
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.packages import SOUND, Planted, make_package
from tests.programs.sandbox.sandboxes import make_sandbox
from tests.timeouts import HANG_TIMEOUT

VALUES = {"host": "gameserver", "port": "13050", "reservation": "590e"}


def test_all_orders_of_the_short_options_come_first() -> None:
    forms = option_forms()[:6]
    assert forms[0].text() == "-h HOST -p PORT -r CODE"
    assert len({each.text() for each in forms}) == 6
    assert all(sorted(each.arguments(VALUES)[::2]) == ["-h", "-p", "-r"] for each in forms)
    assert not any(each.is_long for each in forms)


def test_long_options_follow() -> None:
    forms = option_forms()[6:]
    assert forms[0].arguments(VALUES) == ["--reservation", "590e", "--host", "gameserver", "--port", "13050"]
    assert all(each.is_long for each in forms)
    assert forms[-1].text() == "--port PORT -r CODE -h HOST"


def test_every_form_gives_each_option_its_own_value() -> None:
    for form in option_forms(["--level", "3"]):
        words = form.arguments(VALUES, ["--level", "3"])
        given = {words[index].lstrip("-")[0]: words[index + 1] for index in range(0, len(words), 2)}
        assert given == {"h": "gameserver", "p": "13050", "r": "590e", "l": "3"}


def test_further_parameters_come_first_or_last() -> None:
    *others, last = option_forms(["fast"])
    assert all(each.text(["fast"]).startswith("fast -") for each in others)
    assert last.text(["fast"]) == "-h HOST -p PORT -r CODE fast"
    assert len(others) == len(option_forms())


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("python_on_the_path")]

PATIENT = ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT)


async def try_forms(
    folder: Path, planted: Planted, kind: str = NONE, parameters: tuple[str, ...] = ()
) -> tuple[tuple[OptionResult, ...], list[str]]:
    path = make_package(folder / "player.zip", planted)
    package = unpack_package(path, folder / "program", parameters=parameters)
    setup = PackageCheckSetup(path, DEFAULT_GAME_TYPE, parameters=parameters, patience=PATIENT)
    told: list[str] = []
    with trio.fail_after(HANG_TIMEOUT):
        results = await try_option_forms(setup, package, make_sandbox(kind), folder / "out", told.append)
    assert [each for each in find_processes("") if str(folder) in str(each)] == []
    return results, told


def use_forms(monkeypatch: pytest.MonkeyPatch, *indices: int) -> None:
    """Try only these forms, to save time."""
    monkeypatch.setattr(
        option_check, "option_forms", lambda parameters: [option_forms(parameters)[index] for index in indices]
    )


def codes(results: tuple[OptionResult, ...]) -> list[str]:
    return [each.finding.code for each in results if each.finding is not None]


@pytest.mark.parametrize("kind", [NONE, BUBBLEWRAP])
async def test_a_sound_program_accepts_every_form(kind: str, tmp_path: Path) -> None:
    results, told = await try_forms(tmp_path, SOUND, kind, ("fast", "--level", "3"))
    assert codes(results) == []
    assert len(results) == len(told) == 10
    assert all(each.seconds is not None and not each.is_undecided for each in results)
    assert told[-1] == "options as -h HOST -p PORT -r CODE fast --level 3"


async def test_options_by_position_fail_in_another_order(tmp_path: Path) -> None:
    """The remaining orders are not tried; the long options are, and fail as well."""
    by_position = Planted(start="assert sys.argv[1:6:2] == ['-h', '-p', '-r'], 'expected -h -p -r'")
    results, _ = await try_forms(tmp_path, by_position)
    assert codes(results) == ["option-order", "option-names"]
    assert results[0].finding is None
    assert len(results) == 3
    first, second = (each.finding for each in results if each.finding is not None)
    assert "as -h HOST -r CODE -p PORT" in first.text
    assert "its last words: AssertionError: expected -h -p -r" in first.text
    assert "as --reservation CODE --host HOST --port PORT" in second.text
    assert "AssertionError" in (tmp_path / "out" / first.file / "stderr.log").read_text()


async def test_parameters_are_tried_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_forms(monkeypatch, 0, -1)
    first = Planted(start="assert sys.argv[1] == 'fast', 'the level comes first'")
    results, _ = await try_forms(tmp_path, first, parameters=("fast",))
    assert codes(results) == ["parameter-order"]


async def test_a_join_without_the_code_is_noticed(tmp_path: Path) -> None:
    plain = Planted(
        start="""
        server = socket.create_connection((options["host"], int(options["port"])))
        server.sendall(b"<protocol><join/>")
        server.recv(1)
        time.sleep(600)
        """
    )
    results, _ = await try_forms(tmp_path, plain)
    assert set(codes(results)) == {"plain-join"}


async def test_a_busy_machine_leaves_a_form_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = 0
    use_forms(monkeypatch, 0)

    async def late(_server: object) -> None:
        nonlocal attempts
        attempts += 1
        raise InconclusiveError("nobody connected in 30 s; 20 s of it waiting for a processor")

    monkeypatch.setattr("spielleiter.contest.scripted_server.ScriptedServer.wait_for_connection", late)
    results, _ = await try_forms(tmp_path, SOUND)
    assert codes(results) == []
    assert [each.is_undecided for each in results] == [True]
    assert attempts == ATTEMPTS
