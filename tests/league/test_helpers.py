"""The PCs that may run programs are kept with the hash of their secret, and can be shut out."""

from __future__ import annotations

import pytest

from spielleiter.league.errors import RefusedError
from spielleiter.league.helpers import (
    add_helper,
    get_helper,
    list_helpers,
    note_seen,
    revoke_helper,
    set_runs_without_sandbox,
)
from tests.league.leagues import NOON, League


def test_a_helper_is_kept_until_it_is_revoked(league: League) -> None:
    helper = league(add_helper, " Raum 7  PC 3 ", "a" * 64, NOON)
    assert (helper.name, helper.is_revoked, helper.last_seen_at, helper.platform) == ("Raum 7 PC 3", False, None, None)
    league(note_seen, helper.id, {"system": "Windows"}, NOON + 5)
    league(set_runs_without_sandbox, helper.id, True, NOON)
    league(revoke_helper, helper.id, NOON)
    found = league(get_helper, helper.id)
    assert (found.is_revoked, found.runs_without_sandbox, found.platform) == (True, True, {"system": "Windows"})
    assert league(list_helpers) == [found]


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "a\x1b[31m", "RAUM 7"])
def test_a_name_that_would_confuse_is_refused(league: League, name: str) -> None:
    league(add_helper, "Raum 7", "a" * 64, NOON)
    with pytest.raises(RefusedError):
        league(add_helper, name, "b" * 64, NOON)
