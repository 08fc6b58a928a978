"""What the synchronous and the asynchronous client have in common: nothing here waits."""

from __future__ import annotations

import inspect
import json
import random
import secrets
from typing import Any, Dict, Iterator, List, Mapping, Optional, cast
from urllib.parse import quote

import httpx

from .types import Answer, Event, Match, Problem as ProblemBody, ProblemCode, ProblemErrorsItem

DEFAULT_URL = "http://127.0.0.1:8080"
# The longest pause before a request is sent again, in seconds; a service that asks for more is reported.
LONGEST_PAUSE = 30.0
# A connection that has lived for so long got a token that is good for a while.
GOOD_WHILE = 5.0

KINDS = {
    400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "missing", 409: "conflict", 412: "conflict",
    413: "too large", 422: "invalid", 429: "unavailable", 502: "unavailable", 503: "unavailable", 504: "unavailable",
}


class EarshotError(Exception):
    """What goes wrong with a request."""


class Problem(EarshotError):
    """What the service says of a request that it refuses (RFC 9457)."""

    def __init__(self, status: int, body: ProblemBody, retry_after: Optional[float]) -> None:
        self.status = status
        self.type = body.get("type", "about:blank")
        self.title = body.get("title", "Refused")
        #: What is wrong this time, and the way out.
        self.detail = body.get("detail", "")
        #: Which of all problems it is, as draft_replaced; None where somebody in between has answered.
        self.code: Optional[ProblemCode] = body.get("code")
        #: Of the trigger, with trigger_ended and trigger_owes.
        self.state: Optional[str] = body.get("state")
        #: The limit that is reached, with rate_limited and limit_reached.
        self.limit: Optional[str] = body.get("limit")
        #: Every fault of the body, at most 100, with its place (RFC 6901).
        self.errors: List[ProblemErrorsItem] = body.get("errors", [])
        #: Of a message that is kept undecided: sent again under this id, it is decided.
        self.message_id: Optional[str] = body.get("messageId")
        #: What a message has set off that was to be withdrawn as a draft.
        self.matches: List[Match] = body.get("matches", [])
        #: The earlier name of matches, the same.
        self.triggers = self.matches
        #: For how many seconds the service wants to be left alone.
        self.retry_after = retry_after
        faults = [f"{fault['pointer']}: {fault['detail']}" if fault["pointer"] else fault["detail"] for fault in self.errors]
        super().__init__("; ".join([f"{status} {self.title}" + (f": {self.detail}" if self.detail else ""), *faults]))

    @property
    def kind(self) -> str:
        """What went wrong: invalid, unauthorized, forbidden, missing, conflict, too large, unavailable or other."""
        return KINDS.get(self.status, "other")


class NoAnswer(EarshotError):
    """A request that got no answer, or no whole one: nobody knows whether it arrived."""


class Said(Answer):
    """What a message set off, and the first things that are looked for in it."""

    # What to ask the user next, where a call lacks values and its parameter has a question.
    ask: Optional[str]
    # The reply for people: a text as it is, a result as JSON; None for none.
    text: Optional[str]


def said(answer: Answer) -> Said:
    questions = [rejected["ask"] for rejected in answer["rejected"] if "ask" in rejected]
    reply = answer.get("reply")
    text = reply if reply is None or isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    return cast(Said, {**answer, "ask": questions[0] if questions else None, "text": text})


def problem_of(response: httpx.Response) -> Problem:
    """A refusal whose body was read. What is none of Earshot's is said to be so."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or body.get("status") != response.status_code:
        body = {"title": response.reason_phrase or "Refused", "detail": "the answer is not one of Earshot's: is the URL right?"}
    after = response.headers.get("Retry-After", "")
    return Problem(response.status_code, cast(ProblemBody, body), float(after) if after.isdigit() else None)


def not_a_stream(response: httpx.Response) -> Problem:
    body: Dict[str, Any] = {"title": "No stream of events", "detail": "the answer is not one of Earshot's: is the URL right?"}
    return Problem(response.status_code, cast(ProblemBody, body), None)


def pause_before(error: EarshotError, repeatable: bool, attempt: int) -> Optional[float]:
    """The seconds after which a request may go well when it is sent again; None where it will not."""
    longest = min(0.1 * 2.0 ** min(attempt, 10), 5.0)
    pause = longest / 2 + random.random() * longest / 2
    if not isinstance(error, Problem):
        unsent = isinstance(error.__cause__, httpx.ConnectError)
        return pause if repeatable or unsent else None
    taken = error.status in (502, 504)  # it may have been done
    asked = error.retry_after or 0.0
    if error.kind != "unavailable" or (taken and not repeatable) or asked > LONGEST_PAUSE:
        return None
    return max(pause, asked)


def join(*segments: str) -> str:
    """The path of segments, escaped."""
    return "".join("/" + quote(segment, safe="") for segment in segments)


def filled(route: str, app: str, segments: Mapping[str, str]) -> str:
    """A route of /openapi.json with its segments, escaped. The app is the client's."""
    path = route.replace("/v1/apps/{appId}", app)
    for name, value in segments.items():
        path = path.replace("{" + name + "}", quote(value, safe=""))
    return path


def takes_two(handler: Any) -> bool:
    """Whether a handler takes the trigger beside its values."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return True
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 or any(one.kind == one.VAR_POSITIONAL for one in parameters)


def new_id() -> str:
    """An id that nobody else makes."""
    return secrets.token_hex(16)


def present(**fields: Any) -> Dict[str, Any]:
    """Those fields that are given."""
    return {name: value for name, value in fields.items() if value is not None}


def queried(fields: Mapping[str, Any]) -> Dict[str, str]:
    """Those that are given, as a query has them."""
    flat: Dict[str, Any] = {}
    for name, value in fields.items():
        flat.update({f"{name}[{member}]": of for member, of in value.items()} if isinstance(value, Mapping) else {name: value})
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in flat.items() if value is not None}


class Frame:
    """One frame of a stream of events. One without a kind says where the stream is."""

    def __init__(self, id: str, kind: str, data: str) -> None:
        self.id, self.kind, self.data = id, kind, data

    def event(self) -> Optional[Event]:
        """The event, where it is one: what somebody else has published and is no JSON is left."""
        if not self.kind or self.kind.startswith("token."):
            return None
        try:
            return cast(Event, {"id": self.id, "kind": self.kind, "data": json.loads(self.data)})
        except ValueError:
            return None


class Parser:
    """Reads a stream of server-sent events, in whatever pieces it comes. Its lines end with a line feed."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: Dict[str, List[str]] = {}

    def push(self, piece: bytes) -> Iterator[Frame]:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            name, _, value = line.rstrip(b"\r").decode().partition(":")
            if name:
                self._fields.setdefault(name, []).append(value[1:] if value.startswith(" ") else value)
            elif not line.strip():
                frame = Frame(self._last("id"), self._last("event"), "\n".join(self._fields.get("data", [])))
                self._fields = {}
                if frame.id or frame.kind:
                    yield frame

    def _last(self, name: str) -> str:
        return self._fields.get(name, [""])[-1]
