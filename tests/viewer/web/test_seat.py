"""One person's seat: only moves that are asked for are played, and the seat is given up when nobody looks at it."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.seat import ABANDON_TIMEOUT
from tests.viewer.web.pages import open_pages
from tests.viewer.web.test_seats import take_seat


async def test_moves_that_are_not_asked_for_are_refused() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"strategy": "first"})
        address = f"/api/seat/{seat['seat']}/move"
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        while (request := await stream.until("request"))["moves"] is None:
            pass
        count = len(request["moves"])
        for form, status in (
            ({"ply": 1, "index": 0}, 409),
            ({"ply": 0, "index": count}, 400),
            ({"ply": 0, "index": -1}, 400),
            ({"ply": 0, "skip": True}, 409),  # the first piece has to be placed
            ({"ply": 0}, 400),
            ({"ply": "0", "index": 0}, 400),
            ([], 400),
        ):
            answer = await pages.post(address, form)
            assert (answer.status, form) == (status, form)
        assert (await pages.post(address, {"ply": 0, "index": 0})).status == 200
        assert (await pages.post(address, {"ply": 0, "index": 0})).status == 409
        gone = await pages.open("/api/seat/unknown/events")
        assert (await gone.until("gone"))["error"]["en"] == "There is no such seat (any more)."
        assert (await pages.post("/api/seat/unknown/move", {"ply": 0, "index": 0})).status == 404


async def test_leaving_ends_the_game() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"strategy": "first"})
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        while (await stream.until("request"))["moves"] is None:
            pass
        assert (await pages.post(f"/api/seat/{seat['seat']}/leave")).json == {}
        while (await stream.until("seat"))["state"] != "over":
            pass
        rooms = await pages.open("/api/events")
        while (await rooms.until("rooms"))[0]["state"] != "over":
            pass
        assert pages.logged("game_ended")[0]["causes"] == ["LEFT", "REGULAR"]


async def test_a_room_that_nobody_has_joined_is_closed_with_its_seat() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"program": True})
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        await pages.post(f"/api/seat/{seat['seat']}/leave")
        while (await stream.until("seat"))["state"] != "over":
            pass
        await wait_all_tasks_blocked()
        assert pages.server.lobby.rooms == {}


async def test_a_seat_is_given_up_when_no_page_looks_at_it(mock_clock: MockClock) -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"program": True})
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        await wait_all_tasks_blocked()
        mock_clock.jump(ABANDON_TIMEOUT + 1)
        await wait_all_tasks_blocked()
        found = pages.site.seats.find(seat["seat"])
        assert found.state == "waiting"
        stream.leave()
        await wait_all_tasks_blocked()
        mock_clock.jump(ABANDON_TIMEOUT / 2)
        await wait_all_tasks_blocked()
        assert found.state == "waiting"
        mock_clock.jump(ABANDON_TIMEOUT)
        while found.state != "over":  # the server closes the connection through real sockets
            await trio.lowlevel.checkpoint()
