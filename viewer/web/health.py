"""`/healthz` and `/metrics`: whether new games can be played, and figures in the format of Prometheus.

Invariants: `/healthz` has status 200 as long as new games can be played, and 503 once the server has begun to stop.
Both answer at once and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from spielleiter.server.metrics import CONTENT_TYPE, Metrics


def health_routes(metrics: Metrics, is_stopping: Callable[[], bool]) -> list[Route]:
    """Return the routes of both addresses; `is_stopping` says whether the server has begun to stop."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("stopping\n", 503) if is_stopping() else PlainTextResponse("ok\n")

    async def show_metrics(_request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    return [Route("/healthz", healthz), Route("/metrics", show_metrics)]
