"""The contest's conditions, and what each sandbox says about them."""

from __future__ import annotations

import pytest

from spielleiter.programs.sandbox.plain import PlainSandbox
from spielleiter.programs.sandbox.sandbox import SENTENCES, Condition, Sandbox
from tests.programs.sandbox.sandboxes import KINDS, make_sandbox


def test_each_condition_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Condition)
    assert all(text.endswith(".") and "\n" not in text for text in SENTENCES.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_condition_is_kept_or_has_a_reason(kind: str) -> None:
    check(make_sandbox(kind))


def check(sandbox: Sandbox) -> None:
    assert sandbox.kept | set(sandbox.gaps) == set(Condition)
    assert not sandbox.kept & set(sandbox.gaps)
    assert all(text.endswith(".") and "\n" not in text for text in sandbox.gaps.values())


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("darwin", "arm64"), ("linux", "aarch64")])
def test_other_systems_keep_less(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)  # from Python 3.12 on, it calls Windows there
    sandbox = PlainSandbox("There is no bubblewrap.")
    check(sandbox)
    assert Condition.PLATFORM in sandbox.gaps
    limited = {Condition.MEMORY, Condition.PROCESSES, Condition.PROCESSOR}
    assert limited & set(sandbox.gaps) == (limited if system == "darwin" else set())  # Windows has Job Objects
    assert (Condition.DISPLAY in sandbox.gaps) == (system != "linux")
    assert sandbox.gaps[Condition.NETWORK].endswith("There is no bubblewrap.")
