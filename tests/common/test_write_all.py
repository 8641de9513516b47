"""All bytes are written even if each call takes only some of them; a full file is an error."""

from __future__ import annotations

import errno

import pytest

from spielleiter.common.files import write_all, written_parts


class ShortWrites:
    """Takes at most `limits[n]` bytes in its n-th call, and everything in later calls."""

    def __init__(self, *limits: int | None) -> None:
        self.limits = list(limits)
        self.content = b""

    def write(self, data: memoryview) -> int | None:
        limit = self.limits.pop(0) if self.limits else len(data)
        if limit is not None:
            self.content += data[:limit]
            limit = min(limit, len(data))
        return limit


def test_bytes_that_are_taken_in_parts_are_written_in_order() -> None:
    file = ShortWrites(1, 3)
    assert list(written_parts(file.write, b"abcdefgh")) == [1, 3, 4]
    assert file.content == b"abcdefgh"
    write_all(file.write, b"ij")
    assert file.content == b"abcdefghij"


@pytest.mark.parametrize("nothing", [0, None])
def test_a_file_that_takes_nothing_is_full(nothing: int | None) -> None:
    file = ShortWrites(2, nothing)
    with pytest.raises(OSError, match="No space left on device") as full:
        write_all(file.write, b"abc")
    assert (full.value.errno, file.content) == (errno.ENOSPC, b"ab")


def test_no_bytes_need_no_call() -> None:
    write_all(ShortWrites(0).write, b"")
