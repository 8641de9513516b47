"""The public names of `spielleiter.client`, and what `help` shows of them."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import spielleiter.client
from spielleiter.client import errors

FOLDER = Path(spielleiter.client.__file__).parent
PUBLIC: dict[str, Any] = {name: getattr(spielleiter.client, name) for name in spielleiter.client.__all__}


def test_every_error_is_public() -> None:
    assert [name for name in vars(errors) if name.endswith("Error") and name not in spielleiter.client.__all__] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'spielleiter.client' has no attribute 'play'$"):
        spielleiter.client.play  # noqa: B018 - raises
    assert set(spielleiter.client.__all__) <= set(dir(spielleiter.client))


def test_importing_the_package_loads_none_of_its_modules() -> None:
    roots = ("spielleiter.client.", "trio", "lxml")
    code = f"import sys, spielleiter.client; print([name for name in sys.modules if name.startswith({roots})])"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["AdminClient", "Player", "SyncAdminClient", "SyncObservation", "Observation"])
def test_the_help_shows_no_internals(name: str) -> None:
    shown = pydoc.plain(pydoc.render_doc(PUBLIC[name]))
    assert " at 0x" not in shown
    assert "See help(type(self))" not in shown
    assert "Dialect(" not in shown
    assert re.findall(r"^ \|  (?:async )?(_(?!_)\w+|put_nowait|end)\(", shown, re.MULTILINE) == []
    assert max(len(line) for line in shown.splitlines() if " -> " not in line) <= 120
