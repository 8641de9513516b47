"""The pages of a team: uploading a version and what became of it, taking an older one back, challenging another team.

`spielleiter upload` uses the addresses below ``/api`` with the team's code, or with the token that the upload returned.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.league.challenges import challenge_team
from spielleiter.league.errors import RefusedError
from spielleiter.league.log import actor_of
from spielleiter.league.model import Version
from spielleiter.league.teams import set_allows_helpers
from spielleiter.league.versions import (
    MEGABYTE,
    add_upload,
    discard_version,
    full_report,
    get_version,
    require_upload_allowed,
    take_back,
    uploaded_version,
)
from spielleiter.league.web.visits import TOKEN_HEADER, Visit, Visits, read_form, require_token, see_other
from spielleiter.viewer.web.answers import WebError, json_response, number_in
from spielleiter.viewer.web.bodies import body_of
from spielleiter.viewer.web.guard import client_address

UPLOAD_SECONDS: Final = 180.0
"""The time for an upload to arrive, also over a slow network."""
UPLOAD_KEY: Final = "idempotency-key"
"""The header by which an upload that is sent again is recognised."""
_LONGEST_KEY: Final = 100
_LONGEST_NAME: Final = 300
_BINARY: Final = "application/octet-stream"
_WRONG_CODE: Final = WebError(
    401, "Dieser Code ist falsch oder gilt nicht mehr.", "This code is wrong, or no longer valid."
)
_NO_VERSION: Final = RefusedError("no-such-version", "Diese Version gibt es nicht.", "There is no such version.")


def team_routes(visits: Visits, *, random_seed: Callable[[], int] = lambda: random.getrandbits(31)) -> list[BaseRoute]:
    """Return the routes of these pages; `random_seed` gives the seeds of challenges."""
    database = visits.database

    async def upload_page(request: Request) -> Response:
        """The form for an upload, or why there can be none at the moment."""
        visit = await visits.open(request, "team")
        assert visit.team_id is not None
        refusal = ""
        try:
            await database.read(require_upload_allowed, visit.team_id, 0, visit.now)
        except RefusedError as error:
            refusal = visit.words.say(error.de, error.en)
        return visit.page("upload", refusal=refusal, url=visit.address)

    async def upload(request: Request) -> Response:
        """The ZIP in the body, `?name=` of the file, `&main=`, `&parameters=`; JSON with the new version.

        A request with the `Idempotency-Key` of an earlier one is answered with the version that came of that.
        """
        visit = await visits.open(request, "team")
        require_token(visit.session, request.headers.get(TOKEN_HEADER, ""))
        version = await take_upload(visit)
        return json_response({"version": describe(version)}, 201)

    async def upload_by_command(request: Request) -> Response:
        """The same with `Authorization: Bearer CODE`; the answer has a token for questions about the version."""
        new = await visits.accounts.log_in_command(client_address(request), _bearer(request), visits.now())
        if new is None:
            raise _WRONG_CODE
        version = await take_upload(await visits.open(request, "command", token=new.token))
        return json_response({"version": describe(version), "token": new.token}, 201)

    async def take_upload(visit: Visit) -> Version:
        request = visit.request
        assert visit.team_id is not None
        key = request.headers.get(UPLOAD_KEY) or None
        if key is not None and len(key) > _LONGEST_KEY:
            raise WebError(400, "Der Schlüssel des Uploads ist zu lang.", "The key of the upload is too long.")
        if request.headers.get("content-type", "") != _BINARY:
            raise WebError(415, f"Erwartet wird Content-Type {_BINARY}.", f"Expected the Content-Type {_BINARY}.")
        query = request.query_params
        name, main, parameters = (query.get(each, "")[: _LONGEST_NAME + 300] for each in ("name", "main", "parameters"))
        size = number_in(request.headers.get("content-length", "")) or 0
        # the first attempt may have used up what the team may upload
        if key is None or await database.read(uploaded_version, visit.team_id, key) is None:
            await database.read(require_upload_allowed, visit.team_id, size, visit.now)
        async with body_of(request, visit.settings.upload_megabytes * MEGABYTE, UPLOAD_SECONDS) as content:
            options = {"main": main.strip(), "parameters": parameters.strip()}
            version = await database.write(add_upload, visit.team_id, name, content, visit.now, key=key, **options)
        visits.director.wake()
        return version

    def describe(version: Version) -> dict[str, Any]:
        """Return a version as JSON for its team."""
        place, seconds = _place_of(visits, version)
        fault = {"code": version.fault_code, "de": version.fault_de, "en": version.fault_en}
        return {
            "id": version.id,
            "number": version.number,
            "label": version.label,
            "state": version.state,
            "isActive": version.is_active,
            "fullCheck": version.full_check,
            "fault": fault if version.fault_code else None,
            "queue": {"position": place, "seconds": seconds} if place is not None else None,
            "url": f"/versions/{version.id}",
        }

    async def version_by_command(request: Request) -> Response:
        """JSON with a version of the own team, for a session named by `Authorization: Bearer TOKEN`."""
        visit = await visits.open(request, token=_bearer(request))
        if visit.role != "command":
            raise _WRONG_CODE
        return json_response({"version": describe(await own_version(visit))})

    async def own_version(visit: Visit) -> Version:
        """Return the version that the address names. Raises RefusedError unless this visitor may see inside."""
        version = await database.read(get_version, visit.request.path_params["version"])
        if not visit.may_see_inside(version.team_id) or version.team_id is None:
            raise _NO_VERSION
        return version

    async def version_page(request: Request) -> Response:
        """What became of a version: for its team and the teacher."""
        visit = await visits.open(request, "team", "teacher")
        version = await own_version(visit)
        place, seconds = _place_of(visits, version)
        report = await database.read(full_report, version.id)
        return visit.page(
            "version", version=version, place=place, seconds=seconds, warnings=_warnings(report, visit.words.language)
        )

    async def change(request: Request) -> Response:
        """Let an older version play again (`take-back`), or remove one that does not play (`discard`)."""
        visit = await visits.open(request, "team")
        await read_form(request, visit.session)
        assert visit.team_id is not None
        action = request.path_params["action"]
        version_id = request.path_params["version"]
        if action == "take-back":
            await database.write(take_back, visit.team_id, version_id, visit.now)
        elif action == "discard":
            await database.write(discard_version, visit.team_id, version_id, visit.now)
        else:
            raise WebError(404, "Diese Adresse gibt es hier nicht.", "There is no such address here.")
        visits.director.wake()
        return see_other(f"/teams/{visit.team_id}")

    async def challenge(request: Request) -> Response:
        """Ask for a pair of games against another team."""
        visit = await visits.open(request, "team")
        await read_form(request, visit.session)
        assert visit.team_id is not None
        other = request.path_params["team"]
        await database.write(challenge_team, visit.team_id, other, visit.now, seed=random_seed())
        visits.director.wake()
        return visit.page("challenged", other=other)

    async def helpers(request: Request) -> Response:
        """Allow or forbid that the own programs run on other PCs."""
        visit = await visits.open(request, "team")
        form = await read_form(request, visit.session)
        assert visit.team_id is not None
        allows, by = bool(form.get("allow")), actor_of(visit.team_id)
        await database.write(set_allows_helpers, visit.team_id, allows, visit.now, by=by)
        visits.director.wake()
        return see_other(f"/teams/{visit.team_id}")

    return [
        Route("/upload", upload_page),
        Route("/upload", upload, methods=["PUT"]),
        Route("/versions/{version:number}", version_page),
        Route("/versions/{version:number}/{action}", change, methods=["POST"]),
        Route("/teams/{team:number}/challenge", challenge, methods=["POST"]),
        Route("/team/helpers", helpers, methods=["POST"]),
        Route("/api/upload", upload_by_command, methods=["POST"]),
        Route("/api/versions/{version:number}", version_by_command),
    ]


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _place_of(visits: Visits, version: Version) -> tuple[int | None, float | None]:
    """Return the place of a version in the queue of checks, from 1, and the estimated seconds until its verdict."""
    for place, check in enumerate(visits.director.queue, 1):
        if check.version_id == version.id:
            return place, check.seconds
    return None, None


def _warnings(report: Any, language: str) -> list[str]:
    """Return what a full check warns of; nothing of a report of another form."""
    listed = report.get("warnings") if isinstance(report, dict) else None
    texts = [each.get(language) for each in listed or () if isinstance(each, dict)]
    return [text for text in texts if isinstance(text, str)]
