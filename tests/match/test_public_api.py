"""What `from spielleiter.match import ...` provides."""

from __future__ import annotations

import subprocess
import sys

import spielleiter.match
from spielleiter.common import errors


def test_every_error_and_every_name_is_public() -> None:
    assert {name for name in vars(errors) if name.endswith("Error")} <= set(spielleiter.match.__all__)
    assert all(hasattr(spielleiter.match, name) for name in spielleiter.match.__all__)
    assert not hasattr(spielleiter.match, "play")
    assert set(spielleiter.match.__all__) <= set(dir(spielleiter.match))


def test_importing_the_package_alone_imports_nothing_of_it() -> None:
    roots = ("spielleiter.match.", "spielleiter.server.", "trio", "lxml")
    code = f"import sys, spielleiter.match; print([name for name in sys.modules if name.startswith({roots})])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
