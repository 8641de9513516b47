"""The report: every part has its table, and no line is too long."""

from __future__ import annotations

from spielleiter.bench.figures import Records
from spielleiter.bench.report import report_text
from spielleiter.bench.table import WIDTH
from spielleiter.bench.targets import targets_of

TRAFFIC = {
    "throughput": (12_345.6, "moves/s"),
    "latency median": (1234.5, "ms"),
    "latency p99": (2345.6, "ms"),
    "latency max": (3456.7, "ms"),
    "start median": (12_345.6, "ms"),
    "games playing": (500.0, "games"),
    "processor per move": (123.4, "us"),
    "memory peak": (296.7, "MiB"),
    "false verdicts": (0.0, "games"),
    "games judged": (1234.0, "games"),
}


def records_of(busy: float) -> Records:
    records = Records()
    for factor in (0.9, 1.0, 1.1):
        values = {name: (value * factor, unit) for name, (value, unit) in TRAFFIC.items()}
        values["driver busy"] = (busy * factor, "of a core")
        for subject in ("floor", "server"):
            labels = {"part": "traffic", "subject": subject, "edition": "blokus-2021-r3", "games": 500, "observers": 1}
            records.add(labels, values)
        records.add(
            {"part": "rules", "edition": "blokus-2027", "positions": 9, "source": "scripted games"},
            {"check": (1.5 * factor, "us"), "perft": (5e6 * factor, "nodes/s")},
        )
        records.add({"part": "protocol", "edition": "blokus-2027"}, {"decode a move": (8.0, "us")})
        records.add({"part": "start"}, {"server to bare Python": (1.5, "times")})
        records.add({"part": "memory", "edition": "blokus-2027", "from": 1, "to": 2}, {"each game more": (87.0, "KiB")})
        records.add({"part": "plies", "edition": "blokus-2027", "idle rooms": 500}, {"beside idle rooms": (0.2, "ms")})
        labels = {"part": "proxy", "edition": "blokus-2027", "games": 20, "way": "proxy --trace"}
        records.add(labels, {"to direct": (0.8 * factor, "x")})
    return records


def test_a_report_has_every_part_and_no_long_line() -> None:
    records = records_of(0.5)
    text = report_text({"processor": "some", "cores": 2}, records, targets_of(records))
    assert text.startswith("processor    some\ncores        2\n")
    for expected in (
        "12,346 (11,111-13,580)",
        "each game more (1 to 2)",
        "beside 500 idle rooms",
        "perft, nodes/s",
        "5M (4.50M-5.50M)",
        "2027: 9 positions (scripted games)",
        "start to accepting",
        "throughput, proxy --trace, 20 games at once",
    ):
        assert expected in text
    assert "> 12,346" not in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_throughput_that_the_driver_may_limit_is_marked() -> None:
    records = records_of(0.9)
    assert "> 12,346" in report_text({}, records, targets_of(records))


def test_parts_that_were_not_measured_have_no_table() -> None:
    text = report_text({}, Records(), [])
    assert "Targets" not in text
    assert "Games at once" not in text
