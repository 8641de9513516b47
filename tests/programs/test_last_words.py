"""The reason why a program ended is found in its output: an exception, or else the last line.

The outputs in this file were written by real runtimes: Java 17, Python 3.11, Rust 1.95 and 1.60, Go 1.19, GCC 12,
clang, Ruby 3.1 and 3.4, Node.js 20 and .NET 8.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.programs.outputs import MAX_LENGTH, find_exception, last_words, read_tail

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
