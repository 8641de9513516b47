"""What `from spielleiter.match import ...` provides."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spielleiter.match
from spielleiter.common import errors


def test_every_error_is_public() -> None:
    defined = [name for name in vars(errors) if name.endswith("Error")]
    assert [name for name in defined if name not in spielleiter.match.__all__] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'spielleiter.match' has no attribute 'play'$"):
        spielleiter.match.play  # noqa: B018 - not there
    assert set(spielleiter.match.__all__) <= set(dir(spielleiter.match))
    assert all(hasattr(spielleiter.match, name) for name in spielleiter.match.__all__)


def test_importing_the_package_alone_imports_nothing_of_it() -> None:
    roots = ("spielleiter.match.", "spielleiter.server.", "trio", "lxml")
    code = f"import sys, spielleiter.match; print([name for name in sys.modules if name.startswith({roots})])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
