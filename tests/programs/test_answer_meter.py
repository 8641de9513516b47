"""What is noted about one answer of a program."""

from __future__ import annotations

import pytest

from spielleiter.programs.machine_delay import AnswerMeter


class Program:
    cpu_seconds_so_far = 7.0


@pytest.mark.parametrize(
    ("processor", "waited", "noted"),
    [
        (0.5, 0.25, 0.25),
        (0.5, 2.0, 1.5),  # it had one core for itself: the rest of the time
        (3.0, 2.0, 0.0),  # its own threads competed with each other
    ],
)
def test_a_program_waits_for_others_only_in_the_time_that_its_one_core_leaves(
    processor: float, waited: float, noted: float
) -> None:
    meter, program = AnswerMeter(), Program()
    meter.start_request(program)
    program.cpu_seconds_so_far += processor
    meter.end_request(program, 2.0, waited)
    [answer] = meter.answers
    assert (answer.seconds, answer.processor, answer.waited) == pytest.approx((2.0, processor, noted))
    assert answer.others >= 0.0


def test_an_answer_without_a_request_is_not_measured() -> None:
    meter = AnswerMeter()
    meter.end_request(Program(), 1.0, 0.0)
    meter.start_request(None)
    meter.end_request(Program(), 1.0, 0.0)
    assert meter.answers == []
