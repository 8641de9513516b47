"""Codes, passwords and links let in who has them, and nobody else; guessing is slow."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from sqlalchemy import Connection

from spielleiter.league.accounts import (
    IDLE_SECONDS,
    Accounts,
    end_session,
    find_session,
    is_form_token,
    must_touch,
    new_setup_code,
    new_spectator_link,
    remove_spectator_link,
    touch_session,
)
from spielleiter.league.codes import ALPHABET, new_code
from spielleiter.league.errors import RefusedError
from spielleiter.league.settings import load_settings
from spielleiter.league.teams import remove_team, renew_code
from tests.league.leagues import NOON, League

PASSWORD = "korrekt pferd batterie"


@pytest.fixture
def accounts(league: League) -> Accounts:
    return Accounts(league.database)


def test_codes_can_be_told_and_typed() -> None:
    code = new_code().text
    assert [len(group) for group in code.split("-")] == [4, 4, 4, 4]
    assert not set("01IO") & set(ALPHABET)
    assert len(ALPHABET) ** 12 >= 2**60


async def test_a_team_logs_in_with_its_code_however_it_is_typed(league: League, accounts: Accounts) -> None:
    team = league.add_team("Hasen")
    code = league.codes["Hasen"]
    for typed in (code, code.lower(), code.replace("-", " "), f"  {code.replace('-', '')}\n"):
        new = await accounts.log_in_team("10.0.0.1", typed, NOON)
        assert new is not None
        assert (new.session.role, new.session.team_id) == ("team", team)
        assert league(find_session, new.token, NOON) == new.session


async def test_a_wrong_code_is_refused(league: League, accounts: Accounts, autojump_clock: trio.abc.Clock) -> None:
    league.add_team("Hasen")
    code = league.codes["Hasen"]
    wrong = code[:-1] + ("A" if code[-1] != "A" else "B")
    for typed in (wrong, code[:4], "", "x" * 1000, "'; DROP TABLE teams; --", new_code().text, "\udcff"):
        assert await accounts.log_in_team("10.0.0.1", typed, NOON) is None


async def test_guessing_becomes_slow_and_lets_the_right_one_in(
    league: League, accounts: Accounts, autojump_clock: trio.abc.Clock
) -> None:
    league.add_team("Hasen")
    begin = trio.current_time()
    for _ in range(40):
        assert await accounts.log_in_team("10.0.0.1", new_code().text, NOON) is None
    assert trio.current_time() - begin > 60.0
    begin = trio.current_time()
    assert await accounts.log_in_team("10.0.0.2", league.codes["Hasen"], NOON) is not None
    assert trio.current_time() - begin < 1.0


async def test_the_first_password_needs_the_code_from_the_terminal(
    league: League, accounts: Accounts, autojump_clock: trio.abc.Clock
) -> None:
    assert await accounts.log_in_teacher("10.0.0.1", "", NOON) is None
    code = league(new_setup_code)
    assert code is not None
    assert await accounts.set_up("10.0.0.1", new_code().text, PASSWORD, NOON, load_settings) is None
    with pytest.raises(RefusedError):
        await accounts.set_up("10.0.0.1", code, "kurz", NOON, load_settings)

    def fail(_db: Connection) -> None:
        raise RefusedError("name-taken", "Den Namen gibt es schon.", "The name is taken.")

    with pytest.raises(RefusedError):
        await accounts.set_up("10.0.0.1", code, PASSWORD, NOON, fail)
    begun = await accounts.set_up("10.0.0.1", code, PASSWORD, NOON, load_settings)
    assert begun is not None
    new = begun[0]
    assert new.session.role == "teacher"
    assert await accounts.set_up("10.0.0.1", code, "ein anderes passwort", NOON, load_settings) is None
    assert league(new_setup_code) is None
    assert await accounts.log_in_teacher("10.0.0.1", PASSWORD, NOON) is not None
    assert await accounts.log_in_teacher("10.0.0.1", PASSWORD + " ", NOON) is None


async def test_another_password_ends_the_sessions_with_the_old_one(
    league: League, accounts: Accounts, autojump_clock: trio.abc.Clock
) -> None:
    code = league(new_setup_code)
    assert code is not None
    begun = await accounts.set_up("10.0.0.1", code, PASSWORD, NOON, load_settings)
    assert begun is not None
    old = begun[0]
    assert await accounts.change_password("10.0.0.1", "falsch geraten", "neues passwort", NOON) is None
    new = await accounts.change_password("10.0.0.1", PASSWORD, "neues passwort", NOON)
    assert new is not None
    assert league(find_session, old.token, NOON) is None
    assert league(find_session, new.token, NOON) == new.session


async def test_a_new_code_or_a_removed_team_shuts_out(
    league: League, accounts: Accounts, autojump_clock: trio.abc.Clock
) -> None:
    team = league.add_team("Hasen")
    old = league.codes["Hasen"]
    session = await accounts.log_in_team("10.0.0.1", old, NOON)
    assert session is not None
    code = league(renew_code, team, NOON)
    assert league(find_session, session.token, NOON) is None
    assert await accounts.log_in_team("10.0.0.1", old, NOON) is None
    session = await accounts.log_in_team("10.0.0.1", code, NOON)
    assert session is not None
    league(remove_team, team, NOON)
    assert league(find_session, session.token, NOON) is None
    assert await accounts.log_in_team("10.0.0.1", code, NOON) is None


async def test_the_link_of_spectators_can_be_taken_back(
    league: League, accounts: Accounts, autojump_clock: trio.abc.Clock
) -> None:
    assert await accounts.log_in_spectator("10.0.0.1", "", NOON) is None
    link = league(new_spectator_link, NOON)
    new = await accounts.log_in_spectator("10.0.0.1", link, NOON)
    assert new is not None
    assert (new.session.role, new.session.team_id) == ("spectator", None)
    league(remove_spectator_link, NOON)
    assert league(find_session, new.token, NOON) is None
    assert await accounts.log_in_spectator("10.0.0.1", link, NOON) is None


async def test_a_session_ends_when_it_is_left_or_not_used(league: League, accounts: Accounts) -> None:
    league.add_team("Hasen")
    left = await accounts.log_in_team("10.0.0.1", league.codes["Hasen"], NOON)
    used = await accounts.log_in_team("10.0.0.1", league.codes["Hasen"], NOON)
    assert left is not None
    assert used is not None
    league(end_session, left.token)
    assert league(find_session, left.token, NOON) is None
    late = NOON + IDLE_SECONDS["team"]
    assert not must_touch(used.session, NOON + 1)
    assert must_touch(used.session, late)
    league(touch_session, used.token, late)
    assert league(find_session, used.token, late + 1) is not None
    assert league(find_session, used.token, late + IDLE_SECONDS["team"] + 1) is None
    assert league(find_session, "\udcff" * 50, NOON) is None
    assert league(find_session, "x" * 10_000, NOON) is None


async def test_a_form_needs_the_token_of_its_session(league: League, accounts: Accounts) -> None:
    league.add_team("Hasen")
    first = await accounts.log_in_team("10.0.0.1", league.codes["Hasen"], NOON)
    second = await accounts.log_in_team("10.0.0.1", league.codes["Hasen"], NOON)
    assert first is not None
    assert second is not None
    assert is_form_token(first.session, first.session.form_token)
    for wrong in (second.session.form_token, "", "\udcff"):
        assert not is_form_token(first.session, wrong)


async def test_the_oldest_of_too_many_sessions_ends(league: League, accounts: Accounts) -> None:
    league.add_team("Hasen")
    league.add_team("Igel")
    other = await accounts.log_in_team("10.0.0.1", league.codes["Igel"], NOON)
    new = [await accounts.log_in_team("10.0.0.1", league.codes["Hasen"], NOON + each) for each in range(22)]
    alive = [each is not None and league(find_session, each.token, NOON + 30) is not None for each in new]
    assert alive == [False] * 2 + [True] * 20
    assert other is not None
    assert league(find_session, other.token, NOON + 30) is not None
