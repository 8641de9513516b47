"""The public names of `spielleiter.client`, and what `help` shows of them."""

from __future__ import annotations

import pydoc
import re
from typing import Any

import pytest

import spielleiter.client
from spielleiter.client import client_errors

PUBLIC: dict[str, Any] = {name: getattr(spielleiter.client, name) for name in spielleiter.client.__all__}


def test_every_error_is_public() -> None:
    assert [
        name for name in vars(client_errors) if name.endswith("Error") and name not in spielleiter.client.__all__
    ] == []


@pytest.mark.parametrize("name", ["AdminClient", "Player", "SyncAdminClient", "SyncObservation", "Observation"])
def test_the_help_shows_no_internals(name: str) -> None:
    shown = pydoc.plain(pydoc.render_doc(PUBLIC[name]))
    assert " at 0x" not in shown
    assert "See help(type(self))" not in shown
    assert "Dialect(" not in shown
    assert re.findall(r"^ \|  (?:async )?(_(?!_)\w+|put_nowait|end)\(", shown, re.MULTILINE) == []
    assert max(len(line) for line in shown.splitlines() if " -> " not in line) <= 120
