"""Reading the kernel's network counters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spielleiter.programs.sandbox.run import count_attempts

SNMP = "Ip: Forwarding OutDiscards OutNoRoutes ReasmOKs\nIp: 1 2 {} 4\nIcmp: InMsgs\nIcmp: 5\n"
SNMP6 = "Ip6InReceives                   \t7\nIp6OutNoRoutes                  \t{}\n"


@pytest.mark.parametrize(
    ("contents", "count"),
    [
        ([SNMP.format(3), SNMP6.format(4)], 7),
        ([SNMP.format(0)], 0),
        ([SNMP6.format(2)], 2),
        (["", "nonsense\n"], None),
        (["Ip: Forwarding\nIp: 1\n"], None),
        ([], None),
    ],
)
def test_both_families_are_added(contents: list[str], count: int | None, tmp_path: Path) -> None:
    descriptors = []
    for number, content in enumerate(contents):
        (tmp_path / str(number)).write_text(content)
        descriptors.append(os.open(tmp_path / str(number), os.O_RDONLY))
    try:
        assert count_attempts(descriptors) == count
        assert count_attempts(descriptors) == count  # they can be read again
    finally:
        for each in descriptors:
            os.close(each)
    assert count_attempts(descriptors) is None  # closed
