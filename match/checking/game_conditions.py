"""The conditions that are decided by games and starts of their own: upload test, pairing, two games at once, options.

Invariants: a fault outweighs a game that this machine spoiled; without a fault, such a game leaves a condition open.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from spielleiter.match.checking import contest_conditions as contest
from spielleiter.match.checking.contest_conditions import ContestCondition
from spielleiter.match.checking.game_faults import PROGRAM, affects_game, merged
from spielleiter.match.checking.option_check import OptionResult
from spielleiter.match.checking.package_faults import fault
from spielleiter.match.checking.package_games import GameResult
from spielleiter.match.checking.package_report import ConditionResult, State, state_of
from spielleiter.server.text.counting import count_text


def games_result(condition: ContestCondition, results: Sequence[GameResult]) -> ConditionResult:
    """Return the result of games that were played one after the other."""
    found = [[finding for finding in each.findings if affects_game(finding)] for each in results]
    findings = merged(finding for each in found for finding in each)
    sound = sum(not faults and not each.is_undecided for each, faults in zip(results, found, strict=True))
    won = sum(each.record.winner == PROGRAM for each in results)
    text = f"{sound} of {count_text(len(results), 'game')} without a fault, {won} won"
    state = state_of(findings)
    if state is State.GREEN and (undecided := [each for each in results if each.is_undecided]):
        state, text = State.UNDECIDED, f"{text}; {_how(undecided[0])}"
    return ConditionResult(condition, state, text, findings)


def two_games_result(results: Sequence[GameResult], known: Collection[str]) -> ConditionResult:
    """Return the result of two games at once; `known` are the codes of faults that single games show as well."""
    failed = [each for each in results if any(finding.code not in known for finding in each.findings)]
    if failed:
        finding = fault("not-twice", failed[0].game.folder, reason=_how(failed[0]))
        return ConditionResult(contest.TWO_GAMES, state_of([finding]), "they disturb each other", (finding,))
    if any(each.is_undecided for each in results):
        text = "this machine was too busy for two games at once"
        return ConditionResult(contest.TWO_GAMES, State.NOT_CHECKED, text)
    if any(each.findings for each in results):
        text = "they show no fault that single games do not show"
        return ConditionResult(contest.TWO_GAMES, State.GREEN, text)
    return ConditionResult(contest.TWO_GAMES, State.GREEN, "both were played without a fault")


def options_result(results: Sequence[OptionResult]) -> ConditionResult:
    """Return the result of all orders and forms of the options that were tried."""
    findings = merged(each.finding for each in results if each.finding is not None)
    sound = sum(each.finding is None and not each.is_undecided for each in results)
    state = state_of(findings)
    if state is State.GREEN and any(each.is_undecided for each in results):
        state = State.UNDECIDED
    text = f"{sound} of {len(results)} orders and forms are understood"
    return ConditionResult(contest.OPTIONS, state, text, findings)


def _how(result: GameResult) -> str:
    return f"{result.record.verdict}: {result.record.reason}"
