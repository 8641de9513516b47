"""The description of the machine, and what the benchmark needs of it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

import spielleiter.bench.machine
from spielleiter.bench.machine import describe_machine, missing_requirement


def test_the_first_processor_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(spielleiter.bench.machine, "CPU_INFO", path)
    assert describe_machine()["processor"]
    path.write_text("processor\t: 0\nmodel name\t: Some CPU: fast\nmodel name\t: Another\n")
    assert describe_machine()["processor"] == "Some CPU: fast"


@pytest.mark.parametrize(
    ("where", "name", "missing"),
    [
        ("sys", "platform", "the bench needs Linux"),
        ("select", "epoll", "the bench needs select.epoll"),
        ("os", "sched_getaffinity", "the bench needs os.sched_getaffinity"),
        ("socket", "create_server", "connections to 127.0.0.1, which are not possible here (Operation not permitted)"),
    ],
)
def test_what_is_missing_is_named(where: str, name: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if name == "platform":
        monkeypatch.setattr(f"{where}.{name}", "win32")
    elif name == "create_server":
        monkeypatch.setattr(f"{where}.{name}", forbidden)
    else:
        monkeypatch.delattr(f"{where}.{name}")
    assert missing in (missing_requirement() or "")
