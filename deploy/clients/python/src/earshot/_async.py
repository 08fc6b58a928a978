from __future__ import annotations

import asyncio
import inspect
import json
import os
import time
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union, cast

import httpx

from . import types
from ._version import USER_AGENT
from ._wire import DEFAULT_URL, GOOD_WHILE, EarshotError, Frame, NoAnswer, Parser, Problem, Said, filled, join, new_id, not_a_stream, pause_before, present, problem_of, queried, said, takes_two

Self = TypeVar("Self")
Handler = Callable[..., Any]


class _Service:
    """Sends requests, again where that helps and does no harm."""

    def __init__(self, url: str, key: Union[str, Callable[[], Any]], retries: int, timeout: float, silence: float, http: Optional[httpx.AsyncClient]) -> None:
        self.url = url.rstrip("/")
        self.key, self.retries, self.timeout, self.silence = key, retries, timeout, silence
        self.known: Optional[str] = None  # what the function has said
        self.own = http is None
        self.http = http or httpx.AsyncClient()

    async def send(self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] = {}, headers: Mapping[str, str] = {}, repeatable: bool = True) -> Any:
        """The answer's JSON, or None where it has none."""
        attempt, renewed = 0, False
        while True:
            try:
                return await self._once(method, path, body, query, headers)
            except EarshotError as error:
                if self.refused(error) and not renewed:
                    renewed = True
                    continue
                pause = pause_before(error, repeatable, attempt)
                if pause is None or attempt >= self.retries:
                    raise
            await asyncio.sleep(pause)
            attempt += 1

    @property
    def renews(self) -> bool:
        """Whether a token that ends can be followed by another one."""
        return callable(self.key)

    def renew(self) -> None:
        """Lets the next request ask for another token."""
        self.known = None

    def refused(self, error: EarshotError) -> bool:
        """Whether it is the token that was refused, and another one may do."""
        if not (isinstance(error, Problem) and error.status == 401 and self.renews):
            return False
        self.renew()
        return True

    async def _bearer(self) -> str:
        if not callable(self.key):
            return self.key
        if self.known is None:
            made = self.key()
            self.known = cast(str, await made if inspect.isawaitable(made) else made)
        return self.known

    async def lines(self, path: str) -> AsyncIterator[Any]:
        """The JSON of each line of an answer, as it comes."""
        renewed = False
        while True:
            try:
                response = await self.open("GET", path, None, {}, {}, httpx.Timeout(self.timeout))
                break
            except EarshotError as error:
                if renewed or not self.refused(error):
                    raise
                renewed = True
        try:
            async for line in response.aiter_lines():
                if line.strip():
                    yield json.loads(line)
        except httpx.TransportError as error:
            raise NoAnswer(f"GET {path}: the answer broke off") from error
        finally:
            await response.aclose()

    async def _once(self, method: str, path: str, body: Any, query: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        response = await self.open(method, path, body, query, headers, httpx.Timeout(self.timeout))
        try:
            text = await response.aread()
        except httpx.TransportError as error:
            raise NoAnswer(f"{method} {path}: the answer broke off") from error
        finally:
            await response.aclose()
        return json.loads(text) if text else None

    async def open(self, method: str, path: str, body: Any, query: Mapping[str, Any], headers: Mapping[str, str], timeout: httpx.Timeout) -> httpx.Response:
        """Sends one request. The caller reads the answer, and closes it; a refusal is raised as a Problem."""
        sent = dict(headers)
        sent.setdefault("User-Agent", USER_AGENT)
        key = await self._bearer()
        if key:
            sent["Authorization"] = f"Bearer {key}"
        request = self.http.build_request(method, self.url + path, json=body, params=queried(query), headers=sent, timeout=timeout)
        try:
            response = await self.http.send(request, stream=True)
            if response.status_code >= 300:
                await response.aread()
                await response.aclose()
                raise problem_of(response)
        except httpx.TransportError as error:
            raise NoAnswer(f"{method} {path}: no answer: {error}") from error
        return response


class AsyncFollowed:
    """Events that are followed. A connection that ends, or is silent for too long, is made again and goes on where it was."""

    def __init__(self, service: _Service, path: str, after: str) -> None:
        self._service, self._path, self._after = service, path, after
        self._response: Optional[httpx.Response] = None
        self._frames: Optional[AsyncIterator[Frame]] = None

    async def __aenter__(self: Self) -> Self:
        followed = cast(AsyncFollowed, self)
        await followed._connect(followed._service.retries)
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self._leave()

    async def __aiter__(self) -> AsyncIterator[types.Event]:
        attempt = 0
        while True:
            begun, renews = time.monotonic(), self._service.renews
            try:
                async for frame in self._following():
                    attempt = 0
                    self._after = frame.id or self._after
                    if frame.kind == "token.expired" and not renews:
                        return
                    if frame.kind == "token.expired" or (frame.kind == "token.expiring" and renews and time.monotonic() - begun > GOOD_WHILE):
                        self._service.renew()
                        break
                    event = frame.event()
                    if event is not None:
                        yield event
            except httpx.TransportError:
                pass  # as where it ends
            await asyncio.sleep(pause_before(NoAnswer(), True, attempt) or 0)
            attempt += 1
            await self._connect(None)

    async def _following(self) -> AsyncIterator[Frame]:
        if self._frames is None:
            await self._connect(None)
        assert self._frames is not None
        async for frame in self._frames:
            yield frame

    async def _connect(self, times: Optional[int]) -> None:
        """Makes the connection, again where that may help: so often, or for as long as it takes."""
        attempt, renewed = 0, False
        while True:
            await self._leave()
            try:
                return await self._begin()
            except EarshotError as error:
                if self._service.refused(error) and not renewed:
                    renewed = True
                    continue
                pause = pause_before(error, True, attempt)
                if pause is None or attempt == times:
                    raise
            await asyncio.sleep(pause)
            attempt += 1

    async def _begin(self) -> None:
        headers = {"Accept": "text/event-stream", **present(**{"Last-Event-ID": self._after or None})}
        timeout = httpx.Timeout(self._service.timeout, read=self._service.silence)
        self._response = await self._service.open("GET", self._path, None, {}, headers, timeout)
        if not self._response.headers.get("Content-Type", "").startswith("text/event-stream"):
            raise not_a_stream(self._response)
        self._frames = self._read(self._response)
        try:
            async for first in self._frames:  # where the stream is: what comes from here on is not missed
                self._after = first.id or self._after
                return
        except httpx.TransportError as error:
            raise NoAnswer(f"GET {self._path}: the events broke off") from error
        raise NoAnswer(f"GET {self._path}: the events ended")

    async def _read(self, response: httpx.Response) -> AsyncIterator[Frame]:
        parser = Parser()
        async for piece in response.aiter_bytes():
            for frame in parser.push(piece):
                yield frame

    async def _leave(self) -> None:
        response, self._response, self._frames = self._response, None, None
        if response is not None:
            await response.aclose()


class AsyncScope:
    """What an app and a session have in common."""

    def __init__(self, service: _Service, path: str, app: str) -> None:
        self._service, self._path, self._app = service, path, app

    async def fire(self, name: str, values: Optional[Mapping[str, Any]] = None, *, source: str = "agent", trigger_id: Optional[str] = None, repository_id: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None) -> types.Match:
        """Fires a tool in scope without the matcher: once, however often the request has to be sent."""
        body = present(name=name, values=values, source=source, triggerId=trigger_id or new_id(), repositoryId=repository_id, metadata=metadata)
        return cast(types.Match, await self._service.send("POST", f"{self._path}/triggers", body))

    async def put_tools(self, repository_id: str, tools: Sequence[types.Tool], options: Optional[types.Options] = None) -> types.StoredRepository:
        """Makes a repository of these tools, or replaces it."""
        return cast(types.StoredRepository, await self._service.send("PUT", self._repository(repository_id), present(tools=list(tools), options=options)))

    async def put_repository(self, repository: Mapping[str, Any]) -> types.StoredRepository:
        """Makes or replaces a repository. Without a repositoryId the service makes one up."""
        if repository.get("repositoryId"):
            return cast(types.StoredRepository, await self._service.send("PUT", self._repository(repository["repositoryId"]), repository))
        return cast(types.StoredRepository, await self._service.send("POST", f"{self._path}/repositories", repository, repeatable=False))

    async def patch_repository(self, repository_id: str, tools: Sequence[types.Tool], options: Optional[types.Options] = None) -> types.StoredRepository:
        """Adds or replaces tools of a repository by their names, and its options if they are given."""
        return cast(types.StoredRepository, await self._service.send("PATCH", self._repository(repository_id), present(tools=list(tools), options=options)))

    async def repository(self, repository_id: str) -> types.StoredRepository:
        """Reads one repository."""
        return cast(types.StoredRepository, await self._service.send("GET", self._repository(repository_id)))

    async def repositories(self) -> AsyncIterator[types.StoredRepository]:
        """The repositories."""
        async for repository in self._pages("/repositories"):
            yield cast(types.StoredRepository, repository)

    async def delete_repository(self, repository_id: str) -> None:
        """Removes a repository with its tools."""
        await self._service.send("DELETE", self._repository(repository_id))

    async def delete_tool(self, repository_id: str, name: str) -> None:
        """Removes one tool of a repository."""
        await self._service.send("DELETE", self._repository(repository_id) + join("tools", name))

    def _repository(self, repository_id: str) -> str:
        return f"{self._path}{join('repositories', repository_id)}"

    async def find_tools(self, text: str, limit: Optional[int] = None) -> List[types.ScopedTool]:
        """The tools in scope that a text is about, the nearest first; the service's limit is 10."""
        found = await self._service.send("POST", f"{self._path}/tools/search", present(text=text, limit=limit))
        return cast(List[types.ScopedTool], found["items"])

    async def tools(self) -> List[types.ScopedTool]:
        """The tools in scope, each as a model sees it."""
        return [cast(types.ScopedTool, one) async for one in self._pages("/tools")]

    async def triggers(self, **query: Any) -> AsyncIterator[types.Record]:
        """Records of triggers, the newest first: state, name, since, until, order and so on narrow them down."""
        async for record in self._pages("/triggers", **query):
            yield cast(types.Record, record)

    async def _pages(self, path: str, **query: Any) -> AsyncIterator[Any]:
        while True:
            page = await self._service.send("GET", self._path + path, query=query)
            for item in page["items"]:
                yield item
            if "next" not in page:
                return
            query = {**query, "after": page["next"]}

    def follow(self, after: str = "") -> AsyncFollowed:
        """The events from now on, or behind the one of an id; "0" is from the first that is kept.

        The service sends them from the beginning of the with block on: what is said in it is not missed.
        """
        return AsyncFollowed(self._service, f"{self._path}/events", after)

    async def events(self, after: str = "") -> AsyncIterator[types.Event]:
        """As follow, without a with block: the events are followed once the first is asked for."""
        async with self.follow(after) as followed:
            async for event in followed:
                yield event

    async def trigger(self, trigger_id: str) -> types.Record:
        """Reads the record of a trigger, with all attempts; of a session as well as of its app."""
        return cast(types.Record, await self._service.send("GET", f"{self._app}{join('triggers', trigger_id)}"))

    async def retry(self, trigger_id: str) -> types.Record:
        """Delivers again what has failed of a trigger, and reads its record."""
        await self._decide(trigger_id, "retry")  # the answer has no body
        return await self.trigger(trigger_id)

    async def confirm(self, trigger_id: str, digest: str) -> types.Record:
        """Lets a trigger go that waits for a yes. The digest is that of its match or its tool.confirm."""
        return await self._decide(trigger_id, "confirm", {"digest": digest})

    async def deny(self, trigger_id: str) -> types.Record:
        """Ends what waits for a yes."""
        return await self._decide(trigger_id, "deny")

    async def cancel(self, trigger_id: str) -> types.Record:
        """Takes back what settles."""
        return await self._decide(trigger_id, "cancel")

    async def answer(self, trigger_id: str, result: Any = None) -> types.Record:
        """Says what came of a trigger that waits for an answer. The first answer holds."""
        return await self._decide(trigger_id, "answer", {"ok": True, "result": result})

    async def fail(self, trigger_id: str, error: str) -> types.Record:
        """Says that what a trigger asks for was not done, and why."""
        return await self._decide(trigger_id, "answer", {"ok": False, "error": error})

    async def _decide(self, trigger_id: str, how: str, body: Any = None) -> types.Record:
        return cast(types.Record, await self._service.send("POST", f"{self._app}{join('triggers', trigger_id)}/{how}", body))

    async def serve(self, handlers: Mapping[str, Handler], after: str = "") -> None:
        """Answers the triggers of tools that wait for an answer, by their names, one after the other.

        A handler gets the values and the trigger; one of a single parameter gets the values. What it returns is the result, and what it raises the reason why it was not done. It goes on
        until it is interrupted. Delivery is at least once; the first answer to a trigger holds.
        """
        async with self.follow(after) as events:
            async for event in events:
                if event["kind"] == "tool.trigger" and "answer" in event["data"] and event["data"]["name"] in handlers:
                    await self._handle(event["data"], handlers[event["data"]["name"]])

    async def _handle(self, trigger: types.EventFired, handler: Handler) -> None:
        try:
            result = handler(trigger["values"], trigger) if takes_two(handler) else handler(trigger["values"])
            if inspect.isawaitable(result):
                result = await result
            json.dumps(result)
        except Exception as error:
            result, failed = None, str(error) or type(error).__name__
        else:
            failed = ""
        try:
            if failed:
                await self.fail(trigger["id"], failed)
            else:
                await self.answer(trigger["id"], result)
        except Problem:
            pass  # nobody waits for the answer any more


class AsyncClient(AsyncScope):
    """A client of one app of a service. Its requests are sent again where that helps and does no harm.

    url is EARSHOT_URL where it is missing, else http://127.0.0.1:8080; key is EARSHOT_KEY, else EARSHOT_ADMIN_KEY.
    key may be a function, which is asked again when its token is refused, and before one ends on which events
    come. timeout and silence are seconds: for a request, and
    for how long events may be silent. The service says something every 15 seconds.
    """

    def __init__(self, url: Optional[str] = None, *, app: str, key: Union[str, Callable[[], Any], None] = None, retries: int = 3, timeout: float = 120.0, silence: float = 45.0, http: Optional[httpx.AsyncClient] = None) -> None:
        url = url or os.environ.get("EARSHOT_URL") or DEFAULT_URL
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not the URL of a service, as {DEFAULT_URL}")
        if key is None:
            key = os.environ.get("EARSHOT_KEY") or os.environ.get("EARSHOT_ADMIN_KEY") or ""
        path = f"/v1{join('apps', app)}"
        super().__init__(_Service(url, key, retries, timeout, silence, http), path, path)

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes its connections, unless they are those of a client of your own."""
        if self._service.own:
            await self._service.http.aclose()

    def session(self, session_id: str) -> AsyncSession:
        """Names a conversation."""
        return AsyncSession(self._service, f"{self._path}{join('sessions', session_id)}", self._app)

    async def put(self, app: types.App) -> types.StoredApp:
        """Makes the app, or replaces it. The admin makes one; a key of scope app replaces its own."""
        return cast(types.StoredApp, await self._service.send("PUT", self._path, app))

    async def get(self) -> types.StoredApp:
        """Reads what the app is made of. Credentials read as ***."""
        return cast(types.StoredApp, await self._service.send("GET", self._path))

    async def patch(self, patch: Mapping[str, Any]) -> types.StoredApp:
        """Changes a part of the app by a JSON merge patch (RFC 7386)."""
        return cast(types.StoredApp, await self._service.send("PATCH", self._path, patch))

    async def delete(self) -> None:
        """Removes the app with all that is its own."""
        await self._service.send("DELETE", self._path)

    async def make_key(self, key: types.KeyRequest) -> types.MadeKey:
        """Makes a key of the app. It is shown this once."""
        return cast(types.MadeKey, await self._service.send("POST", f"{self._path}/keys", key, repeatable=False))

    async def keys(self) -> AsyncIterator[types.Key]:
        """The app's keys, without what they are."""
        async for key in self._pages("/keys"):
            yield cast(types.Key, key)

    async def revoke_key(self, key_id: str) -> None:
        """Ends a key, and those that it made."""
        await self._service.send("DELETE", f"{self._path}{join('keys', key_id)}")

    async def apps(self) -> AsyncIterator[types.StoredApp]:
        """All apps of the service, which takes the admin's key."""
        query: Dict[str, Any] = {}
        while True:
            page = await self._service.send("GET", "/v1/apps", query=query)
            for app in page["items"]:
                yield cast(types.StoredApp, app)
            if "next" not in page:
                return
            query = {"after": page["next"]}

    async def who_am_i(self) -> types.Caller:
        """Whom the service takes the client for."""
        return cast(types.Caller, await self._service.send("GET", "/v1/whoami"))

    async def export_user(self, user: str) -> AsyncIterator[Any]:
        """All that is kept of the sessions of a user, line by line."""
        async for line in self._service.lines(f"{self._path}{join('users', user)}/export"):
            yield line

    async def sessions(self, **query: Any) -> AsyncIterator[types.Session]:
        """The sessions of the app: user, metadata, state, usedSince and usedBefore narrow them down."""
        async for session in self._pages("/sessions", **query):
            yield cast(types.Session, session)

    async def erase_user(self, user: str) -> int:
        """Forgets all sessions of a user, those that have ended as well, and says how many."""
        erased = cast(types.ErasedUser, await self._service.send("DELETE", f"{self._path}{join('users', user)}", query={"erase": True}))
        return erased["erased"]

    async def call(self, method: str, route: str, body: Any = None, *, path: Mapping[str, str] = {}, query: Mapping[str, Any] = {}) -> Any:
        """Calls any route of the service: call("GET", "/v1/apps/{appId}/keys/{keyId}", path={"keyId": "k1"}). The answer's JSON.

        It is sent again where its answer was lost, unless it is a POST.
        """
        return await self._service.send(method, filled(route, self._path, path), body, query=query, repeatable=method.upper() != "POST")

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The earlier name of call, for routes below the app: request("GET", "/keys"). Deprecated."""
        return await self._service.send(method, self._path + path, body, query=query, repeatable=method.upper() != "POST")


class AsyncSession(AsyncScope):
    """One conversation of an app. Making one asks nobody, and a session begins with its first use."""

    async def say(self, text: str, *, message_id: Optional[str] = None, actor: str = "user", language: Optional[str] = None, time_zone: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None, user: Optional[str] = None, id_tokens: Mapping[str, str] = {}, dry_run: Optional[bool] = None, explain: Optional[bool] = None) -> Said:
        """Posts what a user says, and waits for what it sets off.

        It has an id, under which it counts once, however often the request has to be sent. id_tokens are those of
        the user, by the names of the app's authServices.
        """
        return await self._post(text, message_id or new_id(), id_tokens, present(dryRun=dry_run, explain=explain), actor=actor, language=language, timeZone=time_zone, metadata=metadata, user=user)

    async def draft(self, text: str, *, message_id: str, language: Optional[str] = None, time_zone: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None, user: Optional[str] = None, id_tokens: Mapping[str, str] = {}, explain: Optional[bool] = None) -> Said:
        """Matches what a user has said so far, as an interim transcript: nothing fires. The same id with another text replaces it."""
        return await self._post(text, message_id, id_tokens, present(explain=explain), actor="user", language=language, timeZone=time_zone, metadata=metadata, user=user, final=False)

    async def _post(self, text: str, message_id: str, id_tokens: Mapping[str, str], query: Dict[str, Any], **more: Any) -> Said:
        headers = {f"{service}_token": token for service, token in id_tokens.items()}
        body = present(text=text, messageId=message_id, **more)
        return said(await self._service.send("POST", f"{self._path}/messages", body, query=query, headers=headers))

    async def commit(self, message_id: str) -> Said:
        """Decides a draft."""
        return said(await self._service.send("POST", f"{self._path}{join('messages', message_id)}/commit"))

    async def withdraw(self, message_id: str) -> None:
        """Takes a draft back. Of a message that was decided it is a Problem of kind conflict, with its triggers."""
        await self._service.send("DELETE", f"{self._path}{join('messages', message_id)}")

    async def send(self, text: str, *, message_id: Optional[str] = None, actor: str = "user", language: Optional[str] = None, time_zone: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None, user: Optional[str] = None, id_tokens: Mapping[str, str] = {}) -> str:
        """Posts a message and waits only until it is stored; what it sets off comes as events. The message's id."""
        headers = {f"{service}_token": token for service, token in id_tokens.items()}
        body = present(text=text, messageId=message_id or new_id(), actor=actor, language=language, timeZone=time_zone, metadata=metadata, user=user)
        taken = await self._service.send("POST", f"{self._path}/messages", body, headers={**headers, "Prefer": "respond-async"})
        return cast(str, taken["messageId"])

    async def message(self, message_id: str) -> types.Entry:
        """Reads one message with what came of it."""
        return cast(types.Entry, await self._service.send("GET", f"{self._path}{join('messages', message_id)}"))

    async def explain(self, message_id: str) -> Any:
        """Why a message came out as it did."""
        return await self._service.send("GET", f"{self._path}{join('messages', message_id)}/explain")

    async def export(self) -> AsyncIterator[Any]:
        """All that is kept of the session, line by line."""
        async for line in self._service.lines(f"{self._path}/export"):
            yield line

    async def history(self, **query: Any) -> AsyncIterator[types.Entry]:
        """The earlier name of messages. Deprecated."""
        async for entry in self.messages(**query):
            yield entry

    async def messages(self, **query: Any) -> AsyncIterator[types.Entry]:
        """What was said, the oldest first; since and order are as the service takes them."""
        async for entry in self._pages("/messages", **query):
            yield cast(types.Entry, entry)

    async def state(self) -> types.Session:
        """The earlier name of get. Deprecated."""
        return await self.get()

    async def get(self) -> types.Session:
        """The session, with the calls that lack values (open). One that nobody used is a Problem of kind missing."""
        return cast(types.Session, await self._service.send("GET", self._path))

    async def put(self, session: types.SessionRequest) -> types.Session:
        """Says what is known of the session in advance."""
        return cast(types.Session, await self._service.send("PUT", self._path, session))

    async def token(self, expires_in: Optional[str] = None) -> types.MadeToken:
        """Makes a token for a front-end, good for this session alone, as long as is said: "1h"."""
        return cast(types.MadeToken, await self._service.send("POST", f"{self._path}/token", present(expiresIn=expires_in)))

    async def close(self, *, erase: Optional[bool] = None) -> None:
        """Ends the session: its history and its repositories go. With erase all that was said and done in it."""
        await self._service.send("DELETE", self._path, query=present(erase=erase))

    async def erase(self) -> None:
        """Forgets all that was said and done in the session, on the streams too. What is owed is dropped."""
        await self.close(erase=True)
