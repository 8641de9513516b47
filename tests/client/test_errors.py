from __future__ import annotations

from client.errors import AuthenticationError, ClientError, RequestRefusedError, refusal
from protocol.messages import AuthenticateRequest, JoinRequest


def test_a_refused_password_is_an_error_of_its_own() -> None:
    error = refusal("Failed to authenticate as administrator", AuthenticateRequest("wrong"))
    assert isinstance(error, AuthenticationError)
    assert str(error) == "Failed to authenticate as administrator"


def test_any_other_refusal_keeps_text_and_request() -> None:
    for request in (JoinRequest("swc"), None):
        error = refusal("no", request)
        assert type(error) is RequestRefusedError
        assert isinstance(error, ClientError)
        assert error.request == request
