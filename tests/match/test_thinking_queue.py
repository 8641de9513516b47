"""Which worker computes which move."""

from __future__ import annotations

from spielleiter.match.builtin_players import ThinkingQueue


class FakeWorker:
    """Notes its requests, each of which is a player's name."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def begin(self, request: str) -> None:
        self.begun.append(request)


def queue_with(*workers: FakeWorker) -> ThinkingQueue[str]:
    queue: ThinkingQueue[str] = ThinkingQueue()
    for worker in workers:
        queue.set_idle(worker)
    return queue


def test_two_players_never_share_a_worker_while_another_one_is_idle() -> None:
    one, two = FakeWorker(), FakeWorker()
    queue = queue_with(one, two)
    queue.add("a", preferred=one)
    queue.add("b", preferred=one)
    assert (one.begun, two.begun) == (["a"], ["b"])
    assert not queue.has_idle


def test_an_idle_worker_that_knows_the_player_is_preferred() -> None:
    one, two = FakeWorker(), FakeWorker()
    queue = queue_with(one, two)
    queue.add("a", preferred=two)
    assert (one.begun, two.begun) == ([], ["a"])
    assert queue.has_idle


def test_waiting_requests_are_served_in_the_order_of_their_arrival() -> None:
    worker = FakeWorker()
    queue = queue_with(worker)
    for player in "abc":
        queue.add(player)
    assert worker.begun == ["a"]
    queue.set_idle(worker)
    queue.add("a")  # its next request comes after those that wait already
    queue.set_idle(worker)
    queue.set_idle(worker)
    assert worker.begun == ["a", "b", "c", "a"]


def test_a_slow_player_delays_no_other_game_while_workers_are_free() -> None:
    slow, fast = FakeWorker(), FakeWorker()
    queue = queue_with(slow, fast)
    queue.add("thinks long")
    for _ in range(10):
        queue.add("quick")
        queue.set_idle(fast)
    assert (slow.begun, fast.begun) == (["thinks long"], ["quick"] * 10)


def test_a_request_whose_worker_has_ended_comes_before_all_others() -> None:
    worker = FakeWorker()
    queue = queue_with(worker)
    queue.add("a")
    queue.add("b")
    queue.add_first("c")
    queue.set_idle(worker)
    queue.set_idle(worker)
    queue.set_idle(worker)
    queue.add_first("d")
    assert worker.begun == ["a", "c", "b", "d"]
    assert not queue.has_idle


def test_a_discarded_request_is_not_served() -> None:
    worker = FakeWorker()
    queue = queue_with(worker)
    for player in "abc":
        queue.add(player)
    queue.discard("b")
    queue.discard("a")  # it has begun already
    queue.set_idle(worker)
    assert worker.begun == ["a", "c"]


def test_a_removed_worker_gets_no_requests() -> None:
    one, two = FakeWorker(), FakeWorker()
    queue = queue_with(one, two)
    queue.remove(one)
    queue.remove(one)
    queue.add("a")
    queue.add("b")
    assert (one.begun, two.begun) == ([], ["a"])
    assert queue.take_waiting() == ["b"]
    assert queue.take_waiting() == []
