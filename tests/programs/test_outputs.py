"""What programs write: files of limited size, the reason of an end, windows that could not be opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spielleiter.programs.outputs import (
    MAX_LENGTH,
    MAX_WINDOW_LINES,
    OUTPUT_LIMIT,
    Output,
    find_exception,
    find_window_attempts,
    last_words,
    read_tail,
)
from spielleiter.protocol.thinking import LONGEST_LINE


@pytest.fixture
def output(tmp_path: Path) -> Iterator[Output]:
    output = Output(tmp_path / "one")
    output.open()
    yield output
    output.close()


def test_each_line_has_one_time_even_if_it_arrives_in_pieces(output: Output, tmp_path: Path) -> None:
    output.write(b"one\ntw", 1.5)
    output.write(b"o\nbegun", 2.0)
    output.redirect_to(tmp_path / "two")
    output.write(b"next\n", 3.0)
    assert (tmp_path / "one").read_bytes() == b"    1.500  one\n    1.500  two\n    2.000  begun"
    assert (tmp_path / "two").read_bytes() == b"    3.000  next\n"
    assert output.total == 18


def test_a_listener_gets_what_is_kept(output: Output) -> None:
    heard: list[bytes] = []
    output.write(b"before", 0.0)
    output.listener = heard.append
    output.write(b"one", 0.0)
    output.write(b"x" * OUTPUT_LIMIT, 0.0)
    output.write(b"too much", 0.0)
    output.pause()
    output.write(b"dropped", 0.0)
    assert heard == [b"one", b"x" * OUTPUT_LIMIT]


def test_what_a_program_thinks_is_not_its_last_words(tmp_path: Path) -> None:
    stamp, text = 9 * " " + "  ", 2000 * "x"
    for line in ('{"thinking": 1, "value": -5}', f'  {{"text": "{text}", "thinking": 1}}'):
        (tmp_path / "words").write_text(f"{stamp}giving up\n{stamp}{line}\n")
        assert last_words(tmp_path / "words") == "giving up"
    for line in ('["thinking"]', f'{{"thinking": "{LONGEST_LINE * "x"}"}}'):  # ordinary output
        (tmp_path / "words").write_text(f"{stamp}giving up\n{stamp}{line}\n")
        assert last_words(tmp_path / "words") == line[:MAX_LENGTH]


def test_a_lazy_output_makes_its_file_and_folder_with_the_first_byte(tmp_path: Path) -> None:
    output = Output(tmp_path / "none" / "one", is_lazy=True)
    output.write(b"too early\n", 0.0)
    output.open()
    output.redirect_to(tmp_path / "some" / "two")
    assert not list(tmp_path.iterdir())
    output.write(b"next\n", 1.0)
    output.pause()
    output.write(b"dropped\n", 1.0)
    output.redirect_to(tmp_path / "none" / "three")
    output.close()
    output.write(b"too late\n", 1.0)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*/*")} == {"two": b"    1.000  next\n"}


def test_output_beyond_the_limit_is_cut_and_the_file_says_so(output: Output, tmp_path: Path) -> None:
    for _ in range(20):
        output.write(b"x" * (OUTPUT_LIMIT // 10), 0.0)
    text = (tmp_path / "one").read_bytes()
    assert OUTPUT_LIMIT <= len(text) < 1.2 * OUTPUT_LIMIT
    assert text.endswith(b"\n(the rest was not kept)\n")


def test_the_file_of_a_paused_output_can_be_removed_and_the_next_file_is_written(
    output: Output, tmp_path: Path
) -> None:
    output.write(b"kept\n", 0.0)
    output.pause()
    output.write(b"dropped\n", 0.0)
    (tmp_path / "one").rename(tmp_path / "old")  # Windows refuses this for an open file
    output.redirect_to(tmp_path / "two")
    output.write(b"next\n", 1.0)
    assert (tmp_path / "old").read_bytes() == b"    0.000  kept\n"
    assert (tmp_path / "two").read_bytes() == b"    1.000  next\n"


@pytest.mark.parametrize("is_paused", [False, True])
def test_nothing_is_written_after_close(is_paused: bool, output: Output, tmp_path: Path) -> None:
    if is_paused:
        output.pause()
    output.close()
    output.redirect_to(tmp_path / "two")
    output.write(b"late", 0.0)
    assert not (tmp_path / "two").exists()


JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no move for
this position
	at Bot.move(Bot.java:2)
	at Bot.main(Bot.java:5)
"""
JAVA_CAUSE = """\
Exception in thread "main" java.lang.RuntimeException: cannot read the state
	at Bot.main(Bot.java:7)
Caused by: java.lang.NumberFormatException: For input string: "x1"
	at java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)
	at java.base/java.lang.Integer.parseInt(Integer.java:668)
	... 1 more
"""
JAVA_CAUSE_MESSAGE = (
    "java.lang.RuntimeException: cannot read the state; "
    'caused by java.lang.NumberFormatException: For input string: "x1"'
)
JAVA_STACK = 'Exception in thread "main" java.lang.StackOverflowError\n' + 1024 * "\tat Bot.deep(Bot.java:3)\n"
JAVA_CLASS = """\
Error: Could not find or load main class Nope
Caused by: java.lang.ClassNotFoundException: Nope
"""
PYTHON = """\
Traceback (most recent call last):
  File "/home/u/bot.py", line 5, in f
    try: {}["a"]
         ~~^^^^^
KeyError: 'a'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/u/bot.py", line 7, in <module>
    f()
ValueError: no legal move
in this round
"""
PYTHON_GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/home/u/bot.py", line 7, in <module>
  |     f()
  | ExceptionGroup: unhandled errors (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/u/bot.py", line 9, in g
    | ValueError: lost
    +---------------- 2 ----------------
    | ExceptionGroup: x (1 sub-exception)
    +-+---------------- 1 ----------------
      | KeyError: 'a'
      +------------------------------------
"""
PYTHON_SYNTAX = """\
  File "/home/u/bot.py", line 1
    print(
         ^
SyntaxError: '(' was never closed
"""
RUST = """\

thread 'main' (21404) panicked at src/main.rs:1:128:
index out of bounds: the len is 0 but the index is 1
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
RUST_MESSAGE = (
    "thread 'main' (21404) panicked at src/main.rs:1:128: index out of bounds: the len is 0 but the index is 1"
)
RUST_OLD = """\
thread 'main' panicked at 'no legal move', src/main.rs:2:5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
GO = """\
panic: runtime error: index out of range [1] with length 0

goroutine 1 [running]:
main.main()
	/home/u/bot.go:3 +0x5c
exit status 2
"""
GO_DEADLOCK = "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n" + "\n".join(
    f"main.worker{number}()\n\t/home/u/bot.go:{number} +0x18" for number in range(40)
)
CPP = """\
terminate called after throwing an instance of 'std::runtime_error'
  what():  no legal move
"""
RUBY = """\
bot.rb:1:in `move': no legal move (RuntimeError)
	from bot.rb:4:in `go'
	from bot.rb:6:in `<main>'
"""
RUBY_NEW = """\
bot.rb:1:in 'Object#move': no legal move (RuntimeError)
	from bot.rb:6:in '<main>'
"""
NODE_EVENT = """\
node:events:502
      throw er; // Unhandled 'error' event
      ^

Error: connect ECONNREFUSED 127.0.0.1:1
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)
Emitted 'error' event on Socket instance at:
    at emitErrorNT (node:internal/streams/destroy:169:8)
    at process.processTicksAndRejections (node:internal/process/task_queues:82:21) {
  errno: -111,
  code: 'ECONNREFUSED'
}

Node.js v20.20.2
"""
DOTNET = """\
Unhandled exception. System.InvalidOperationException: no legal move
   at Bot.Main(String[] args) in /home/u/Bot.cs:line 5
"""


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (JAVA, "java.lang.IllegalStateException: no move for"),
        (JAVA_CAUSE, JAVA_CAUSE_MESSAGE),
        (JAVA_CLASS, "Error: Could not find or load main class Nope"),
        (PYTHON, "ValueError: no legal move"),
        (PYTHON_GROUP, "ValueError: lost"),
        (RUST, RUST_MESSAGE),
        (RUST_OLD, "thread 'main' panicked at 'no legal move', src/main.rs:2:5"),
        (GO, "panic: runtime error: index out of range [1] with length 0"),
        (GO_DEADLOCK, "fatal error: all goroutines are asleep - deadlock!"),
        (CPP, "terminate called after throwing an instance of 'std::runtime_error': no legal move"),
        (
            "bot: bot.cpp:3: int main(int, char**): Assertion `c < 2' failed.\n",
            "bot: bot.cpp:3: int main(int, char**): Assertion `c < 2' failed.",
        ),
        (RUBY, "bot.rb:1:in `move': no legal move (RuntimeError)"),
        (RUBY_NEW, "bot.rb:1:in 'Object#move': no legal move (RuntimeError)"),
        (NODE_EVENT, "Error: connect ECONNREFUSED 127.0.0.1:1"),
        (DOTNET, "System.InvalidOperationException: no legal move"),
        # outputs without an exception
        (PYTHON_SYNTAX, None),
        ("thinking\ngoodbye\n", None),
        ("panic: so I said\n", None),
        ("\tat the end\n", None),
        (JAVA + "thinking\n" * 20, "java.lang.IllegalStateException: no move for"),
        (JAVA + "thinking\n" * 21, None),  # long before the end: it is not the reason
    ],
)
def test_the_exception_is_found(output: str, message: str | None) -> None:
    assert find_exception(output.split("\n")) == message


def output_file(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_bytes("".join(f"{0.5:9.3f}  {line}\n" for line in text.splitlines()).encode())
    return file


def test_last_words_are_an_exception_in_either_output_or_else_the_last_line(tmp_path: Path) -> None:
    error = output_file(tmp_path, "error", "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n")
    out = output_file(tmp_path, "out", JAVA)
    plain = output_file(tmp_path, "plain", "one\n two \n\n")
    empty = output_file(tmp_path, "empty", "")
    long = output_file(tmp_path, "long", "Traceback (most recent call last):\nValueError: " + "long\t" * 100)
    assert last_words(error, out) == "java.lang.IllegalStateException: no move for"
    assert last_words(error, plain) == "Picked up JAVA_TOOL_OPTIONS: -Xmx1g"
    assert last_words(empty, plain) == "two"
    assert last_words(empty, tmp_path / "missing") == ""
    assert last_words(output_file(tmp_path, "stack", JAVA_STACK)) == "java.lang.StackOverflowError"
    assert len(last_words(long)) == MAX_LENGTH
    assert "\t" not in last_words(long)


def test_only_complete_lines_at_the_end_of_a_long_file_are_read(tmp_path: Path) -> None:
    file = output_file(tmp_path, "error", "one\ntwo\nthree")
    assert read_tail(file, 20) == ["three", ""]
    assert read_tail(file) == ["one", "two", "three", ""]


TEXTS = [
    'Exception in thread "main" java.awt.HeadlessException:',
    "No X11 DISPLAY variable was set, but this program performed an operation which requires it.",
    "java.lang.UnsupportedOperationException: Unable to open DISPLAY",
    "_tkinter.TclError: no display name and no $DISPLAY environment variable",
    '_tkinter.TclError: couldn\'t connect to display ":0"',
    "(bot:12): Gtk-WARNING **: 10:00:00.000: cannot open display: ",
    "qt.qpa.xcb: could not connect to display ",
    "pygame.error: No available video device",
    "GLFWError: (65544) b'X11: The DISPLAY environment variable is missing'",
    'pyglet.display.xlib.NoSuchDisplayException: Cannot connect to "None"',
]
HARMLESS = ["I display the board:", "DISPLAY is not needed", "java.awt.headless=true", "pygame 2.5.2 (SDL 2.28.2)"]


def test_the_errors_of_toolkits_are_known(tmp_path: Path) -> None:
    error = output_file(tmp_path, "error", "\n".join(HARMLESS + TEXTS + TEXTS))
    assert find_window_attempts(tmp_path / "missing", error) == tuple(" ".join(text.split()) for text in TEXTS)
    many = output_file(tmp_path, "many", "".join(f"cannot open display: {number // 2}\n" for number in range(100)))
    assert find_window_attempts(many) == tuple(f"cannot open display: {i}" for i in range(MAX_WINDOW_LINES))
