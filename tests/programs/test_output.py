"""Output files: a time before each line, and a limit."""

from __future__ import annotations

from pathlib import Path

from spielleiter.programs.outputs import OUTPUT_LIMIT, Output


def test_each_line_has_one_time_even_if_it_arrives_in_pieces(tmp_path: Path) -> None:
    output = Output(tmp_path / "out")
    output.open()
    output.write(b"one\ntw", 1.5)
    output.write(b"o\nthree\n", 2.0)
    output.close()
    assert (tmp_path / "out").read_bytes() == b"    1.500  one\n    1.500  two\n    2.000  three\n"


def test_output_beyond_the_limit_is_cut_and_the_file_says_so(tmp_path: Path) -> None:
    output = Output(tmp_path / "out")
    output.open()
    for _ in range(20):
        output.write(b"x" * (OUTPUT_LIMIT // 10), 0.0)
    output.close()
    text = (tmp_path / "out").read_bytes()
    assert OUTPUT_LIMIT <= len(text) < 1.2 * OUTPUT_LIMIT
    assert text.endswith(b"\n(the rest was not kept)\n")


def test_the_next_file_begins_with_a_new_line(tmp_path: Path) -> None:
    output = Output(tmp_path / "one")
    output.open()
    output.write(b"begun", 0.0)
    output.redirect_to(tmp_path / "two")
    output.write(b"next\n", 1.0)
    output.close()
    assert (tmp_path / "one").read_bytes() == b"    0.000  begun"
    assert (tmp_path / "two").read_bytes() == b"    1.000  next\n"


def test_the_file_of_a_paused_output_can_be_removed_and_the_next_file_is_written(tmp_path: Path) -> None:
    output = Output(tmp_path / "one")
    output.open()
    output.write(b"kept\n", 0.0)
    output.pause()
    output.write(b"dropped\n", 0.0)
    (tmp_path / "one").rename(tmp_path / "old")  # Windows refuses this for an open file
    output.redirect_to(tmp_path / "two")
    output.write(b"next\n", 1.0)
    output.close()
    assert (tmp_path / "old").read_bytes() == b"    0.000  kept\n"
    assert (tmp_path / "two").read_bytes() == b"    1.000  next\n"


def test_an_output_that_is_closed_while_it_is_paused_stays_closed(tmp_path: Path) -> None:
    output = Output(tmp_path / "one")
    output.open()
    output.pause()
    output.close()
    output.redirect_to(tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_nothing_is_written_after_close(tmp_path: Path) -> None:
    output = Output(tmp_path / "one")
    output.open()
    output.close()
    output.redirect_to(tmp_path / "two")
    output.write(b"late", 0.0)
    assert not (tmp_path / "two").exists()
