"""The parts of documents that are made from the code, between `<!-- generated: NAME -->` and `<!-- end -->`.

docs/conf.py calls `expand` for each document when the site is built, so no table is written by hand a second time. What
stands between the two comments is for readers on GitHub: where they find the same.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import random
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from lxml import etree

from spielleiter.cli.cli import cli
from spielleiter.cli.manual import commands
from spielleiter.contest import runtime_faults
from spielleiter.contest.package_report import PackageReport
from spielleiter.match import verdict
from spielleiter.match.plan import MatchSetup
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import COLUMNS
from spielleiter.match.reports.tournament_reports import RatingEntry, TournamentFile
from spielleiter.match.summary import Summary
from spielleiter.match.verdict import Attempt, Verdict
from spielleiter.programs.contest_conditions import REPORTED
from spielleiter.programs.packages import faults
from spielleiter.programs.platform_api import POSIX_VARIABLES
from spielleiter.programs.windows import WindowsPlatform
from spielleiter.protocol import feed, messages
from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.protocol.dialect import Dialect
from spielleiter.server import events
from spielleiter.server.archive import ResultLine
from spielleiter.server.config import SETTINGS
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.log import event_name, level_name, logged_fields
from spielleiter.server.metrics import Metrics
from spielleiter.server.setting import Setting
from spielleiter.server.status import Snapshot
from spielleiter.viewer.game_json import describe_game

ROOT: Final = Path(__file__).resolve().parents[1]
SAMPLES: Final = ROOT / "tests" / "protocol" / "samples"

_MARK: Final = re.compile(r"^<!-- generated: ([a-z-]+)((?: [\w.-]+)*) -->\n(?:.+\n)*?<!-- end -->$", re.MULTILINE)


def expand(document: str) -> str:
    """Return `document` with generated Markdown in place of its marks. Raises KeyError for an unknown name."""
    return _MARK.sub(lambda mark: PARTS[mark[1]](*mark[2].split()), document)


# -- Markdown ---------------------------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """Return plain text, in which only code is marked, as Markdown: options become code, other marks are escaped."""
    parts = re.split(r"(``?[^`]+``?)", " ".join(text.split()))
    for number in range(0, len(parts), 2):
        escaped = re.sub(r"([\\*_<\[\]|#~$])", r"\\\1", parts[number])
        parts[number] = re.sub(r"(?<![\w-])(--[a-z][a-z0-9-]*)", r"`\1`", escaped)
    return "".join(parts)


def code(text: object) -> str:
    """Return `text` as code that may stand in a table."""
    return f"`{text}`".replace("|", r"\|")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Its cells are Markdown of one line."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fence(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


# -- settings ---------------------------------------------------------------------------------------------------------


def settings() -> str:
    """Every setting of the server, by group: its names in each source, its default and its meaning."""
    groups: dict[str, list[Setting]] = {}
    for each in SETTINGS:
        groups.setdefault(each.group, []).append(each)
    parts = []
    for group, members in groups.items():
        rows = []
        for each in members:
            options = [*each.options, *([each.negative_option] if each.kind.is_switch else [])]
            names = [each.name, *each.other_names]
            rows.append((
                "<br>".join([", ".join(map(code, names)), ", ".join(map(code, options)), code(each.variable)]),
                code(each.default) if each.default else "",
                f"{prose(each.help)} *Expected: {prose(each.kind.allowed)}.*",
            ))  # fmt: skip
        parts.append(f"## {group}\n\n{table(('property, option, variable', 'default', 'meaning'), rows)}")
    return "\n".join(parts)


# -- commands ---------------------------------------------------------------------------------------------------------


class _MarkdownFormatter(click.HelpFormatter):
    """Writes Markdown, where click's own formatter writes wrapped text."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:  # noqa: ARG002 - click's signature
        self.write(fence("text", f"{prog} {args}") + "\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"\n**{heading}**\n\n")

    def write_paragraph(self) -> None: ...

    def write_text(self, text: str) -> None:
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            marked = paragraph.lstrip()
            if marked.startswith("\b"):  # click's mark for text that must not be wrapped
                self.write(fence("text", textwrap.dedent(marked[1:].strip("\n"))) + "\n")
            else:
                self.write(prose(paragraph) + "\n\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:  # noqa: ARG002
        self.write(table(("", ""), [(code(term), prose(text)) for term, text in rows]) + "\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_heading(name)
        yield


def all_commands() -> str:
    """The help of every command."""
    top = click.Context(cli, info_name="spielleiter")
    parts = []
    for command, context in ((cli, top), *commands(cli, top)):
        formatter = _MarkdownFormatter()
        command.format_help(context, formatter)
        parts.append(f"## {context.command_path}\n\n{formatter.getvalue()}")
    return "\n".join(parts)


# -- events and metrics -----------------------------------------------------------------------------------------------


def all_events() -> str:
    """Every kind of event in the log, in the order of their definition."""
    rows = [
        (code(event_name(kind)), level_name(kind), ", ".join(map(code, logged_fields(kind))), prose(kind.__doc__ or ""))
        for kind in vars(events).values()
        if isinstance(kind, type) and kind in events.KINDS
    ]
    return table(("event", "level", "fields", "meaning"), rows)


def all_metrics() -> str:
    """Every metric of the server. Those with labels are counted once, so that their labels are seen."""
    from prometheus_client.parser import text_string_to_metric_families

    stream = events.EventStream()
    metrics = Metrics(stream, lambda: Snapshot({"open": 0, "running": 0, "paused": 0}, 0, 0, 0, 0), PauseMeter())
    stream.publish(events.TimeVerdict("", 0, "", 0, 0, 0.0, 0.0, False, "kernel", 0.0))
    stream.publish(events.ReservationExpired(""))
    rows = []
    for family in text_string_to_metric_families(metrics.text()):
        labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
        name = f"{family.name}_total" if family.type == "counter" else family.name
        rows.append((code(name), family.type, ", ".join(map(code, labels)), prose(family.documentation)))
    return table(("metric", "type", "labels", "meaning"), rows)


def feed_events() -> str:
    """Every event of the feed, as it is on the wire."""
    rows = []
    for kind in typing.get_args(feed.FeedEvent):
        names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
        meaning = re.sub(r"\bNone\b", "`null`", prose(kind.__doc__))
        for name, on_the_wire in names.items():
            meaning = meaning.replace(code(name), code(on_the_wire))
        rows.append((code(kind.__struct_config__.tag), ", ".join(map(code, names.values())), meaning))
    return table(("event", "fields", "meaning"), rows)


# -- addresses --------------------------------------------------------------------------------------------------------


def viewer_addresses() -> str:
    """The addresses of the pages that are for scripts, with the texts below the functions that answer."""
    rows = []
    for path in sorted((ROOT / "viewer" / "web").glob("*.py")):
        for maker in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(maker, ast.FunctionDef):
                continue
            answers = {each.name: each for each in maker.body if isinstance(each, ast.AsyncFunctionDef)}
            for call in (each for each in ast.walk(maker) if isinstance(each, ast.Call)):
                match call:
                    case ast.Call(ast.Name("Route"), [ast.Constant(str(address)), ast.Name(answer)], keywords):
                        if text := ast.get_docstring(answers[answer]):
                            rows.append((code(f"{'POST' if keywords else 'GET'} {address}"), prose(text)))
    return table(("address", "answer"), sorted(rows, key=lambda row: row[0].strip("`").partition(" ")[2]))


# -- benchmarks -------------------------------------------------------------------------------------------------------


_BENCHMARKS: Final = (
    "rules_and_protocol", "memory", "throughput", "page_load", "under_attack", "soak", "match_cost", "levels", "ladder",
    "planted_faults", "planted_bugs", "thinking_delay",
)  # fmt: skip
"""The modules of `benchmarks/` that people run; these start the others."""


def all_benchmarks() -> str:
    """The measurements besides `spielleiter bench`, with the first sentence of each module."""
    rows = []
    for name in _BENCHMARKS:
        module = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))
        summary = (ast.get_docstring(module) or "").partition("\n\n")[0]
        rows.append((code(f"python -m benchmarks.{name}"), prose(summary)))
    return table(("module", "what it measures"), rows)


# -- programs of others -----------------------------------------------------------------------------------------------


def program_variables() -> str:
    """The environment variables that every program gets, by system."""
    systems = {"Linux, macOS": POSIX_VARIABLES, "Windows": WindowsPlatform.program_variables}
    return table(
        ("system", "variables"), [(name, ", ".join(map(code, sorted(names)))) for name, names in systems.items()]
    )


# -- checks -----------------------------------------------------------------------------------------------------------


def conditions() -> str:
    """The conditions that a contest package is checked for."""
    return table(
        ("condition", "key", "what the contest demands"),
        [(each.title, code(each.key), prose(each.sentence)) for each in REPORTED],
    )


def _sentence(text: str) -> str:
    """Return the sentence of a finding, without the places for values."""
    return prose(re.sub(r"\{\w+\}", "…", text))


def package_faults() -> str:
    """What an inspection can find in a contest package."""
    return table(
        ("code", "level", "sentence"),
        [(code(name), level.value, _sentence(text)) for name, (level, text) in faults.FAULTS.items()],
    )


def faults_when_run() -> str:
    """What can show when a contest package is run."""
    rows = []
    for name, each in runtime_faults.FAULTS.items():
        condition = "the game that shows it" if each.condition is None else each.condition.title
        rows.append((code(name), each.level.value, condition, _sentence(each.sentence)))
    return table(("code", "level", "condition", "sentence"), rows)


# -- files ------------------------------------------------------------------------------------------------------------


def field_docs(kind: type) -> dict[str, str]:
    """Return the texts below the fields of a class, by the field's name."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign | ast.Assign) and isinstance(below, ast.Expr):
            target = field.target if isinstance(field, ast.AnnAssign) else field.targets[0]
            if isinstance(target, ast.Name) and isinstance(below.value, ast.Constant):
                found[target.id] = inspect.cleandoc(str(below.value.value))
    return found


_JSON_NAMES: Final[Mapping[Any, str]] = {
    bool: "true or false",
    float: "number",
    int: "whole number",
    str: "text",
    Path: "text",
    type(None): "null",
    Any: "any",
}


def json_type(annotation: Any) -> str:
    """Return in words what the values of a type are in JSON, for example ``list of 2: text or null``."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {types.UnionType, typing.Union}:
        return " or ".join(json_type(each) for each in arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        members = list(dict.fromkeys(json_type(each) for each in arguments))
        return f"list of {len(arguments)}: {', '.join(members)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"object of {json_type(arguments[1])}"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"list of {json_type(arguments[0])}"
    if next(parts_of(annotation), None) is annotation:
        return f"[{title_of(annotation)}](#{title_of(annotation).replace(' ', '-')})"
    return _JSON_NAMES[annotation]


def title_of(kind: Any) -> str:
    """Return the name of a class as words: ``game record`` for ``GameRecord``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()


def parts_of(annotation: Any) -> Iterator[type]:
    """Yield the classes with fields of their own that the values of a type may contain."""
    if dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation):
        yield typing.cast("type", annotation)
    for each in typing.get_args(annotation):
        yield from parts_of(each)


def record(kind: type, *, level: str = "###", left_out: Iterable[str] = ()) -> str:
    """The fields of the JSON object that an instance of `kind` is written as, and those of its parts."""
    written, texts, waiting = set[type](), [], [kind]
    while waiting:
        kind = waiting.pop(0)
        if kind in written:
            continue
        written.add(kind)
        hints, docs = typing.get_type_hints(kind), field_docs(kind)
        rows = [
            (code(name), json_type(hint), re.sub(r"\bNone\b", "`null`", prose(docs.get(name, ""))))
            for name, hint in hints.items()
            if name not in left_out and not name.startswith("_") and typing.get_origin(hint) is not typing.ClassVar
        ]
        waiting += [part for hint in hints.values() for part in parts_of(hint)]
        summary = prose((kind.__doc__ or "").partition("\n\n")[0])
        texts.append(f"{level} {title_of(kind).capitalize()}\n\n{summary}\n\n{table(('key', 'type', 'meaning'), rows)}")
    return "\n".join(texts)


def keys_of(function: Callable[..., object]) -> str:
    """The keys of the JSON object that a function returns: the list in its docstring."""
    entries = re.findall(r"^- (`.*?`): (.*(?:\n  .*)*)", inspect.getdoc(function) or "", re.MULTILINE)
    return table(("key", "meaning"), [(names, prose(meaning)) for names, meaning in entries])


def verdicts() -> str:
    """The verdicts on games, with the column of the reports in which each is counted."""
    columns = {
        "crashes": verdict.CRASH_VERDICTS,
        "timeouts": verdict.TIMEOUT_VERDICTS,
        "illegal moves": verdict.ILLEGAL_VERDICTS,
        "bad messages": verdict.BAD_MESSAGE_VERDICTS,
        "left running": verdict.LEFTOVER_VERDICTS,
    }
    docs = field_docs(Verdict)
    return table(
        ("text", "counted as", "meaning"),
        [
            (code(text), next((column for column, texts in columns.items() if text in texts), "–"), prose(docs[name]))
            for name, text in vars(Verdict).items()
            if name.isupper()
        ],
    )


def words_of(kind: type) -> str:
    """The values of the constants of a class, with their meanings."""
    docs = field_docs(kind)
    return table(
        ("text", "meaning"),
        [(code(value), prose(docs.get(name, ""))) for name, value in vars(kind).items() if name.isupper()],
    )


# -- packets ----------------------------------------------------------------------------------------------------------

_RECORDINGS: Final[Mapping[str, str]] = {"blokus-2021-r3": "blokus-2021"}
"""The folder of an edition's recordings, if it is not named like the edition."""
_TYPICAL: Final = ("memento_turn1", "result_regular", "error_illegal_move", "paused_true", "errorpacket_unknown_room")
"""The recordings that are shown where there are several of a kind; otherwise the shortest one is."""
_LONGEST: Final = 200  # lines of an example
_ROOM: Final = "871faccb-5190-4e44-82fc-6cdcbb493726"
_CODE: Final = "b0f4e1c2-6c1f-4a4e-9d0a-3a1f3b7c5d21"
_NOT_SHOWN: Final = {messages.RoomMessage, messages.UnknownPacket, messages.UnreadableData, messages.ServerData}


def recordings(edition: str) -> dict[str, bytes]:
    """Return the recorded packets of the official server for an edition, by name."""
    folder = SAMPLES / _RECORDINGS.get(edition, edition)
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.xml"))}


def _message(dialect: Dialect, packet: bytes) -> Any:
    """Return the message in a packet of a server, or the data if it is a room packet."""
    message = dialect.decode(etree.fromstring(packet), is_from_server=True)  # type: ignore[arg-type]
    return message.data if isinstance(message, messages.RoomMessage) else message


def name_on_the_wire(packet: bytes) -> str:
    """Return the tag of a packet, or the class of the data in a room packet."""
    root = etree.fromstring(packet)
    data = root.find("data")
    return str(root.tag if data is None else data.get("class"))


def _sent(edition: Edition) -> dict[type, messages.Message]:
    """Return an example of each packet that clients send, by type."""
    state = edition.game.new_state(random.Random(1))
    slots = (messages.Slot("Alice"), messages.Slot("Bob", can_timeout=False))
    requests: list[messages.Message] = [
        messages.JoinRequest(edition.game_type),
        messages.JoinRoomRequest(_ROOM),
        messages.JoinPreparedRequest(_CODE),
        messages.AuthenticateRequest(DEFAULT_PASSWORD),
        messages.PrepareRequest(edition.game_type, slots, is_paused=True),
        messages.ObserveRequest(_ROOM),
        messages.PauseRequest(_ROOM, is_paused=True),
        messages.StepRequest(_ROOM),
        messages.CancelRequest(_ROOM),
        messages.TimeoutRequest(_ROOM, 0, is_active=False),
        messages.TestModeRequest(is_enabled=True),
        messages.ScoreForPlayerRequest("Alice"),
        messages.StatusRequest(),
        messages.CloseConnection(),
    ]
    move = messages.RoomMessage(_ROOM, messages.MoveData(next(iter(state.generate_legal_moves()))))
    plain = {kind: kind() for kind in messages.REQUEST_TYPES - {type(each) for each in requests}}
    return {**plain, **{type(each): each for each in requests}, messages.MoveData: move}


def packets(name: str) -> str:
    """Every packet of an edition, with an example: as recorded, or, of a client, as ours write it."""
    edition = EDITIONS[name]
    dialect, sent = edition.dialect, _sent(edition)
    recorded: dict[type, list[tuple[str, bytes]]] = {}
    for stem, packet in recordings(name).items():
        recorded.setdefault(type(_message(dialect, packet)), []).append((stem, packet))
    kinds = [kind for kind in vars(messages).values() if isinstance(kind, type) and dialect.has_packet(kind)]
    parts = []
    for is_sent, heading in ((True, "From the client"), (False, "From the server")):
        parts.append(f"### {heading}\n")
        for kind in kinds:
            if kind in _NOT_SHOWN or (kind in sent) is not is_sent:
                continue
            example = b""
            if kind in sent:
                example = dialect.encode(sent[kind])
            elif kind in recorded:
                example = min(recorded[kind], key=lambda each: (each[0] not in _TYPICAL, len(each[1])))[1]
            lines = textwrap.dedent(example.decode().strip("\n")).splitlines()
            if len(lines) > _LONGEST:
                lines[_LONGEST - 1 :] = [f"… {len(lines) - _LONGEST + 1} more lines"]
            if lines:
                name, text = code(name_on_the_wire(example)), fence("xml", "\n".join(lines))
            else:
                name, text = title_of(kind).capitalize(), "*Not recorded: the official server does not send it.*\n"
            meaning = prose((kind.__doc__ or "").partition(". ")[0].rstrip(".") + ".")
            parts.append(f"#### {name}\n\n{meaning}\n\n{text}")
    return "\n".join(parts)


def refusals(name: str) -> str:
    """What the official server of an edition said about each recorded fault."""
    rows = []
    for stem, packet in recordings(name).items():
        message = _message(EDITIONS[name].dialect, packet)
        if isinstance(message, messages.ErrorMessage | messages.ErrorPacket):
            answer = "errorpacket" if isinstance(message, messages.ErrorPacket) else "error"
            what = stem.partition("_")[2].replace("_", " ")
            rows.append((what, code(answer), prose(message.message or "")))
    return table(("fault", "answer", "text"), rows)


# -- the parts by name ------------------------------------------------------------------------------------------------

PARTS: Final[Mapping[str, Callable[..., str]]] = {
    "settings": settings,
    "commands": all_commands,
    "events": all_events,
    "metrics": all_metrics,
    "packets": packets,
    "refusals": refusals,
    "feed-events": feed_events,
    "benchmarks": all_benchmarks,
    "viewer-addresses": viewer_addresses,
    "program-variables": program_variables,
    "conditions": conditions,
    "package-faults": package_faults,
    "runtime-faults": faults_when_run,
    "game-record": lambda: record(GameRecord),
    "match-setup": lambda: record(MatchSetup, left_out=("password",)),
    "match-summary": lambda: record(Summary, left_out=("incidents",)),
    "rating-entry": lambda: record(RatingEntry),
    "tournament-file": lambda: record(TournamentFile),
    "game-json": lambda: keys_of(describe_game),
    "package-report": lambda: keys_of(PackageReport.to_json),
    "result-line": lambda: record(ResultLine),
    "verdicts": verdicts,
    "game-columns": lambda: table(("column", "type"), [(code(name), kind) for name, kind in COLUMNS.items()]),
    "attempts": lambda: words_of(Attempt),
}
"""What makes a part, by the name in its mark; further words of the mark are its arguments."""
