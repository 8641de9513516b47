"""The numbers in reports, recomputed from games.jsonl by independent code."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import write_reports
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import VERDICTS, Verdict
from tests.cli.background import run
from tests.match.sample_records import fault, whole_match
from tests.match.sample_records import game as sample_game

NO_FAULT = {"regular", "cancelled", "server failed", "overloaded machine", "contested seat"}
COLUMN = {
    "does not start": "crashes", "never joins": "crashes", "dies": "crashes", "crash": "crashes", "leaves": "crashes",
    "timeout": "timeouts", "hangs": "timeouts", "illegal move": "illegal_moves", "bad message": "bad_messages",
    "speaks nonsense": "bad_messages", "leaves processes behind": "leftovers",
    "does not end": "leftovers", "tampers with its supervisor": "crashes",
}  # fmt: skip


def check_folder(folder: Path) -> None:
    """Assert that summary.json, games.csv and junit.xml agree with games.jsonl."""
    lines = (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()
    games = sorted((json.loads(line) for line in lines), key=lambda game: game["game"])
    assert len({game["game"] for game in games}) == len(games)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    _check_counts(games, summary)
    _check_pairs(games, summary)
    _check_points(games, summary)
    _check_times(games, summary)
    _check_tables(games, folder)


def _check_counts(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    counted = [game for game in games if game["is_counted"]]
    assert (summary["played"], summary["counted"]) == (len(games), len(counted))
    won = [sum(game["winner"] == program for game in counted) for program in (0, 1)]
    drawn = len(counted) - sum(won)
    assert summary["results"] == {"wins": won[0], "draws": drawn, "losses": won[1]}
    if counted:
        assert math.isclose(summary["score"], (2 * won[0] + drawn) / (2 * len(counted)))
    assert summary["verdicts"] == Counter(game["verdict"] for game in games)
    for program, side in enumerate(summary["programs"]):
        assert (side["wins"], side["draws"], side["losses"]) == (won[program], drawn, won[1 - program])
        faults_of_program = [game["verdict"] for game in games if game["offender"] == program]
        faults = Counter(COLUMN[verdict] for verdict in faults_of_program if verdict not in NO_FAULT)
        assert all(side[column] == faults[column] for column in set(COLUMN.values()))
        tried: Counter[str] = Counter()
        for game in games:
            tried.update(game["attempts"][program])
        assert side["attempts"] == tried
    assert summary["foreign_connections"] == sum(game["foreign_connections"] for game in games)
    starts = Counter((game["start"], game["seats"].index(0)) for game in counted)
    found = {(each["start"], each["seat"]): each["wins"] + each["draws"] + each["losses"] for each in summary["starts"]}
    assert found == starts


def _check_pairs(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    pairs: defaultdict[int, list[float]] = defaultdict(list)
    for game in games:
        if game["is_counted"]:
            pairs[game["pair"]].append({0: 1.0, 1: 0.0, None: 0.5}[game["winner"]])
    scores = [sum(pair) / 2 for pair in pairs.values() if len(pair) == 2]
    assert summary["pairs"] == [scores.count(kind / 4) for kind in range(5)]
    if len(set(scores)) > 1:
        _check_elo(scores, summary)
    if scores:
        above, exactly = _sign_flips(scores)
        assert math.isclose(summary["likelihood_of_superiority"], 1 - above - exactly / 2, rel_tol=1e-6, abs_tol=1e-9)
    if summary["sprt"] is not None and scores:
        test = summary["sprt"]
        bounds = math.log(test["beta"] / (1 - test["alpha"])), math.log((1 - test["beta"]) / test["alpha"])
        ratio = _best_tilt(scores, test["elo0"]) - _best_tilt(scores, test["elo1"])
        assert math.isclose(test["log_likelihood_ratio"], ratio, rel_tol=1e-4, abs_tol=1e-4)
        decision = "H1" if ratio >= bounds[1] else "H0" if ratio <= bounds[0] else None
        assert test["decision"] == decision


def _check_elo(scores: list[float], summary: dict[str, Any]) -> None:
    """Check both ends of the interval.

    Each one is the outermost of the bounds by Student's t and by the likelihood, and of 1/2 if neither program is
    better.
    """
    pairs, mean = len(scores), statistics.fmean(scores)
    error = statistics.stdev(scores) / math.sqrt(pairs)
    above, exactly = _sign_flips(scores)
    wanted = summary["elo"]
    assert wanted["value"] is None or math.isclose(wanted["value"], _elo(mean), rel_tol=1e-5, abs_tol=1e-3)
    for name, sign, chance in (("low", -1, above + exactly), ("high", 1, 1 - above)):
        elo = sign * math.inf if wanted[name] is None else wanted[name]
        bound = 1 / (1 + 10 ** (-elo / 400))
        distance = (bound - mean) * sign
        is_student = abs(_student(distance / error, pairs - 1) - 0.975) < 1e-4
        quantile = _student_quantile(pairs - 1)
        threshold = pairs * math.log1p(quantile**2 / (pairs - 1)) / 2
        is_likelihood = 0 < bound < 1 and abs(_best_tilt(scores, elo, 0.0) - threshold) < 1e-3
        is_even = chance > 0.025 and abs(bound - 0.5) < 1e-9
        is_end = bound in {0.0, 1.0}
        assert is_student or is_likelihood or is_even or is_end, (name, scores)
        assert distance >= quantile * error - 1e-6 or is_end
    better = 0 if wanted["low"] is not None and wanted["low"] > 1e-9 else None
    better = 1 if wanted["high"] is not None and wanted["high"] < -1e-9 else better
    assert summary["significance"] is not None or summary["better"] == better
    spread = statistics.pstdev(scores) * math.sqrt(2)
    nelo = (mean - 0.5) / spread * 800 / math.log(10)
    assert math.isclose(summary["normalized_elo"]["value"], nelo, rel_tol=1e-9, abs_tol=1e-9)


def _sign_flips(scores: list[float]) -> tuple[float, float]:
    """Return the probabilities of a greater and of the same sum if the sign of every pair's difference is random."""
    chances = {0: 1.0}
    for score in scores:
        step, following = round(abs(4 * score - 2)), defaultdict[int, float](float)
        for total, chance in chances.items():
            following[total + step] += chance / 2
            following[total - step] += chance / 2
        chances = following
    own = round(sum(4 * score - 2 for score in scores))
    return sum(chance for total, chance in chances.items() if total > own), chances[own]


def _student_quantile(freedom: int) -> float:
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < 0.975 else (low, middle)
    return high


def _check_points(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    pairs: defaultdict[int, list[list[int]]] = defaultdict(list)
    for game in games:
        is_whole = game["is_counted"] and game["verdict"] in {"regular", "leaves processes behind"}
        if is_whole and None not in game["points"]:
            pairs[game["pair"]].append(game["points"])
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    views: list[tuple[Any, Callable[[list[int]], int]]] = [
        (summary["point_difference"], lambda points: points[0] - points[1]),
        (summary["programs"][0]["points"], lambda points: points[0]),
        (summary["programs"][1]["points"], lambda points: points[1]),
    ]
    for estimate, view in views:
        values = [(view(one) + view(other)) / 2 for one, other in whole]
        assert (estimate is None) == (len(values) < 2)
        if estimate is not None:
            mean = statistics.fmean(values)
            half = statistics.stdev(values) / math.sqrt(len(values))
            assert math.isclose(estimate["value"], mean)
            assert math.isclose(estimate["high"] - mean, mean - estimate["low"], abs_tol=1e-9)
            if half:
                assert abs(_student(((estimate["high"] - mean) / half), len(values) - 1) - 0.975) < 1e-4


def _check_times(games: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    for program, side in enumerate(summary["programs"]):
        times = sorted(time for game in games for time in game["think_times"][program])
        found = side["think_times"]
        assert (found["answers"], sum(found["histogram"])) == (len(times), len(times))
        assert math.isclose(found["total"], sum(times), abs_tol=1e-9)
        if times:
            assert found["max"] == times[-1]
            for name, share in (("median", 0.5), ("p95", 0.95)):
                below, upto = sum(time < found[name] for time in times), sum(time <= found[name] for time in times)
                assert below < share * len(times) <= upto
        assert math.isclose(side["cpu_seconds"], sum(game["cpu_seconds"][program] for game in games), abs_tol=1e-9)


def _check_tables(games: list[dict[str, Any]], folder: Path) -> None:
    with (folder / "games.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["game"]) for row in rows] == [game["game"] for game in games]
    for row, game in zip(rows, games, strict=True):
        assert [row["points1"], row["points2"]] == ["" if each is None else str(each) for each in game["points"]]
        assert row["verdict"] == game["verdict"]
    root = ET.parse(folder / "junit.xml").getroot()
    assert len(root.findall(".//testcase")) == len(games)
    assert len(root.findall(".//failure")) == sum(game["offender"] is not None for game in games)


def _elo(score: float) -> float:
    return -math.inf if score <= 0 else math.inf if score >= 1 else 400 * math.log10(score / (1 - score))


def _best_tilt(scores: list[float], elo: float, unseen: float = 1e-3) -> float:
    """Return the log-likelihood that a mean of s costs: max over t of sum n ln(1 + t (a - s)), by ternary search."""
    mean = 1 / (1 + 10 ** (-elo / 400))
    counts = [scores.count(kind / 4) or unseen for kind in range(5)]
    low, high = -1 / (1 - mean) * (1 - 1e-12), 1 / mean * (1 - 1e-12)

    def value(t: float) -> float:
        return sum(count * math.log1p(t * (kind / 4 - mean)) for kind, count in enumerate(counts))

    for _ in range(300):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if value(left) < value(right) else (low, right)
    return value((low + high) / 2)


def _student(t: float, freedom: int) -> float:
    """Return the distribution function of Student's t, by Simpson's rule."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    steps = 4000
    width = t / steps
    total = sum(
        (1 if index in {0, steps} else 4 if index % 2 else 2)
        * math.pow(1 + (index * width) ** 2 / freedom, -(freedom + 1) / 2)
        for index in range(steps + 1)
    )
    return 0.5 + scale * total * width / 3


def write(folder: Path, records: list[GameRecord], sprt: Sprt | None) -> None:
    lines = [json.dumps(record.to_json()) + "\n" for record in records]
    (folder / "games.jsonl").write_text("".join(lines), encoding="utf-8")
    write_reports(folder, summarise(records, sprt=sprt), records)


@pytest.mark.parametrize("sprt", [None, Sprt(0, 50), Sprt(100, 300, 0.01, 0.1)])
@pytest.mark.parametrize("pairs", [1, 2, 7, 40])
def test_regular_matches(tmp_path: Path, pairs: int, sprt: Sprt | None) -> None:
    write(tmp_path, whole_match(pairs, seed=pairs), sprt)
    check_folder(tmp_path)


def test_a_match_in_which_everything_went_wrong(tmp_path: Path) -> None:
    records = whole_match(10)
    for number, verdict in enumerate(VERDICTS[1:], 21):
        is_counted = verdict not in {Verdict.OVERLOAD, Verdict.CANCELLED, Verdict.SERVER_FAILED}
        records.append(
            fault(number, number % 2, verdict)
            if is_counted
            else sample_game(number, None, verdict=verdict, is_counted=False, points=(None, None))
        )
    write(tmp_path, records[::-1], Sprt(0, 50))
    check_folder(tmp_path)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("played", 5), ("score", 0.5), ("likelihood_of_superiority", 0.5), ("pairs", [0, 0, 0, 0, 2]), ("verdicts", {})],
)
def test_the_check_is_able_to_fail(tmp_path: Path, key: str, wrong: object) -> None:
    write(tmp_path, whole_match(20), None)
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), key: wrong}), encoding="utf-8")
    with pytest.raises(AssertionError):
        check_folder(tmp_path)


@pytest.mark.slow
def test_a_match_between_real_programs(tmp_path: Path) -> None:
    players = ["--player1", "builtin:greedy", "--player2", "builtin:random"]
    result = run("match", *players, "-n", "6", "-j", "2", "--seed", "1", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    check_folder(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["counted"] == 6
