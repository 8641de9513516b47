"""What programs write: files of limited size, the reason of an end, windows that could not be opened."""

from __future__ import annotations

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


JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no legal move
	at Bot.move(Bot.java:2)
	at Bot.main(Bot.java:5)
"""
JAVA_LINES = """\
Exception in thread "main" java.lang.IllegalStateException: no move for
this position
	at Bot.main(Bot.java:6)
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
JAVA_CAUGHT = """\
connecting
java.lang.NumberFormatException: For input string: "x1"
	at java.base/java.lang.Integer.parseInt(Integer.java:786)
	at Bot.main(Bot.java:10)
giving up
"""
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
RUST_BACKTRACE = """\
thread 'main' (21404) panicked at src/main.rs:1:73:
no legal move
stack backtrace:
   0: std::panicking::begin_panic::<&str>
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:761:5
   1: b::main
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
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
RUBY_HIGHLIGHT = """\
bot.rb:3:in `go': undefined method `foo' for nil:NilClass (NoMethodError)

  nil.foo if ARGV[0]
     ^^^^
	from bot.rb:6:in `<main>'
"""
RUBY_NEW = """\
bot.rb:1:in 'Object#move': no legal move (RuntimeError)
	from bot.rb:6:in '<main>'
"""
NODE = """\
/home/u/bot.js:1
function move() { throw new TypeError("no legal move"); }
                  ^

TypeError: no legal move
    at move (/home/u/bot.js:1:25)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
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
        (JAVA, "java.lang.IllegalStateException: no legal move"),
        (JAVA_LINES, "java.lang.IllegalStateException: no move for"),
        (
            JAVA_CAUSE,
            JAVA_CAUSE_MESSAGE,
        ),
        (JAVA_CAUGHT, 'java.lang.NumberFormatException: For input string: "x1"'),
        (JAVA_STACK, "java.lang.StackOverflowError"),
        (JAVA_CLASS, "Error: Could not find or load main class Nope"),
        (PYTHON, "ValueError: no legal move"),
        (PYTHON_GROUP, "ValueError: lost"),
        (RUST, RUST_MESSAGE),
        (RUST_BACKTRACE, "thread 'main' (21404) panicked at src/main.rs:1:73: no legal move"),
        (RUST_OLD, "thread 'main' panicked at 'no legal move', src/main.rs:2:5"),
        (GO, "panic: runtime error: index out of range [1] with length 0"),
        (GO_DEADLOCK, "fatal error: all goroutines are asleep - deadlock!"),
        (CPP, "terminate called after throwing an instance of 'std::runtime_error': no legal move"),
        ("terminate called after throwing an instance of 'int'\n",
         "terminate called after throwing an instance of 'int'"),
        ("bot: bot.cpp:3: int main(int, char**): Assertion `c < 2' failed.\n",
         "bot: bot.cpp:3: int main(int, char**): Assertion `c < 2' failed."),
        ("libc++abi: terminating due to uncaught exception of type std::runtime_error: no legal move\n",
         "libc++abi: terminating due to uncaught exception of type std::runtime_error: no legal move"),
        (RUBY, "bot.rb:1:in `move': no legal move (RuntimeError)"),
        (RUBY_HIGHLIGHT, "bot.rb:3:in `go': undefined method `foo' for nil:NilClass (NoMethodError)"),
        (RUBY_NEW, "bot.rb:1:in 'Object#move': no legal move (RuntimeError)"),
        (NODE, "TypeError: no legal move"),
        (NODE_EVENT, "Error: connect ECONNREFUSED 127.0.0.1:1"),
        (DOTNET, "System.InvalidOperationException: no legal move"),
        # outputs without an exception
        (PYTHON_SYNTAX, None),
        ("thinking\ngoodbye\n", None),
        ("panic: so I said\n", None),
        ("\tat the end\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_exception_is_found(output: str, message: str | None) -> None:
    assert find_exception(output.split("\n")) == message


def test_an_exception_long_before_the_end_is_not_the_reason() -> None:
    assert find_exception([*JAVA.split("\n"), *["thinking"] * 20]) == "java.lang.IllegalStateException: no legal move"
    assert find_exception([*JAVA.split("\n"), *["thinking"] * 21]) is None


def output_file(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_bytes("".join(f"{0.5:9.3f}  {line}\n" for line in text.splitlines()).encode())
    return file


def test_last_words_are_an_exception_in_either_output_or_else_the_last_line(tmp_path: Path) -> None:
    error = output_file(tmp_path, "error", "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n")
    out = output_file(tmp_path, "out", JAVA)
    plain = output_file(tmp_path, "plain", "one\n two \n\n")
    empty = output_file(tmp_path, "empty", "")
    assert last_words(error, out) == "java.lang.IllegalStateException: no legal move"
    assert last_words(error, plain) == "Picked up JAVA_TOOL_OPTIONS: -Xmx1g"
    assert last_words(empty, plain) == "two"
    assert last_words(empty, tmp_path / "missing") == ""


def test_a_stack_overflow_in_java_is_found_above_its_stack_trace(tmp_path: Path) -> None:
    file = output_file(tmp_path, "error", JAVA_STACK)
    assert last_words(file) == "java.lang.StackOverflowError"


def test_last_words_are_one_short_line(tmp_path: Path) -> None:
    file = output_file(tmp_path, "error", "Traceback (most recent call last):\nValueError: " + "long\t" * 100)
    assert len(last_words(file)) == MAX_LENGTH
    assert "\t" not in last_words(file)


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
    "xterm: Xt error: Can't open display: ",
    'pyglet.display.xlib.NoSuchDisplayException: Cannot connect to "None"',
]
HARMLESS = [
    "I display the board:",
    "DISPLAY is not needed",
    "java.awt.headless=true",
    "opening move 3",
    "pygame 2.5.2 (SDL 2.28.2, Python 3.12.3)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_errors_of_toolkits_are_known(text: str, tmp_path: Path) -> None:
    (tmp_path / "error").write_text(f"    0.001  start\n    0.002  {text}\n")
    assert find_window_attempts(tmp_path / "missing", tmp_path / "error") == (" ".join(text.split()),)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_lines_are_no_attempts(text: str, tmp_path: Path) -> None:
    (tmp_path / "error").write_text(f"    0.002  {text}\n")
    assert find_window_attempts(tmp_path / "error") == ()


def test_each_line_is_returned_once_and_not_too_many(tmp_path: Path) -> None:
    lines = [f"    0.002  cannot open display: {number // 2}\n" for number in range(100)]
    (tmp_path / "error").write_text("".join(lines))
    assert find_window_attempts(tmp_path / "error") == tuple(
        f"cannot open display: {i}" for i in range(MAX_WINDOW_LINES)
    )
