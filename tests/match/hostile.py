"""A match between programs whose names and last words try to break out of every report."""

from __future__ import annotations

from spielleiter.match.records import GameRecord
from spielleiter.match.summary import Summary, summarise
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import fault, game

HOSTILE_NAMES = (
    "<script>alert('1')</script>\"&amp;|`x`",
    '=HYPERLINK("http://evil.example") ]](x)*_~$\n\x00\x1b[31m\ud800]]>',
)
HOSTILE_REASON = "</td></svg><img src=x onerror=alert(1)>\r\n| a | b |\n# heading\n\x08\x7f\x9b2J\u202e\u2066"


def hostile_match() -> tuple[Summary, list[GameRecord]]:
    """Four games; their start, folder and replay are hostile as well."""
    strange = {"names": HOSTILE_NAMES, "start": "--><b>'\"|", "folder": "javascript:x\"'/#?", "replay": "<r>&.xml"}
    records = [
        game(1, 0, **strange),
        game(2, 1, **strange),
        fault(3, 0, Verdict.CRASH, reason=HOSTILE_REASON, **strange),
        game(4, None, verdict=Verdict.SERVER_FAILED, reason=HOSTILE_REASON, is_counted=False, **strange),
    ]
    return summarise(records, planned=4), records
