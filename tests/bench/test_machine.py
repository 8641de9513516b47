from __future__ import annotations

from pathlib import Path

from bench.machine import _processor, describe_machine


def test_a_machine_has_a_name_for_everything() -> None:
    machine = describe_machine()
    assert set(machine) == {"processor", "cores", "kernel", "python", "server", "trio", "lxml", "msgspec"}
    assert all(machine.values())


def test_the_processor_is_the_first_one_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel name\t: Some CPU: fast\nmodel name\t: Another\n")
    assert _processor(path) == "Some CPU: fast"
    assert _processor(tmp_path / "nothing")
