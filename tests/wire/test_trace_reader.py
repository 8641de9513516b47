"""The bytes of a conversation are restored from its trace; transcripts of official servers are read as well."""

from __future__ import annotations

import gzip
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.server.tracing import FROM_SERVER, TO_SERVER
from spielleiter.wire import trace_reader as recording_module
from spielleiter.wire.conversation import TRACE_LIMITS, Conversation
from spielleiter.wire.trace_reader import CUT, PASSWORD, Recording, RecordingError, read_recordings
from tests.shared import SHARED, needs_shared

TEXT = st.binary(max_size=60) | st.text(alphabet="<>/ab= '\"\n\r\t\\(){}|:+~!#ü小\x1b", max_size=60).map(str.encode)


def written(folder: Path, *sent: tuple[str, bytes], name: str = "trace.txt") -> Path:
    """A trace of these bytes."""
    lines: list[str] = []
    talk = Conversation(
        "c1", (f"began {datetime(2026, 1, 1, tzinfo=UTC).isoformat()}",), 0.0, TRACE_LIMITS, lines.append
    )
    for instant, (direction, data) in enumerate(sent):
        talk.add(direction, float(instant), data)
    talk.close(float(len(sent)))
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def sent_by(recording: Recording, *, is_client: bool) -> bytes:
    return b"".join(step.data for step in recording.steps if step.is_to_server is is_client)


@given(st.lists(st.tuples(st.sampled_from([TO_SERVER, FROM_SERVER]), TEXT.filter(bool)), min_size=1, max_size=6))
def test_every_byte_is_restored(tmp_path_factory: pytest.TempPathFactory, sent: list[tuple[str, bytes]]) -> None:
    recording = read_recordings([written(tmp_path_factory.getbasetemp(), *sent)])
    for direction, is_client in ((TO_SERVER, True), (FROM_SERVER, False)):
        assert sent_by(recording, is_client=is_client) == b"".join(data for each, data in sent if each == direction)


def test_a_password_is_a_mark(tmp_path: Path) -> None:
    recording = read_recordings([written(tmp_path, (TO_SERVER, b'<protocol><authenticate password="geheim"/>'))])
    assert recording.steps[1].data == b'<authenticate password="' + PASSWORD + b'"/>'


def test_several_files_are_one_sequence(tmp_path: Path) -> None:
    one = written(tmp_path, (TO_SERVER, b"<protocol>"), (TO_SERVER, b"<join/>"), name="one.txt")
    two = tmp_path / "two.txt"
    later = one.read_text(encoding="utf-8").replace("T00:00:00", "T00:00:00.500000")
    two.write_bytes(gzip.compress(later.encode()))
    recording = read_recordings([two, one])
    assert recording.connections == ["2:c1", "1:c1"]
    assert [(step.connection, step.instant) for step in recording.steps] == [
        ("2:c1", 0.0),
        ("1:c1", 0.5),
        ("2:c1", 1.0),
        ("1:c1", 1.5),
    ]


def test_what_is_missing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "cut.txt"
    path.write_text(
        "   0.000000   +0.000  c1     ->  <a>\n"
        "                                ~ 17 bytes\n"
        "                                ! wrong\n"
        "   0.000000   +0.000  c1     !!  a note: <b>\n"
        "                                | more of it\n"
        "# cut: too long; what follows was not recorded\n",
        encoding="utf-8",
    )
    recording = read_recordings([path])
    assert [(step.data, step.left_out, step.event, step.text) for step in recording.steps] == [
        (b"<a>", 17, "", ""),
        (b"", 0, "!!", "a note: <b>"),
        (b"", 0, CUT, "too long; what follows was not recorded"),
    ]


def test_a_packet_before_missing_bytes_may_be_incomplete(tmp_path: Path) -> None:
    lines = ("<-  <a>", "->  <b/>", "!!  note", "<- ~ 5 bytes", "<-  <c/>", "<- ~ 6 bytes", "<- ~ 7 bytes")
    path = tmp_path / "trace.txt"
    path.write_text("".join(f"   0.000000   +0.000  c1     {line}\n" for line in lines), encoding="utf-8")
    steps = read_recordings([path]).steps
    assert [step.data for step in steps if step.may_be_incomplete] == [b"<a>", b"<c/>"]


@pytest.mark.slow
def test_a_long_packet_takes_no_long_time(tmp_path: Path) -> None:
    """If each line copied those before it, this would take minutes."""
    path = tmp_path / "trace.txt"
    path.write_text("   0.000000   +0.000  c1     ->  <a>\n" + 8_000 * (" " * 20 + "|" + "x" * 2000 + "\n"))
    (step,) = read_recordings([path]).steps
    assert len(step.data) == 3 + 8_000 * 2001


def test_a_compressed_file_of_several_parts_or_one_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt.gz"
    line = b"   0.100000   +0.100  c1     ->  <a/>\n"
    path.write_bytes(gzip.compress(line) + gzip.compress(line) + bytes(10))
    assert len(read_recordings([path]).steps) == 2
    path.write_bytes(gzip.compress(line)[:-4])
    with pytest.raises(RecordingError, match=r"cannot be read \(the compressed file is cut off\)"):
        read_recordings([path])


def test_a_transcript(tmp_path: Path) -> None:
    path = tmp_path / "case.txt"
    path.write_text(
        "# a case of release 27.0.4\n"
        "    0.000  admin  ->  (connects)\n"
        "    0.001  admin  ->  <protocol>\\n  <join/>\\xff\n"
        "    0.004  p1     <-  \\n  <left/>\r\n"
        "    0.005  p1     <-  (still open at the end)\n",
        encoding="utf-8",
    )
    steps = read_recordings([path]).steps
    assert [(step.connection, step.data, step.event) for step in steps] == [
        ("admin", b"", "(connects)"),
        ("admin", b"<protocol>\n  <join/>\xff", ""),
        ("p1", b"\n  <left/>", ""),
        ("p1", b"", "(still open at the end)"),
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not a trace of `serve --trace` or `proxy --trace`, or a transcript (it has no packet)"),
        (b"hello\n", "line 1: is not a line of a trace (`serve --trace`, `proxy --trace`) or of a transcript: 'hello'"),
        (b"\xff\xfe", "is not a trace of `serve --trace` or `proxy --trace`, or a transcript (not UTF-8)"),
        (b"\x1f\x8b broken", "cannot be read"),
        (b"# began yesterday\n", "line 1: 'yesterday' is no time"),
        (b"                                | more\n", "line 1: is not a line"),
        (b"9" * 400 + b".0 +0.000 c1 ->  <a/>\n", "line 1: is not a line"),
        (b"   0.1   +0.1  c1     -> ~" + b"9" * 5000 + b" bytes\n", "line 1: is not a number of bytes"),
    ],
)
def test_a_file_that_is_no_recording(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    with pytest.raises(RecordingError) as error:
        read_recordings([path])
    assert problem in str(error.value)


@needs_shared
@pytest.mark.slow
def test_all_transcripts_of_official_servers_can_be_read() -> None:
    assert SHARED is not None
    files = sorted((SHARED / "transcripts").rglob("*.txt*"))
    assert len(files) > 100
    for path in files:
        assert any(step.data for step in read_recordings([path]).steps) or path.stem == "nothing"


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_compressed: bool) -> None:
    monkeypatch.setattr(recording_module, "MOST_BYTES", 1000)
    path = tmp_path / "trace.txt"
    for size, is_refused in ((1000, False), (1001, True)):
        line = b"   0.100000   +0.100  c1     ->  <a/>"
        content = line + b" " * (size - len(line))
        path.write_bytes(gzip.compress(content) if is_compressed else content)
        if is_refused:
            with pytest.raises(RecordingError, match="it is larger than"):
                read_recordings([path])
        else:
            assert len(read_recordings([path]).steps) == 1


def test_a_short_line_that_stands_for_very_many_bytes_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_module, "MOST_BYTES", 1_000_000)
    path = tmp_path / "trace.txt"
    path.write_text("   0.100000   +0.100  c1     -> +" + 20_000 * " " + 5000 * "<a/> ", encoding="utf-8")
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError, match="line 1: is more than"):
            read_recordings([path])
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_files_that_are_missing_or_have_no_time(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        read_recordings([tmp_path / "missing.txt"])
    path = tmp_path / "transcript.txt"
    path.write_text("    0.000  c     ->  <a/>\n", encoding="utf-8")
    with pytest.raises(RecordingError, match="has no line `# began`"):
        read_recordings([path, path])


def test_lines_that_together_stand_for_too_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each blank between two elements stands for a line feed and the indentation of the line."""
    monkeypatch.setattr(recording_module, "MOST_BYTES", 10_000)
    path = tmp_path / "trace.txt"
    joined = 100 * " " + 60 * "<a/> "
    path.write_text(f"   0.100000   +0.100  c1     -> +{joined}\n{32 * ' '}+{joined}\n", encoding="utf-8")
    with pytest.raises(RecordingError, match="line 2: is more than"):
        read_recordings([path])
