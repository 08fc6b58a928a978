"""The bodies and events of the service. Written by generate.py: do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union


EventId = str
EventToolName = str
FaultCode = Literal['unknown_field', 'not_allowed', 'missing', 'wrong_type', 'not_supported', 'malformed_json', 'invalid_value']
Id = str
MergePatch = Dict[str, Any]
ProblemCode = Literal['invalid_body', 'invalid_query', 'invalid_cursor', 'invalid_path', 'invalid_header', 'invalid_idempotency_key', 'idempotency_key_differs', 'max_tokens_exceeded', 'capability_missing', 'key_missing', 'key_invalid', 'key_expired', 'user_unverified', 'forbidden', 'scope_missing', 'origin_not_allowed', 'host_not_allowed', 'model_not_allowed', 'not_found', 'unknown_path', 'unknown_app', 'unknown_session', 'unknown_repository', 'unknown_tool', 'unknown_version', 'unknown_test', 'unknown_webhook', 'unknown_trigger', 'unknown_message', 'unknown_draft', 'unknown_key', 'unknown_module', 'not_explained', 'method_not_allowed', 'body_timeout', 'message_id_reused', 'draft_replaced', 'draft_decided', 'trigger_id_reused', 'trigger_ended', 'trigger_owes', 'digest_differs', 'no_answer_awaited', 'session_closed', 'session_of_another_user', 'in_use', 'precondition_failed', 'body_too_long', 'unsupported_media_type', 'invalid_values', 'limit_reached', 'scopes_exceeded', 'upgrade_required', 'rate_limited', 'sign_in_paused', 'streams_exceeded', 'internal_error', 'model_not_configured', 'message_undecided', 'model_unreachable', 'model_busy', 'issuer_unavailable', 'store_unavailable', 'store_full', 'events_unavailable', 'session_erasing', 'overloaded', 'not_ready', 'interrupted']
Reason = Literal['auth', 'request', 'timeout', 'blocked', 'outcome_unknown', 'cancelled']
ToolName = str

class Accepted(TypedDict):
    """A message that is stored and not decided yet."""
    # The message, under its own id or the one that was made for it.
    messageId: str


class _Answer(TypedDict):
    # The tools that fired.
    matches: List[Match]
    # The message: the id that was sent, or the one that was made.
    messageId: str
    # The tools that the message called for and that did not fire, since values are missing or wrong.
    rejected: List[Rejected]
    # The model's text, the result of a returnDirect tool, or null for no reply.
    reply: Any
    # The front-end should not answer by itself.
    skipResponse: bool


class Answer(_Answer, total=False):
    """What a message fired."""
    # Why ID tokens were refused, by service: expired; audience: for another client; signature, issuer, or its
    # time has not come; malformed; claim: it is good, and a tool in scope needs another one; unavailable: the
    # issuer did not answer. Missing if all do.
    auth: Dict[str, Literal['expired', 'audience', 'signature', 'malformed', 'claim', 'unavailable']]
    # With explain=true: the explanation. Missing if it is no longer kept.
    explain: Explanation
    # json where the reply is a result that is no text; missing for a text.
    replyType: Literal['json']
    # The triggers that settled, of tools with cancelOnNext, and that the message took back. Missing if there
    # are none.
    retracted: List[Retracted]


class App(TypedDict, total=False):
    """A tenant."""
    # The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    appId: str
    # Issuers of ID tokens that are verified. A front-end sends a user's token in the header {name}_token.
    authServices: List[AuthService]
    # OAuth2 clients of the app, with which its tools can authenticate calls.
    modules: List[Module]
    # What people call it, as shown in lists.
    name: str
    # What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request.
    notes: List[str]
    # How messages of the app are matched and answered, and its limits.
    settings: Settings
    # Signs calls (Standard Webhooks): whsec_ and base64, or 24 to 64 bytes in base64. While receivers change
    # over, several with spaces between them. A credential. Never returned: reads as ***; *** sent back keeps
    # what is stored.
    signingSecret: str
    # Databases and APIs that tools of a type work on.
    sources: List[Source]


class _AppList(TypedDict):
    # The page.
    items: List[StoredApp]


class AppList(_AppList, total=False):
    """A page of apps, by id."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _Attempt(TypedDict):
    # Its number, from 1.
    attempt: int
    # What was to be delivered: the event, the emitter's event, the call, or the event with the call's result.
    effect: Literal['event', 'emitter', 'call', 'result']
    # When it began.
    ts: str


class Attempt(_Attempt, total=False):
    """One attempt to deliver an effect of a trigger."""
    # Why it failed, in words.
    error: str
    # How long it took, in milliseconds.
    ms: int
    # Why it failed.
    reason: Reason
    # What the call has sent.
    request: Sent
    # How the answer begins, of a call that was not delivered; its credentials masked.
    response: str
    # HTTP status, if there was an answer.
    status: int
    # It began, but its replica died before its end was recorded. It may have been sent.
    unended: bool


class _AuditEntry(TypedDict):
    # What was done.
    action: Literal['trigger.confirm', 'trigger.deny', 'trigger.cancel', 'trigger.retry', 'trigger.remove', 'triggers.retry', 'triggers.purge', 'session.erase', 'user.erase', 'key.create', 'key.revoke', 'app.change', 'app.delete', 'repository.change', 'repository.delete', 'tool.delete', 'webhook.resend']
    # Who did it: the id of a key; admin; module: and the id of a module; service: and the name of the service
    # that has verified a user; session, a front-end by its session token; user, the words of a user.
    by: str
    # Names the entry.
    id: str
    # When it was done, or was about to be.
    ts: str
    # By which way.
    via: Literal['rest', 'nats', 'mcp', 'sermas', 'console', 'message']


class AuditEntry(_AuditEntry, total=False):
    """Something that was done to an app."""
    # The key that was made or revoked.
    keyId: Id
    # The name of that key.
    keyName: str
    # The repository.
    repositoryId: Id
    # The X-Request-Id of the request, which stands in the log.
    requestId: str
    # The session that was erased.
    sessionId: Id
    # The tool.
    toolName: str
    # The trigger.
    triggerId: Id
    # The webhook.
    webhookName: Id


class _AuditList(TypedDict):
    # The page.
    items: List[AuditEntry]


class AuditList(_AuditList, total=False):
    """A page of entries, the newest first."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _AuthService(TypedDict):
    # Name of the service, which is part of the header {name}_token: 1 to 128 of A-Z a-z 0-9 _ -, the first a
    # letter or digit.
    name: str
    # google: Google's ID tokens; oidc: those of any OpenID Connect issuer.
    type: Literal['google', 'oidc']


class AuthService(_AuthService, total=False):
    """How ID tokens are verified: google needs clientId, oidc needs issuer and audience."""
    # Of oidc: the origin at which agents reach this service, as https://earshot.example. Access tokens of the
    # issuer are valid at the app's MCP URLs there.
    agents: str
    # Of oidc: the aud that tokens must be for.
    audience: str
    # Of google: the OAuth client that tokens must be for.
    clientId: str
    # Of oidc: the iss of its tokens, an absolute http or https URL under which its keys are found.
    issuer: str


class Backlog(TypedDict):
    """What an app has to do: its pending triggers and those that have failed. What the pending ones wait for
    is counted of the oldest 5,000."""
    # Wait for a confirmation.
    confirming: int
    # Those that have failed and were neither retried nor removed.
    failed: Stock
    # Wait for the first attempt at their call, or its end.
    firstAttempts: int
    # Wait for a further attempt at their call.
    laterAttempts: int
    # How many were looked at for these four.
    looked: int
    # Those that wait for something, held back ones among them.
    pending: Stock
    # Can still be taken back.
    settling: int


class Basic(TypedDict):
    """A user and a password (RFC 7617)."""
    # A credential. Never returned: reads as ***; *** sent back keeps what is stored.
    password: str
    # The user.
    username: str


class _Bearer(TypedDict):
    # Where to get tokens: an absolute http or https URL.
    tokenUrl: str


class Bearer(_Bearer, total=False):
    """An OAuth2 client, and where to get its tokens. Tokens are kept, and renewed before they expire."""
    # Sent with the request for a token, if the service needs one.
    audience: str
    # The OAuth client.
    clientId: str
    # The client's secret. A credential. Never returned: reads as ***; *** sent back keeps what is stored.
    clientSecret: str
    # The grant (RFC 6749). Default: client_credentials.
    clientType: Literal['client_credentials', 'password']
    # Of the grant password. A credential. Never returned: reads as ***; *** sent back keeps what is stored.
    password: str
    # Where to renew tokens, if that is another URL: absolute, http or https.
    refreshUrl: str
    # Scopes to ask for with the token.
    scopes: List[str]
    # Of the grant password: the user.
    username: str


class _CallState(TypedDict):
    # How often it was tried.
    attempts: int
    # delivered: it was answered with 2xx. pending: it is stored, and will be retried. failed: it has failed
    # for good. dry, draft: in a dry run or a draft, it would be pending. confirming, cancelled, duplicate: it
    # is not due, or not yet, as the trigger.
    state: Literal['delivered', 'pending', 'failed', 'dry', 'draft', 'confirming', 'cancelled', 'duplicate']


class CallState(_CallState, total=False):
    """How far a call has come."""
    # Why it failed, in words.
    error: str
    # Why it failed.
    reason: Reason
    # What the endpoint answered: its JSON, else its text as a JSON string. Rows of a SQL tool are an array of
    # objects.
    result: Any
    # HTTP status of the last attempt; missing if there was no answer.
    status: int
    # The result was longer than 64 KiB (of a SQL tool 1,000 rows or 256 KiB) and is cut.
    truncated: bool
    # Of one that waits for its next attempt: no attempt begins after that.
    until: str


class _Caller(TypedDict):
    # It may do everything: the key is the admin's, or requests need no key.
    admin: bool


class Caller(_Caller, total=False):
    """Whom the service takes the caller for."""
    # The app of the key or token; missing for the admin.
    appId: str
    # When the key or token ends; missing for never.
    expiresAt: str
    # The key, by the id under which it can be revoked.
    keyId: str
    # Where the NATS server inside of earshot dev is; no other service says it.
    natsUrl: str
    # What a key of an app may do.
    scopes: List[Literal['tools', 'messages', 'triggers', 'app', 'tools:read', 'messages:read', 'triggers:read', 'app:read']]
    # The session of a session token.
    sessionId: str


class Claim(TypedDict):
    """Where in a verified ID token a value stands."""
    # The claim of the ID token that is the value. A path with dots leads into objects, as address.country.
    field: str
    # Name of one of the app's authServices: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    name: str


class Confirmation(TypedDict):
    """A yes to a trigger that waits for one."""
    # The digest of the match or of tool.confirm. It stands for app, session, tool and values.
    digest: str


class Denial(TypedDict, total=False):
    """A no to a trigger that waits to be confirmed."""
    # The digest of the match or of tool.confirm. Without it the trigger is denied whatever its values are.
    digest: Union[str, None]


class DifferingMessage(TypedDict):
    """A message that would come out otherwise."""
    # What would come of it.
    after: RehearsedResult
    # What comes of it with the tools as they are.
    before: RehearsedResult
    # How it differs, as the counts name it.
    change: Literal['fires', 'noLonger', 'otherTool', 'otherValues', 'otherRejection']
    # The message.
    messageId: str
    # Its session.
    sessionId: Id
    # What was said.
    text: str
    # When it was said.
    ts: str


class _Direct(TypedDict):
    # The tool: 1 to 64 of A-Z a-z 0-9 _ -.
    name: str
    # Who fires it.
    source: Literal['ui', 'task', 'agent']


class Direct(_Direct, total=False):
    """A tool to fire without the matcher."""
    # Your own data, at most 2048 bytes as compact JSON. It is stored, returned, and in every event of the
    # trigger, where it overrides that of the session.
    metadata: Union[Dict[str, Any], None]
    # The repository. Default: the one in scope.
    repositoryId: str
    # Idempotency key. The service generates one if it is missing. With a session's token, the service adds a
    # suffix of the session, and returns the whole id.
    triggerId: str
    # Values of its parameters. Types are strict: "5" is not a number. A name that the tool lacks is an error.
    values: Dict[str, Any]


class Durations(TypedDict):
    """How long something took, in milliseconds; at most a fifth too long."""
    # Half of all took no longer.
    p50: float
    # 95 of 100 took no longer.
    p95: float


class _Earlier(TypedDict):
    # Who said it.
    actor: Literal['user', 'agent']
    # What was said: not empty, at most 65536 bytes of UTF-8.
    text: str


class Earlier(_Earlier, total=False):
    """An earlier message, as the history has it."""
    # What it fired, as matches of its answer. Of each, name, repositoryId, values and state count.
    matches: Union[List[Dict[str, Any]], None]
    # What it was rejected for, as rejected of its answer. Of each, name, repositoryId, values, missing and
    # errors count.
    rejected: Union[List[Dict[str, Any]], None]


class _Entry(TypedDict):
    # Who said it.
    actor: Literal['user', 'agent']
    # The tools that it fired, with the state of their effects now.
    matches: List[Match]
    # The message.
    messageId: str
    # decided, pending (being worked on) or failed (not decided: error says why, and the same messageId tries
    # again).
    state: Literal['decided', 'pending', 'failed']
    # What was said.
    text: str
    # The earlier name of matches, the same.
    triggers: Union[List[Match], None]
    # When it was accepted.
    ts: str


class Entry(_Entry, total=False):
    """A message of the history."""
    # Why ID tokens that came with it are not valid, as in its answer.
    auth: Dict[str, Literal['expired', 'audience', 'signature', 'malformed', 'claim', 'unavailable']]
    # Why it is not decided.
    error: str
    # What its client attached to the message.
    metadata: Dict[str, Any]
    # The tools that it called for and that did not fire.
    rejected: List[Rejected]
    # The reply to it, as in its answer, if any.
    reply: Any
    # json where the reply is a result that is no text; missing for a text.
    replyType: Literal['json']
    # The triggers that it took back, as in its answer.
    retracted: List[Retracted]


class _EntryList(TypedDict):
    # The page.
    items: List[Entry]


class EntryList(_EntryList, total=False):
    """A page of the history."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class ErasedUser(TypedDict):
    """What was erased of a user."""
    # How many sessions were erased by this request.
    erased: int
    # The user.
    user: str


class _EventCancelled(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The tool.
    name: EventToolName
    # What ended it: deny, expire (not confirmed in time), cancel (POST …/cancel), or retract (the user's next
    # message, with cancelOnNext).
    reason: Literal['deny', 'expire', 'cancel', 'retract']
    # The repository that has the tool.
    repositoryId: EventId
    # The tool's parameters as given: a list, or a JSON Schema object.
    schema: Any
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # The trigger.
    triggerId: EventId
    # When it happened.
    ts: str
    # Values of the tool's parameters.
    values: Dict[str, Any]


class EventCancelled(_EventCancelled, total=False):
    """A trigger ended before it had an effect. It was denied, cancelled, withdrawn by the next message, or
    not confirmed in time."""
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # The session, if any.
    sessionId: EventId
    # The text of that message.
    text: str


class _EventChanged(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # What was done.
    operation: Literal['created', 'updated', 'deleted']
    # The repository, without credentials and headers.
    record: Dict[str, Any]
    # The repository.
    repositoryId: EventId
    # When it was changed.
    ts: str


class EventChanged(_EventChanged, total=False):
    """A repository was created, updated or deleted."""
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # Missing for a repository of the app.
    sessionId: EventId


class _EventChatFailed(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The message.
    messageId: str
    # Why, for people.
    reason: str
    # The session.
    sessionId: EventId
    # When the attempt ended.
    ts: str


class EventChatFailed(_EventChatFailed, total=False):
    """A message could not be decided."""
    # Metadata of the session, overridden by that of the message.
    metadata: Dict[str, Any]
    # Seconds to wait before trying again, if known.
    retryAfter: int


class _EventChatMessage(TypedDict):
    # Who said it. A reply is of the assistant.
    actor: Literal['user', 'agent', 'assistant']
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The message. That of a reply ends with .reply.
    messageId: str
    # The session.
    sessionId: EventId
    # When it was said, as in the history.
    ts: str


class EventChatMessage(_EventChatMessage, total=False):
    """A message was stored, or a reply was made."""
    # Metadata of the session, overridden by that of the message.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # What was said.
    text: str


class _EventConfirm(TypedDict):
    # The app.
    appId: EventId
    # A digest of app, session, tool and values, for POST …/confirm and …/deny.
    digest: str
    # When it is cancelled without an answer.
    expiresAt: str
    # The event; the same on every delivery.
    id: str
    # The tool.
    name: EventToolName
    # What the user is asked.
    question: str
    # The repository that has the tool.
    repositoryId: EventId
    # The tool's parameters as given: a list, or a JSON Schema object.
    schema: Any
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # The trigger.
    triggerId: EventId
    # When it happened.
    ts: str
    # Values of the tool's parameters.
    values: Dict[str, Any]


class EventConfirm(_EventConfirm, total=False):
    """A tool was called for, and waits for a confirmation before it has an effect."""
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # The session, if any.
    sessionId: EventId
    # The text of that message.
    text: str


class _EventDuplicate(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The tool.
    name: EventToolName
    # The trigger that had equal values before.
    of: EventId
    # The repository that has the tool.
    repositoryId: EventId
    # The tool's parameters as given: a list, or a JSON Schema object.
    schema: Any
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # The trigger.
    triggerId: EventId
    # When it happened.
    ts: str
    # Values of the tool's parameters.
    values: Dict[str, Any]


class EventDuplicate(_EventDuplicate, total=False):
    """A tool was called for with the values of an earlier trigger, which stands for it."""
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # The session, if any.
    sessionId: EventId
    # The text of that message.
    text: str


class EventFiredAnswer(TypedDict):
    """Where to send the answer, if the trigger waits for one."""
    # Its subject on NATS.
    subject: str
    # Its path at the service, for POST.
    url: str


class _EventFired(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The tool.
    name: EventToolName
    # The repository that has the tool.
    repositoryId: EventId
    # The tool's parameters as given: a list, or a JSON Schema object.
    schema: Any
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # When it happened.
    ts: str
    # Values of the tool's parameters.
    values: Dict[str, Any]


class EventFired(_EventFired, total=False):
    """A tool has fired."""
    # Where to send the answer, if the trigger waits for one.
    answer: EventFiredAnswer
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # The session, if any.
    sessionId: EventId
    # The text of that message.
    text: str


class _EventGiven(TypedDict):
    # Whether it was done.
    ok: bool


class EventGiven(_EventGiven, total=False):
    """The answer to a trigger."""
    # Why it was not done, for people. Required if ok is false.
    error: str
    # The result, any JSON, cut after 64 KiB.
    result: Any


class _EventNotmatching(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The repositories of these tools.
    repositories: List[EventId]
    # Names of the tools in scope. Of more than 64, those that fit the message best, best first.
    tools: List[EventToolName]
    # How many tools were in scope.
    toolsTotal: int
    # When it happened.
    ts: str


class EventNotmatching(_EventNotmatching, total=False):
    """Tools were in scope, and the message called for none."""
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # The session, if any.
    sessionId: EventId
    # The text of that message.
    text: str


class EventRejectedErrorsItem(TypedDict):
    # What is wrong with its value.
    detail: str
    # The parameter, or empty for the values as a whole.
    parameter: str


class _EventRejected(TypedDict):
    # The app.
    appId: EventId
    # Every error in the values.
    errors: Union[List[EventRejectedErrorsItem], None]
    # The event; the same on every delivery.
    id: str
    # Required parameters without a value.
    missing: Union[List[str], None]
    # The tool.
    name: EventToolName
    # The repository that has the tool.
    repositoryId: EventId
    # When it happened.
    ts: str
    # The values known so far.
    values: Union[Dict[str, Any], None]


class EventRejected(_EventRejected, total=False):
    """A tool was called for, and its values are missing or wrong."""
    # What to ask the user next: the question of the first parameter that lacks a valid value and has a
    # question.
    ask: str
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # The session, if any.
    sessionId: EventId
    # The text of that message.
    text: str


class _EventResult(TypedDict):
    # The app.
    appId: EventId
    # The triggerId and .result, or .result-n after the nth retry of a failed call. The same on every
    # delivery.
    id: str
    # The tool.
    name: EventToolName
    # Whether the call was answered with 2xx.
    ok: bool
    # The trigger whose call it was.
    triggerId: EventId
    # When it happened.
    ts: str


class EventResult(_EventResult, total=False):
    """The call of a tool has ended, well or not."""
    # Why it failed, in words.
    error: str
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # Fields that were left out because the event would exceed 1 MiB. Read them over REST.
    omitted: List[str]
    # Why it failed. auth: credentials are missing or refused. request: it was refused or cannot be made.
    # blocked: the address is not allowed. outcome_unknown: it may have arrived. cancelled: the client
    # withdrew the request for an answer.
    reason: Literal['auth', 'request', 'timeout', 'blocked', 'outcome_unknown', 'cancelled']
    # The repository that has the tool.
    repositoryId: EventId
    # The endpoint's answer: its JSON, else its text as a JSON string. A SQL tool's rows are an array of
    # objects.
    result: Any
    # The session, if any.
    sessionId: EventId
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # HTTP status of the last attempt, if there was an answer.
    status: int
    # The text of that message.
    text: str
    # The result was too long and was cut.
    truncated: bool


class _EventState(TypedDict):
    # published: JetStream has it. pending: it is stored, and will be retried. failed: it has failed for good.
    # dry, draft: in a dry run or a draft, it would be pending. confirming, cancelled, duplicate: it is not
    # due, or not yet, as the trigger.
    state: Literal['published', 'pending', 'failed', 'dry', 'draft', 'confirming', 'cancelled', 'duplicate']
    # The subject on NATS.
    subject: str


class EventState(_EventState, total=False):
    """How far an event has come."""
    # Why it failed.
    error: str


class _EventWebhook(TypedDict):
    # The app.
    appId: EventId
    # The event; the same on every delivery.
    id: str
    # The webhook.
    name: EventId
    # Why, for people.
    reason: str
    # What it is now.
    state: Literal['disabled']
    # When it was disabled.
    ts: str


class EventWebhook(_EventWebhook, total=False):
    """A webhook of the app was disabled."""
    # When the failures began.
    failingSince: str


class _ExplainedBarred(TypedDict):
    # The tool.
    name: str
    # Another of its name comes before it, or it needs a verified user.
    reason: Literal['shadowed', 'unverified']
    # Its repository.
    repositoryId: str
    # The same in a sentence.
    why: str


class ExplainedBarred(_ExplainedBarred, total=False):
    """A tool that was not in scope."""
    # The repository is the session's own.
    session: bool


class ExplainedCallErrorsItem(TypedDict):
    """One error."""
    # What is wrong.
    detail: str
    # The parameter; empty for the whole.
    parameter: str


class _ExplainedCallEvidenceValue(TypedDict):
    # Its own words.
    words: str


class ExplainedCallEvidenceValue(_ExplainedCallEvidenceValue, total=False):
    """A place in the conversation."""
    # The newest message that says it.
    messageId: str


class _ExplainedCall(TypedDict):
    # As they were given, by parameter; a text where they cannot be read.
    arguments: Any
    # Parameters whose value was changed in form, not in meaning.
    coerced: List[str]
    # What is wrong with the values.
    errors: List[ExplainedCallErrorsItem]
    # The tool, as the model named it.
    name: str
    # The arguments were not well-formed JSON.
    repaired: bool
    # What became of it: rejected for its values, dropped for another reason.
    verdict: Literal['fired', 'rejected', 'dropped']
    # Why, in a sentence.
    why: str


class ExplainedCall(_ExplainedCall, total=False):
    """A call that was found for the message."""
    # Where in the conversation each inferred value was said; null for nowhere.
    evidence: Dict[str, Union[ExplainedCallEvidenceValue, None]]
    # Arguments that no parameter asks for.
    ignored: List[str]
    # The tool's repository; missing for a name that no tool in scope has.
    repositoryId: str
    # The answer of the model that has it, from 1; missing if no model was asked.
    round: int
    # The trigger that it fired.
    triggerId: str


class _ExplainedCandidate(TypedDict):
    # The model was not shown the tool.
    cut: bool
    # The tool.
    name: str
    # Its repository.
    repositoryId: str


class ExplainedCandidate(_ExplainedCandidate, total=False):
    """A tool in scope."""
    # How near the message is to the tool by its words, where that was compared: 0 for nothing in common.
    score: float
    # The repository is the session's own.
    session: bool
    # Why it was cut.
    why: str


class ExplainedRequestTokens(TypedDict):
    """As far as the provider reports them."""
    # Of those, the ones out of the provider's cache.
    cached: int
    # Of the answer.
    completion: int
    # Of the request.
    prompt: int


class _ExplainedRequest(TypedDict):
    # The model that was asked.
    model: str
    # How long it took, in milliseconds.
    ms: int
    # The body that was sent; a text if it was cut.
    request: Any
    # The body that came back, as it came; a text if it is not JSON.
    response: Any
    # As far as the provider reports them.
    tokens: ExplainedRequestTokens


class ExplainedRequest(_ExplainedRequest, total=False):
    """One request to a model, and its answer."""
    # Why the answer is of no use.
    error: str
    # Members of it that were not sent, since the model refuses them.
    leftOut: List[str]


class _Explanation(TypedDict):
    # The calls that were found, and what became of each.
    calls: List[ExplainedCall]
    # The tools in scope: those with scores first, then those that a model was shown.
    candidates: List[ExplainedCandidate]
    # The message.
    messageId: str
    # Tools that are there and could not be called.
    notInScope: List[ExplainedBarred]
    # Requests to the model, in their order.
    requests: List[ExplainedRequest]
    # What decided: the exact text of a tool, a model, or the rule-based matcher; none if nothing was in
    # scope.
    stage: Literal['exact', 'llm', 'offline', 'none']
    # When it was decided.
    ts: str
    # What the message did, in a sentence; if nothing fired, why.
    why: str


class Explanation(_Explanation, total=False):
    """Why a message came out as it did. Credentials, hidden values and claims are masked as ***."""
    # What is left out for its size, or is lost.
    cut: List[str]
    # How many candidates are not listed; missing for none.
    moreCandidates: int
    # What else is to be known, such as a setting that does not hold.
    notes: List[str]


class FoundTool(TypedDict):
    """A tool in scope, as a model sees it, and how near a text is to it."""
    # What it does, as its author says.
    description: str
    # JSON Schema 2020-12 of the values that a caller may give: without hidden, fixed and authenticated
    # parameters.
    inputSchema: Dict[str, Any]
    # Name of the tool.
    name: str
    # Repository that the tool is in.
    repositoryId: str
    # How near the text is to the tool by its words: above 0, and 1.3 at most. It tells tools of one answer
    # apart.
    score: float


class FoundToolList(TypedDict):
    """The tools that were found, the nearest first."""
    # The tools, the nearest first.
    items: List[FoundTool]


class _Given(TypedDict):
    # Whether it was done.
    ok: bool


class Given(_Given, total=False):
    """The answer to a trigger."""
    # Why it was not done, for people. Required if ok is false.
    error: str
    # The result, any JSON. Only with ok true. It is cut after 64 KiB.
    result: Any


class _HostHealth(TypedDict):
    # Attempts at calls.
    calls: int
    # Those that failed.
    failures: int
    # Those that were not made, as the host had failed ten times in a row, or had no room.
    heldBack: int
    # The host, with its port where the tool names one; (other) for all beyond the first 50 of a minute on a
    # replica.
    host: str
    # When the minute, or the hour, of the last of them began.
    lastCallAt: str
    # Of the last minute, or hour, in which it was called: failing, where no call succeeded; down, where calls
    # were held back as well.
    state: Literal['up', 'failing', 'down']


class HostHealth(_HostHealth, total=False):
    """How a host that tools call has fared."""
    # How long calls took; missing if none was made.
    ms: Durations


class _HostHealthList(TypedDict):
    # The hosts, by name.
    items: List[HostHealth]


class HostHealthList(_HostHealthList, total=False):
    """The hosts that an app's tools call."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class HourOfUse(TypedDict):
    """The use of a tool in one hour."""
    # How often it fired.
    fired: int
    # How often it was called for with values missing or wrong.
    rejected: int
    # When the hour began.
    ts: str


class _Items(TypedDict):
    # What the value is: string, number (any), integer, float (a number, too), boolean, object, array (items
    # says of what) or map (an object whose values are all of valueType).
    type: Literal['string', 'number', 'integer', 'float', 'boolean', 'object', 'array', 'map']


class Items(_Items, total=False):
    """What the members of an array are; default and required have no meaning here."""
    # Other words for allowed values, by the value. An alias becomes that value, from users and programs.
    aliases: Dict[str, List[str]]
    # A value must equal an entry, or match all of it as RE2.
    allowedValues: List[Any]
    # The value comes from a verified ID token: the claim of the first verified service of these.
    authServices: List[Claim]
    # Used if no value is given. null is none.
    default: Any
    # What the value is, for the model.
    description: str
    # Puts the value between delimiters, and doubles a closing one inside it.
    escape: Literal['single-quotes', 'double-quotes', 'backticks', 'square-brackets']
    # A value must not equal an entry, or match any part of it as RE2.
    excludedValues: List[Any]
    # The form of a string by ISO 8601. Words of users are converted to it.
    format: Literal['date', 'time', 'date-time', 'duration']
    # Never shown to a model or filled by it.
    ignore: bool
    # What the members of an array are.
    items: Items
    # Greatest value of a number.
    maxValue: float
    # Least value of a number.
    minValue: float
    # Ignored: members have no names.
    name: str
    # Ignored: members have no names.
    parameter: str
    # Has no meaning for a member. Ignored.
    required: bool
    # What a number counts. An amount in another unit is converted.
    unit: str
    # A fixed value. It always wins.
    value: Any
    # Type of the values of a map. Default: any.
    valueType: Literal['string', 'integer', 'float', 'number', 'boolean']


class _Key(TypedDict):
    # When it was made.
    created: str
    # Names the key in lists; it is no credential.
    keyId: Id
    # What the key is good for.
    scopes: List[Literal['tools', 'messages', 'triggers', 'app', 'tools:read', 'messages:read', 'triggers:read', 'app:read']]


class Key(_Key, total=False):
    """A key of an app."""
    # When it ends; missing if it does not.
    expiresAt: str
    # When it was last used, exact to a minute; missing if it never was.
    lastUsed: str
    # The key that asked for it, and with which it ends; missing if it was the admin.
    madeBy: Id
    # What the key is for, as it was given.
    name: str


class _KeyList(TypedDict):
    # The page.
    items: List[Key]


class KeyList(_KeyList, total=False):
    """A page of keys, by id."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _KeyRequest(TypedDict):
    # tools: repositories. messages: messages, sessions, session tokens and events. triggers: direct triggers,
    # records, retries and events. app: the app and its keys. With :read at the end, it only reads these.
    scopes: List[Literal['tools', 'messages', 'triggers', 'app', 'tools:read', 'messages:read', 'triggers:read', 'app:read']]


class KeyRequest(_KeyRequest, total=False):
    """A key of an app."""
    # How long it is valid, as 720h; at most ten years. Without it the key is valid until it is revoked.
    expiresIn: str
    # What it is for, for those who list keys.
    name: str


class _MadeKey(TypedDict):
    # When it was made.
    created: str
    # The key itself, shown this once. A credential.
    key: str
    # Names the key in lists; it is no credential.
    keyId: Id
    # What the key is good for.
    scopes: List[Literal['tools', 'messages', 'triggers', 'app', 'tools:read', 'messages:read', 'triggers:read', 'app:read']]


class MadeKey(_MadeKey, total=False):
    """A new key of an app, with the key itself."""
    # When it ends; missing if it does not.
    expiresAt: str
    # When it was last used, exact to a minute; missing if it never was.
    lastUsed: str
    # The key that asked for it, and with which it ends; missing if it was the admin.
    madeBy: Id
    # What the key is for, as it was given.
    name: str


class MadeToken(TypedDict):
    """A token for the front-end of one session."""
    # When it ends.
    expiresAt: str
    # The token. A credential.
    token: str


class _Match(TypedDict):
    # The tool.
    name: ToolName
    # The repository that has the tool.
    repositoryId: Id
    # The result of the call is the reply itself.
    returnDirect: bool
    # The front-end should not answer by itself.
    skipResponse: bool
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # After it has fired, the state of its effects. pending: one of them is not done, or it settles until
    # dueAt. failed: one has failed for good. delivered: all are done. Otherwise draft: a draft that would
    # fire. dry: the same in a dry run. confirming: it waits for a yes. cancelled: it ended without an effect.
    # duplicate: the trigger in of, with equal values, stands for it.
    state: Literal['pending', 'delivered', 'failed', 'draft', 'dry', 'confirming', 'cancelled', 'duplicate']
    # The trigger. It is webhook-id and Idempotency-Key of its call.
    triggerId: Id
    # Values of the tool's parameters, checked against all their rules.
    values: Dict[str, Any]


class Match(_Match, total=False):
    """One firing of a tool."""
    # The call; missing if the tool has nothing to call.
    call: CallState
    # Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms sends it
    # back.
    digest: str
    # Of a tool with settle: until when it can be taken back; its effects become due then.
    dueAt: str
    # The event of the tool's emitter; missing if it has none.
    emitter: EventState
    # The event tool.trigger; missing if the tool is not to send it.
    event: EventState
    # Of one that waits to be confirmed: when it ends as cancelled, without a word.
    expiresAt: str
    # Of a duplicate: the trigger that had equal values before; call is that one's.
    of: Id
    # Of one that waits to be confirmed: what the user is asked.
    question: str


class Matched(TypedDict):
    """How many triggers matched."""
    # Their number.
    triggers: int


class _Message(TypedDict):
    # What an agent says is stored in the history, but not matched.
    actor: Literal['user', 'agent']
    # What was said: not empty, at most 65536 bytes of UTF-8.
    text: str


class Message(_Message, total=False):
    """A chat message."""
    # false: a draft, as an interim transcript. It is matched at once and fires nothing. Another text with the
    # same messageId replaces it. Default: true.
    final: Union[bool, None]
    # With dryRun=true only: what was said before, instead of the history of the session, oldest first. What
    # these messages fired and were rejected for counts: calls that lack values, questions that wait for a
    # yes, repositories that fire once.
    history: Union[List[Earlier], None]
    # The language of the message (BCP 47, as de or de-AT). Default: that of the session, else of the app.
    language: Union[str, None]
    # Idempotency key: 1 to 128 printable characters without spaces. The service generates one if it is
    # missing.
    messageId: str
    # Your own data, at most 2048 bytes as compact JSON. It is stored, returned, and in every event of the
    # message, where it overrides that of the session.
    metadata: Union[Dict[str, Any], None]
    # With dryRun=true only: the time of the message (RFC 3339). Default: now.
    now: Union[str, None]
    # Where the user is, as Europe/Berlin. It decides what tomorrow and noon are. Default: that of the
    # session, else of the app.
    timeZone: Union[str, None]
    # The user of the session: 1 to 128 printable characters. The first message with a user sets it for the
    # session. Another user is refused with 409. Not with a session's token, nor with dryRun=true.
    user: Union[str, None]


class _Module(TypedDict):
    # Name of the module, by which tools refer to it: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or
    # digit.
    moduleId: str
    # The client's secret. A credential. Never returned: reads as ***; *** sent back keeps what is stored.
    secret: str


class Module(_Module, total=False):
    """An OAuth2 client of the app, by whose id and secret clients of SERMAS sign in as well."""
    # Sent with the request for a token, if the service needs one.
    audience: str
    # The client's id. Default: the moduleId.
    clientId: str
    # Hosts where tools written with a key of scope tools may use the module, besides the host of its
    # tokenUrl, on any port. *.clinic.example is every name one label below clinic.example.
    hosts: List[str]
    # Scopes to ask for with the token.
    scopes: List[str]
    # Where to get its tokens (OAuth2, grant client_credentials): an absolute http or https URL. Tools that
    # call with the module need it. Clients of SERMAS do not.
    tokenUrl: str


class _Moved(TypedDict):
    # What moved it: a yes, a no, three minutes without a word, the end of its time to settle, a cancel, or
    # the user's next message.
    action: Literal['confirm', 'deny', 'expire', 'release', 'cancel', 'retract']
    # When.
    ts: str


class Moved(_Moved, total=False):
    """A trigger whose effects were kept back was moved."""
    # By whom: the id of a key, admin, session for a token, or message and the id of the one that said it;
    # missing if it was the clock.
    by: str


class _NextAttempt(TypedDict):
    # Its number, from 1.
    attempt: int


class NextAttempt(_NextAttempt, total=False):
    """The attempt at a call that is under way, or comes next."""
    # When it is due; missing if it has begun.
    at: str
    # It has begun; missing if it has not.
    underWay: bool


class _OpenCall(TypedDict):
    # The parameters that have none.
    missing: List[str]
    # The tool.
    name: ToolName
    # What it waits for: values, a confirmation, the end of the time in which it can be taken back, or an
    # answer.
    state: Literal['asking', 'confirming', 'settling', 'pending']
    # The values that were said and are valid.
    values: Dict[str, Any]


class OpenCall(_OpenCall, total=False):
    """What waits in a session: a call that lacks values (one that messages have begun may be completed by the
    next message for ten minutes; one of an agent has a task), or a trigger that is to be confirmed, can still
    be taken back, or waits for an answer."""
    # The question for the first missing one, where its parameter has one.
    ask: str
    # Stands for app, session, tool and values: a confirmation names it.
    digest: str
    # When it waits no more.
    expiresAt: str
    # What the user is to be asked.
    question: str
    # The repository that has the tool; missing if an agent named none, and its tool is gone.
    repositoryId: Id
    # The trigger, or the task of an agent that lacks values; missing of a call that messages have begun.
    triggerId: Id


class Options(TypedDict, total=False):
    """How the tools of a repository fire together."""
    # If its tools and others match, only its tools fire, and no reply is made. Default: false.
    exclusive: bool
    # Of a repository of an app: it is in no scope itself. A session gets a copy when it names its id in
    # repositories. Default: false.
    template: bool
    # The first of the tools to fire removes the repository. Default: false.
    triggerOnce: bool


class _Parameter(TypedDict):
    # Name of the parameter.
    parameter: str
    # What the value is: string, number (any), integer, float (a number, too), boolean, object, array (items
    # says of what) or map (an object whose values are all of valueType).
    type: Literal['string', 'number', 'integer', 'float', 'boolean', 'object', 'array', 'map']


class Parameter(_Parameter, total=False):
    """A parameter in SERMAS form; not required unless it says so."""
    # Other words for allowed values, by the value. An alias becomes that value, from users and programs.
    aliases: Dict[str, List[str]]
    # A value must equal an entry, or match all of it as RE2.
    allowedValues: List[Any]
    # What to ask a user if a call lacks it.
    ask: str
    # The value comes from a verified ID token: the claim of the first verified service of these.
    authServices: List[Claim]
    # Used if no value is given. null is none.
    default: Any
    # What the value is, for the model.
    description: str
    # Puts the value between delimiters, and doubles a closing one inside it.
    escape: Literal['single-quotes', 'double-quotes', 'backticks', 'square-brackets']
    # A value must not equal an entry, or match any part of it as RE2.
    excludedValues: List[Any]
    # The form of a string by ISO 8601. Words of users are converted to it.
    format: Literal['date', 'time', 'date-time', 'duration']
    # A model's value for it must appear in the conversation. Default: false.
    grounded: bool
    # Never shown to a model or filled by it. Default: false.
    ignore: bool
    # What the members of an array are.
    items: Items
    # Greatest value of a number.
    maxValue: float
    # Least value of a number.
    minValue: float
    # true: the tool fires only with a value. Default: false.
    required: bool
    # What a number counts. An amount in another unit is converted.
    unit: str
    # A fixed value. It always wins.
    value: Any
    # Type of the values of a map. Default: any.
    valueType: Literal['string', 'integer', 'float', 'number', 'boolean']


class Patch(TypedDict, total=False):
    """Tools to add or override by name; options, where they are given, replace the options as a whole."""
    # The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    appId: str
    # Ignored, so that an answer can be sent back.
    created: str
    # Ignored, so that an answer can be sent back.
    notes: List[str]
    # Replace the options as a whole. Without them, the options stay.
    options: Options
    # The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -,
    # the first a letter or digit.
    repositoryId: str
    # The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    sessionId: str
    # Tools to add. A tool of the same name is replaced.
    tools: List[Tool]
    # Ignored, so that an answer can be sent back.
    updated: str


class _PreviewToolsItem(TypedDict):
    # What a model sees of it: its description, and the first of its examples.
    description: str
    # The JSON Schema of the values that a model may give.
    inputSchema: Dict[str, Any]
    # Name of the tool.
    name: str


class PreviewToolsItem(_PreviewToolsItem, total=False):
    # Questions for required parameters, by their names.
    asks: Dict[str, str]


class _Preview(TypedDict):
    # What it would do. Credentials are compared as well.
    operation: Literal['created', 'updated', 'unchanged']


class Preview(_Preview, total=False):
    """What a write would do, from ?dryRun=true."""
    # Of a repository: what its author may not expect. The write notes more.
    notes: List[str]
    # Of a repository: its tools as a model is shown them.
    tools: List[PreviewToolsItem]


class _ProblemErrorsItem(TypedDict):
    # What is wrong there, for programs.
    code: FaultCode
    # What is wrong there.
    detail: str
    # JSON Pointer (RFC 6901) into the body; empty for the body as a whole.
    pointer: str


class ProblemErrorsItem(_ProblemErrorsItem, total=False):
    """One error in a body."""
    # The names or values that are taken there, at most 100.
    allowed: List[str]
    # The nearest of those that are taken.
    suggestion: str


class _Problem(TypedDict):
    # What is wrong, for programs.
    code: ProblemCode
    # What is wrong this time, and the way out.
    detail: str
    # The HTTP status.
    status: int
    # The problem in short; the same for all of its type.
    title: str
    # The kind of problem: about:blank if the status says it all, else the path of its description.
    type: str


class Problem(_Problem, total=False):
    """What went wrong (RFC 9457)."""
    # Every error in a body at once, at most 100.
    errors: List[ProblemErrorsItem]
    # The limit that is reached, as the settings of the app name it.
    limit: str
    # What a message fired that was to be withdrawn as a draft.
    matches: List[Match]
    # Of a message that is kept undecided: send it again under this id.
    messageId: str
    # Of /readyz, where verbose asks for them.
    services: List[ServiceState]
    # Of a trigger whose state does not let it do what was asked for.
    state: str
    # The earlier name of matches, the same.
    triggers: List[Match]


class _Ready(TypedDict):
    # ready.
    status: str


class Ready(_Ready, total=False):
    """The replica can work."""
    # Where verbose asks for them.
    services: List[ServiceState]


class _RecordEvidenceValue(TypedDict):
    # The words that say it.
    words: str


class RecordEvidenceValue(_RecordEvidenceValue, total=False):
    """A place in the conversation."""
    # The message that says it; missing for the one that led here.
    messageId: str


class _Record(TypedDict):
    # The app.
    appId: Id
    # Every attempt at its effects, the oldest first.
    attempts: Union[List[Attempt], None]
    # The tool.
    name: ToolName
    # The repository that has the tool.
    repositoryId: Id
    # The result of the call is the reply itself.
    returnDirect: bool
    # The tool's parameters as they were given: a list, or a JSON Schema object.
    schema: Any
    # The front-end should not answer by itself.
    skipResponse: bool
    # What fired it: a message, or a direct trigger of a ui, task or agent.
    source: Literal['message', 'ui', 'task', 'agent']
    # pending while an effect is undelivered or not due yet, failed if one was given up, and otherwise
    # delivered. confirming: it waits for a yes. cancelled: it ended without an effect. duplicate: another one
    # with equal values stands for it.
    state: Literal['pending', 'delivered', 'failed', 'confirming', 'cancelled', 'duplicate']
    # The trigger. It is webhook-id and Idempotency-Key of its call.
    triggerId: Id
    # When it fired.
    ts: str
    # Values of the tool's parameters, checked against all their rules.
    values: Dict[str, Any]


class Record(_Record, total=False):
    """The stored record of a trigger."""
    # The call; missing if the tool has nothing to call.
    call: CallState
    # Values that were changed in form, not in meaning.
    coerced: List[str]
    # Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms sends it
    # back.
    digest: str
    # Of a tool with settle: until when it can be taken back; its effects become due then.
    dueAt: str
    # The event of the tool's emitter; missing if it has none.
    emitter: EventState
    # The event tool.trigger; missing if the tool is not to send it.
    event: EventState
    # Where in the conversation each inferred value was said, by parameter; null for nowhere.
    evidence: Dict[str, Union[RecordEvidenceValue, None]]
    # Of one that waits to be confirmed: when it ends as cancelled, without a word. Of one that waits for an
    # answer: until when, if it is read alone.
    expiresAt: str
    # The message that caused it, if any.
    messageId: str
    # Metadata of the session, overridden by that of the message or direct trigger.
    metadata: Dict[str, Any]
    # What became of it while its effects were kept back, the oldest first.
    moves: List[Moved]
    # The attempt at its call that is under way, or comes next. Lists leave it out.
    next: NextAttempt
    # Of a duplicate: the trigger that had equal values before; call is that one's.
    of: Id
    # Of one that waits to be confirmed: what the user is asked.
    question: str
    # The model's arguments were not well-formed JSON.
    repaired: bool
    # The event tool.result, where it was given up: then the trigger has failed, although its other effects
    # were delivered.
    resultEvent: EventState
    # When what had failed, or the next attempt, was made due at once by hand.
    retries: List[Retried]
    # The session, if any.
    sessionId: Id
    # What that message said.
    text: str


class _RecordList(TypedDict):
    # The page.
    items: List[Record]


class RecordList(_RecordList, total=False):
    """A page of trigger records."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str
    # Of a page that has room left and a next: how far it has looked. A search that finds little ends when it
    # has taken 75 ms.
    searchedUntil: str


class Rehearsal(TypedDict, total=False):
    """A change of tools, and what it is tried on. Without repositories the tools are tried as they are."""
    # How many of the last messages of users are tried: at most 1,000 by the rule-based matcher, and 50 by a
    # model, which costs money.
    messages: Union[int, None]
    # The model that decides, as in settings.llm.tools, or default for the one of the app's messages. Without
    # it the rule-based matcher decides, and no model is asked.
    model: Union[str, None]
    # The repositories of the app that would change, by their ids.
    repositories: Union[Dict[str, RehearsedRepository], None]
    # true for all tests of the app, or the names of some.
    tests: Union[bool, List[str]]


class RehearsalCost(TypedDict):
    """What it took to try all messages and tests."""
    # The tokens of its answers.
    completionTokens: int
    # Requests to a model.
    modelRequests: int
    # The time, in milliseconds.
    ms: int
    # How many tests passed.
    passed: int
    # Their tokens, as far as the provider reports them.
    promptTokens: int


class RehearsalCounts(TypedDict):
    """How many messages come out how. Each that was tried is one of the others."""
    # A tool fires that did not.
    fires: int
    # A tool no longer fires.
    noLonger: int
    # The same tools fire, and another call lacks values.
    otherRejection: int
    # Another tool fires in its place.
    otherTool: int
    # The same tools fire, with other values.
    otherValues: int
    # As before.
    same: int
    # How many were tried.
    tried: int
    # No model answered.
    undecided: int


class _RehearsalOutcome(TypedDict):
    # What the tools as they would be took to try.
    after: RehearsalCost
    # What the tools as they are took to try.
    before: RehearsalCost
    # The messages that come out otherwise, the newest first, as far as they fit in 1 MiB.
    differing: List[DifferingMessage]
    # How the messages that were tried come out.
    messages: RehearsalCounts
    # The model that decided; empty where the words did.
    model: str
    # What else is to be known, in sentences.
    notes: List[str]
    # What would become of each test.
    tests: List[RehearsedTest]


class RehearsalOutcome(_RehearsalOutcome, total=False):
    """What a change of tools would do."""
    # How many such messages are not listed; missing for none.
    moreDiffering: int


class RehearsedCall(TypedDict):
    """A tool that fires."""
    # Its name.
    name: str
    # Its repository.
    repositoryId: Id
    # Its values.
    values: Dict[str, Any]


class RehearsedRejection(TypedDict):
    """A tool that is meant, and lacks values."""
    # The parameters without a valid value.
    missing: List[str]
    # Its name.
    name: str
    # Its repository.
    repositoryId: Id


class RehearsedRepository(TypedDict, total=False):
    """What a repository would be: one of its versions, or a definition."""
    # Its definition, as in the body of a PUT.
    definition: Union[Dict[str, Any], None]
    # The number of one of its versions.
    version: Union[int, None]


class RehearsedResult(TypedDict):
    """What comes of a message."""
    # The tools that fire.
    fired: List[RehearsedCall]
    # The tools that are meant and lack values.
    rejected: List[RehearsedRejection]
    # How it came about, in a sentence.
    why: str


class RehearsedTest(TypedDict):
    """What would become of a test."""
    # With the tools as they would be.
    after: TestReport
    # With the tools as they are.
    before: TestReport
    # Its name.
    name: str


class RejectedErrorsItem(TypedDict):
    """What is wrong with one value."""
    # What is wrong with its value.
    detail: str
    # The parameter; empty for the values as a whole.
    parameter: str


class _Rejected(TypedDict):
    # Every error in the values.
    errors: Union[List[RejectedErrorsItem], None]
    # Required parameters without a value.
    missing: Union[List[str], None]
    # The tool.
    name: ToolName
    # The repository that has the tool.
    repositoryId: Id
    # What is known of its values so far.
    values: Union[Dict[str, Any], None]


class Rejected(_Rejected, total=False):
    """A tool that was called for and did not fire."""
    # What to ask the user next: the question of the first parameter without a good value that has one.
    # Missing if no such parameter has one.
    ask: str


_RepositoryOdd = TypedDict("_RepositoryOdd", {"from": "str"}, total=False)


class Repository(_RepositoryOdd, total=False):
    """A named group of tools: those of tools, or those of the MCP server that from names."""
    # The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    appId: str
    # When it was created. Set by the service, ignored in a request.
    created: str
    # What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request.
    notes: List[str]
    # How its tools fire together.
    options: Options
    # The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -,
    # the first a letter or digit.
    repositoryId: str
    # The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    sessionId: str
    # The tools, with unique names. Required without from. With it they are those of its server, and ignored
    # in a request.
    tools: List[Tool]
    # When it was last changed. Set by the service, ignored in a request.
    updated: str


class _RepositoryList(TypedDict):
    # The page.
    items: List[StoredRepository]


class RepositoryList(_RepositoryList, total=False):
    """A page of repositories, by id."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _RepositoryVersion(TypedDict):
    # Who wrote it, as an entry of the audit list says it; empty where Earshot did, from a source.
    by: str
    # What the write did.
    operation: Literal['created', 'updated', 'deleted', 'restored']
    # How many tools it has.
    tools: int
    # Its number, above that of each earlier one.
    version: int
    # By which way, as an entry of the audit list says it.
    via: str


class RepositoryVersion(_RepositoryVersion, total=False):
    """A write of a repository."""
    # The name of that key.
    keyName: str
    # The version that was written again.
    restored: int
    # When it was written; missing of one that was there before versions were kept.
    ts: str


class Request(TypedDict, total=False):
    """How the call is made."""
    # Default: what the given credentials say.
    auth: Literal['none', 'basic', 'bearer', 'module']
    # User and password for auth basic (RFC 7617).
    basic: Basic
    # An OAuth2 client of the tool's own, for auth bearer.
    bearer: Bearer
    # Replaces the trigger event as the body.
    body: Any
    # A note for people.
    description: str
    # Sent with every attempt as given, without values of parameters. Their values are credentials and read as
    # ***.
    headers: Union[Dict[str, str], None]
    # true: the call may be sent again if it is not known whether it arrived. false: it is never sent twice,
    # and then ends as failed with the reason outcome_unknown. Default: true.
    idempotent: bool
    # GET, POST, PUT, PATCH or DELETE. Default: POST.
    method: str
    # The app's module whose token is sent, for auth module: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter
    # or digit.
    moduleId: str
    # As 15m; more than 0 and at most 24h. Default: 15m.
    retryFor: str
    # As 10s; more than 0 and at most 60s. Default: 10s.
    timeout: str
    # The same as the tool's url.
    url: str


class Resend(TypedDict, total=False):
    """What a webhook is sent again."""
    # The moment from which all events in the stream are sent again. Without it, those that did not arrive.
    since: Union[str, None]


class ResourceMetadata(TypedDict):
    """Whose access tokens are good at an MCP URL (RFC 9728)."""
    # Issuers whose tokens are good there.
    authorization_servers: List[str]
    # How a token is sent: by header alone.
    bearer_methods_supported: List[str]
    # The MCP URL, for which a token is to be.
    resource: str
    # openid alone: what a user may do is not in a token's scopes.
    scopes_supported: List[str]


class ResponseRequest(TypedDict, total=False):
    """A request of the Responses API as OpenAI describes it. All fields go to the model; these are read here
    as well."""
    # What was said, as a text of the user or as items. The last message of the role user is matched.
    input: Any
    # Its session_id names the session, where neither path nor header does.
    metadata: Union[Dict[str, Any], None]
    # The response that this one continues: the input has what is new since.
    previous_response_id: Union[str, None]
    # Names the session if nothing else does.
    user: str


class Retracted(TypedDict):
    """A trigger that a message took back: it ends as cancelled."""
    # The tool.
    name: ToolName
    # The trigger.
    triggerId: str


class _Retried(TypedDict):
    # When.
    ts: str


class Retried(_Retried, total=False):
    """What has failed of a trigger, or its next attempt, was made due at once by hand."""
    # By whom: the id of a key, or admin.
    by: str


class Said(TypedDict):
    """Something that was said in a session."""
    # Who said it.
    actor: Literal['user', 'agent']
    # The message.
    messageId: str
    # What was said; of a long text its first 1,000 bytes.
    text: str
    # When.
    ts: str


class ScopedTool(TypedDict):
    """A tool in scope, as a model sees it."""
    # What it does, as its author says.
    description: str
    # JSON Schema 2020-12 of the values that a caller may give: without hidden, fixed and authenticated
    # parameters.
    inputSchema: Dict[str, Any]
    # Name of the tool.
    name: str
    # Repository that the tool is in.
    repositoryId: str


class _ScopedToolList(TypedDict):
    # The tools, by name.
    items: List[ScopedTool]


class ScopedToolList(_ScopedToolList, total=False):
    """A page of the tools in scope, by name."""
    # Cursor of the next page; missing on the last.
    next: str


class _Sent(TypedDict):
    # The length of the body.
    bytes: int
    # The HTTP method.
    method: str
    # The URL without user and password.
    url: str


class Sent(_Sent, total=False):
    """What a call has sent, its credentials masked and long texts cut. Of many attempts at one call the first
    and the last have it."""
    # How the body begins, where the call was not delivered.
    body: str
    # The headers of the tool and its source.
    headers: Dict[str, str]


class ServiceStateAwayItem(TypedDict):
    """A part that is away."""
    # shard of slot N: the master of a Redis Cluster that has this slot.
    name: str
    # Why.
    says: str


class _ServiceState(TypedDict):
    # redis, nats or this replica.
    name: str
    # partly: it is of use for some apps.
    state: Literal['ready', 'partly', 'away']


class ServiceState(_ServiceState, total=False):
    """How a service behind a replica is."""
    # Its parts that are away.
    away: List[ServiceStateAwayItem]
    # Why it is away.
    says: str


class _Session(TypedDict):
    # The app.
    appId: Id
    # The session.
    sessionId: Id


class Session(_Session, total=False):
    """A conversation."""
    # When it was used or put for the first time.
    created: str
    # When it ends, where expiresIn was put; else it lives for as long as it is used.
    expiresAt: str
    # How long it lives from its beginning, where that was put.
    expiresIn: str
    # What its user speaks (BCP 47), where that was put.
    language: str
    # When it was used last, by a message or otherwise; of a list by activity alone.
    lastActive: str
    # When its last message came; missing if it has none.
    lastMessage: str
    # The last message that has the text which was looked for; in a list by activity without one, the last of
    # the user.
    message: Said
    # What its client attached to it.
    metadata: Dict[str, Any]
    # All that waits, from any source. A list of sessions does not have it.
    open: List[OpenCall]
    # What its messages came to, the last one first; of a list alone.
    outcomes: List[Literal['fired', 'rejected', 'unmatched']]
    # The templates that were copied into it.
    repositories: List[Id]
    # Where its user is (IANA), where that was put.
    timeZone: str
    # Whom the session is of, where that was said.
    user: str


class _SessionList(TypedDict):
    # The page.
    items: List[Session]


class SessionList(_SessionList, total=False):
    """A page of sessions."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class SessionRequest(TypedDict, total=False):
    """What is known of a conversation in advance. It takes the place of what was put before."""
    # As in the path.
    appId: str
    # How long the session lives from its beginning, used or not, as 2h; at most a year. Without it the
    # session lives while it is used.
    expiresIn: Union[str, None]
    # What its user speaks (BCP 47, as de or de-AT). Default: that of the app.
    language: Union[str, None]
    # Your own data, at most 2048 bytes as compact JSON. It is stored, returned, and in every event of the
    # session.
    metadata: Union[Dict[str, Any], None]
    # Repositories of the app with options.template. Each is copied into the session, once.
    repositories: Union[List[str], None]
    # As in the path.
    sessionId: str
    # Where its user is, as Europe/Berlin. It decides what tomorrow and noon are. Default: that of the app.
    timeZone: Union[str, None]
    # The user of the session, for lists, exports and erasures: 1 to 128 printable characters. Without it, the
    # user stays. Another user is refused with 409.
    user: Union[str, None]


class SettingsLimits(TypedDict, total=False):
    """Limits that are missing have their defaults. null, or 0, removes one. null instead of the object
    removes all."""
    # Bytes that one session may store. All sessions of the app together may store a hundred times as much.
    # What agents say is counted separately. Default: 4000000.
    bytesPerMinute: Union[int, None]
    # Messages of users and triggers by session tokens, of the whole app. Default: 12000.
    messagesPerMinute: Union[int, None]
    # Repositories of one session. Default: no limit.
    repositoriesPerSession: Union[int, None]
    # Drafts of one session. Default: 600.
    sessionDraftsPerMinute: Union[int, None]
    # The same, of one session. Default: 120.
    sessionMessagesPerMinute: Union[int, None]
    # Direct triggers of one session. Default: 120.
    sessionTriggersPerMinute: Union[int, None]
    # Tools in one repository. Default: no limit.
    toolsPerRepository: Union[int, None]
    # Direct triggers of the whole app. Default: 12000.
    triggersPerMinute: Union[int, None]


class SettingsLlm(TypedDict, total=False):
    """Which model is asked, and when."""
    # Tools in a request to the model. With more in scope, it gets those that fit the conversation, and a
    # function to find the others in one more request. Default: 64.
    mostTools: int
    # provider/model, as openai/gpt-4o-mini.
    tools: str
    # always: the model decides every message. unsure: if the rule-based matcher is certain, it decides, and
    # the model is not asked. A text that equals an example of a tool without values never needs the model.
    # Default: always.
    when: Literal['always', 'unsure']


class SettingsOffline(TypedDict, total=False):
    """How messages are matched where no model decides."""
    # The confidence threshold of the rule-based matcher. certain: rather no tool than a wrong one. likely:
    # more messages fire a tool, and more of them a wrong one. Default: certain.
    bar: Literal['certain', 'likely']
    # Which tools without confirm ask first when no model decides. irreversible: those named as moving money,
    # ordering, deleting or ending a contract, without settle. always: all but read-only ones. Default: never.
    confirm: Literal['never', 'irreversible', 'always']


class SettingsOpenaiLimits(TypedDict, total=False):
    """What the model may be asked for, at the operator's cost."""
    # The longest answer, in tokens, of all choices (n) together. A request for more is refused. A request
    # without a length gets this one.
    maxTokens: int
    # Models that clients may use. A * at the end stands for any rest, as in gpt-4o*. Default: all.
    models: List[str]
    # Requests of the whole app to the model a minute, over all replicas. Further ones are answered 429.
    # Without it, or with null, the limits of messages apply to requests with a session's token.
    requestsPerMinute: Union[int, None]


class SettingsOpenai(TypedDict, total=False):
    """What is done with chats of clients that take this service for their model, at …/openai/v1."""
    # What the model may be asked for, at the operator's cost.
    limits: SettingsOpenaiLimits
    # watch: the model's answers are relayed unchanged, and what the user says is matched as well. act: the
    # tools in scope are offered to the model with the client's own, and its calls of them are carried out
    # here. Default: watch.
    mode: Literal['watch', 'act']


class SettingsPrompt(TypedDict, total=False):
    """What the model learns about the app."""
    # Comes before the conversation in every request to the model: who the assistant is, and how it speaks.
    text: str


class Settings(TypedDict, total=False):
    """How messages of an app are matched and answered, and what it may use."""
    # Origins of pages that may call from a browser (CORS). * is every page. Default: none.
    allowedOrigins: List[str]
    # true: every stored message and every reply is an event chat.message, and a message that could not be
    # decided an event chat.failed. Default: false.
    chatEvents: bool
    # true: the model also writes a reply to each message, after a match from the tool's result. false: reply
    # is null except for returnDirect. Default: false.
    chatModeEnabled: bool
    # What the users speak (BCP 47, as de or de-AT), unless session or message says it.
    language: str
    # Limits that are missing have their defaults. null, or 0, removes one. null instead of the object removes
    # all.
    limits: Union[SettingsLimits, None]
    # Which model is asked, and when.
    llm: SettingsLlm
    # How messages are matched where no model decides.
    offline: SettingsOffline
    # What is done with chats of clients that take this service for their model, at …/openai/v1.
    openai: SettingsOpenai
    # What the model learns about the app.
    prompt: SettingsPrompt
    # true: no reply is written after a match, whatever the tool says, and the answer has skipResponse true.
    # Default: false.
    skipToolResponse: bool
    # Where the users are (as Europe/Berlin), unless session or message says it. It decides what tomorrow and
    # noon are.
    timeZone: str
    # URLs that events of the app are sent to.
    webhooks: List[Webhook]


class _SocketAnswer(TypedDict):
    # The status of HTTP.
    status: int


class SocketAnswer(_SocketAnswer, total=False):
    """The answer to a request over a socket."""
    # The body as in REST, also a problem, if there is one.
    body: Any
    # ETag, Preference-Applied, Retry-After and X-Request-Id, where REST has them.
    headers: Dict[str, str]
    # That of the request; missing if it could not be read.
    id: str


class _SocketEvent(TypedDict):
    # The first two words of the event's subject, as tool.trigger; or open, alive, token.expiring,
    # token.expired.
    event: str


class SocketEvent(_SocketEvent, total=False):
    """An event over a socket."""
    # The payload, as the event stream has it.
    data: Any
    # Its place in the stream: a socket that is opened with it continues after the event. Events of the
    # service itself have none, except open.
    lastEventId: str


class _SocketRequest(TypedDict):
    # Returned in the answer: 1 to 128 characters.
    id: str
    # The operation, by its name over NATS. If an app and a session both have it, it is that of the session.
    request: Literal['answer', 'cancel', 'close-session', 'commit', 'confirm', 'create-repository', 'delete-repository', 'delete-tool', 'deny', 'explain', 'get-message', 'get-repository', 'get-session', 'get-trigger', 'message', 'messages', 'patch-repository', 'repositories', 'repository', 'retry', 'search-tools', 'session', 'sessions', 'token', 'tools', 'trigger', 'triggers', 'withdraw']


class SocketRequest(_SocketRequest, total=False):
    """A request over the socket of a session: an operation, with the ids of its path that the socket's path
    has not."""
    # The body, as in REST.
    body: Any
    # Headers with the same meaning as in REST: Prefer, Idempotency-Key, If-Match, If-None-Match, X-Request-
    # Id, traceparent, tracestate, and a user's ID token in {name}_token.
    headers: Dict[str, str]
    # The message, if the path has one.
    messageId: str
    # The query, as limit=10&order=desc.
    query: str
    # The repository, if the path has one.
    repositoryId: str
    # The tool, if the path has one.
    toolName: str
    # The trigger, if the path has one.
    triggerId: str


class _Source(TypedDict):
    # Name of the source, by which tools refer to it: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or
    # digit.
    name: str
    # postgres, mysql, sqlite, http or mcp
    type: str


class Source(_Source, total=False):
    """A database, an HTTP API or an MCP server that tools work on. postgres needs host, database and user;
    mysql needs host and user; sqlite needs database; http needs baseUrl; mcp needs url."""
    # Of an mcp source: patterns of tool names, as find_*. Only tools that match one are used. Default: all
    # tools.
    allow: List[str]
    # Of an mcp source: how requests to its server are authenticated.
    auth: SourceAuth
    # Of an http source. Paths of tools are resolved against it (RFC 3986) and stay under its path.
    baseUrl: str
    # Of a postgres or mysql source its name. Of a sqlite source the path of its file, in a folder that the
    # operator has opened.
    database: str
    # Only false: certificates are always verified.
    disableSslVerification: bool
    # Of an http or mcp source: sent with every request. Credentials among them read as ***.
    headers: Union[Dict[str, str], None]
    # Of a postgres or mysql source: a host name or an IP address.
    host: str
    # A credential. Never returned: reads as ***; *** sent back keeps what is stored.
    password: str
    # Of a postgres source, default 5432. Of a mysql source, default 3306.
    port: Union[str, int]
    # Of an http source: added to the query of every request. Of a postgres source: sslmode, application_name,
    # search_path or timezone. Of a mysql source: tls, charset, collation, time_zone or parseTime.
    queryParams: Union[Dict[str, str], None]
    # Of a mysql source: Toolbox's name for timeout.
    queryTimeout: str
    # true: statements of a database source that change something fail, whatever a tool says. false lets tools
    # of type execute-sql change things. Without it they run only queries, unless they say readOnly: false.
    readOnly: bool
    # Of an mcp source: how often its server is asked for its tools, 5s to 24h. Default: 5m.
    refresh: str
    # Keeps the body of an answer that is not 2xx. Default: false.
    returnFullError: bool
    # For one attempt of its tools that set none: more than 0 and at most 60s.
    timeout: str
    # Of an mcp source: the URL of its server (Streamable HTTP), as https://crm.example/mcp.
    url: str
    # Of a postgres or mysql source: the user who connects.
    user: str


class SourceAuth(TypedDict, total=False):
    """One of basic, bearer and moduleId."""
    # User and password (RFC 7617).
    basic: Basic
    # An OAuth2 client. Its token is renewed before it ends, and once if it is refused.
    bearer: Bearer
    # The module of the app whose token is sent: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    moduleId: str


class _SourceList(TypedDict):
    # The sources, by name.
    items: List[SourceState]


class SourceList(_SourceList, total=False):
    """The sources of an app."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _SourceState(TypedDict):
    # Its name.
    name: str
    # Its type.
    type: str


class SourceState(_SourceState, total=False):
    """A source, and whether it can be reached."""
    # When that was looked at.
    checked: str
    # Why it is not reached.
    error: str
    # Host and port; missing for a file.
    host: str
    # How long the connection took, in milliseconds.
    ms: int
    # Whether it takes connections; missing for what was not looked at.
    reachable: bool


class Status(TypedDict):
    """How the service is."""
    # alive.
    status: str


class _Stock(TypedDict):
    # How many.
    count: int


class Stock(_Stock, total=False):
    """How many triggers are in a state."""
    # When the oldest of them fired; missing without any.
    oldest: str


class _StoredApp(TypedDict):
    # The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    appId: str
    # How messages of the app are matched and answered, and its limits.
    settings: Settings


class StoredApp(_StoredApp, total=False):
    """An app as it was put, credentials as ***."""
    # Issuers of ID tokens that are verified. A front-end sends a user's token in the header {name}_token.
    authServices: List[AuthService]
    # OAuth2 clients of the app, with which its tools can authenticate calls.
    modules: List[Module]
    # What people call it, as shown in lists.
    name: str
    # What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request.
    notes: List[str]
    # Signs calls (Standard Webhooks): whsec_ and base64, or 24 to 64 bytes in base64. While receivers change
    # over, several with spaces between them. A credential. Never returned: reads as ***; *** sent back keeps
    # what is stored.
    signingSecret: str
    # Databases and APIs that tools of a type work on.
    sources: List[Source]


class _StoredRepository(TypedDict):
    # The app. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    appId: str
    # How its tools fire together.
    options: Options
    # The repository, unique in its app or session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -,
    # the first a letter or digit.
    repositoryId: str
    # The tools, with unique names. Required without from. With it they are those of its server, and ignored
    # in a request.
    tools: List[Tool]


_StoredRepositoryOdd = TypedDict("_StoredRepositoryOdd", {"from": "str"}, total=False)


class StoredRepository(_StoredRepositoryOdd, _StoredRepository, total=False):
    """A repository as it was put, credentials as ***, with its times."""
    # When it was created. Set by the service, ignored in a request.
    created: str
    # What may surprise the author of a write, in the answer to it. Set by the service, ignored in a request.
    notes: List[str]
    # The session. As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.
    sessionId: str
    # When it was last changed. Set by the service, ignored in a request.
    updated: str


class StoredTest(TypedDict):
    """A test that an app keeps."""
    # Its name.
    name: str
    # The expected conversation.
    test: Test
    # When it was written last.
    updated: str


class _StoredTestList(TypedDict):
    # The page.
    items: List[StoredTest]


class StoredTestList(_StoredTestList, total=False):
    """A page of tests, by name."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _Test(TypedDict):
    # What is said, and what it should fire.
    chat: List[TestTurn]


class Test(_Test, total=False):
    """An expected conversation, in the form of kind: test of files."""
    # As in the path.
    app: str
    # What the user speaks (BCP 47).
    language: str
    # The time of its messages (RFC 3339).
    now: str
    # Where the user is, as Europe/Berlin.
    timeZone: str
    # The tools in scope.
    tools: List[str]


class _TestReport(TypedDict):
    # Its name.
    name: str
    # Whether it passed.
    ok: bool
    # How many messages came out as expected.
    right: int
    # How many lack an effect that was expected.
    silent: int
    # The messages that came out otherwise than expected.
    turns: List[TestTurnReport]
    # How many had an effect that was not expected.
    wrong: int


class TestReport(_TestReport, total=False):
    """What came of a test."""
    # Why its conversation could not be held to the end.
    error: str


class TestTurn(TypedDict, total=False):
    """What is said, or what the message before should come to. One member may have both."""
    # What the agent says.
    agent: str
    # The expected result of the user's message: one of the objects {tool, values}, {rejected, missing} and
    # {none: true}, or a list of them.
    expect: Any
    # What the user says.
    user: str


class _TestTurnReport(TypedDict):
    # The tools that fired, each with tool and values.
    came: List[Dict[str, Any]]
    # What was expected, as the test has it.
    expected: List[Dict[str, Any]]
    # The tools that were meant, each with rejected and missing.
    rejected: List[Dict[str, Any]]
    # What the user says.
    user: str
    # How it came out.
    verdict: Literal['right', 'wrong', 'silent', 'error']
    # How it came about, in a sentence.
    why: str


class TestTurnReport(_TestTurnReport, total=False):
    """What came of a message of a test."""
    # The tools that its words are nearest to, each with tool and score.
    near: List[Dict[str, Any]]


class TokenRequest(TypedDict, total=False):
    """A token for the front-end of one session."""
    # How long it is valid, as 30m; at most 24h. It also ends with its key, session and app. Default: 1h.
    expiresIn: str


class ToolAnswer(TypedDict):
    """Instead of a url: nothing is called, and a subscriber to the event answers."""
    # How long to wait for an answer, as 30s; more than 0 and at most 24h.
    within: str


class _ToolDedupe(TypedDict):
    # As 10m; more than 0 and at most 168h.
    within: str


class ToolDedupe(_ToolDedupe, total=False):
    """Of triggers with equal values within a time, only one takes effect. The others are its duplicates."""
    # Names of the parameters to compare. Default: all values.
    by: Union[List[str], None]
    # Which triggers are compared: those of the session, or of the whole app. Default: session.
    scope: Literal['session', 'app']


class ToolFunction(TypedDict, total=False):
    """A tool as OpenAI and langchaingo define it, with type function: its name, description and parameters
    are those of the tool. The other fields are beside it."""
    # What it is for.
    description: str
    # Name of the tool.
    name: str
    # A JSON Schema. Without it the tool has no parameters.
    parameters: Union[Dict[str, Any], None]
    # Ignored: every value is checked.
    strict: Union[bool, None]


class _Tool(TypedDict):
    # Name of the tool: 1 to 64 of A-Z a-z 0-9 _ -. A tool called collect-user-message is the fallback: it
    # fires with the text as value if nothing else matches. function may give the name instead.
    name: str


class Tool(_Tool, total=False):
    """A tool that a user's words can fire."""
    # Hints of Toolbox for its clients. Ignored.
    annotations: Dict[str, Any]
    # Instead of a url: nothing is called, and a subscriber to the event answers.
    answer: ToolAnswer
    # Names of authServices. One of them must have verified the user, else the tool is not offered, and a
    # direct trigger is refused with 401.
    authRequired: List[str]
    # Of an http tool: values of its requestBody.
    bodyParams: Union[List[ToolboxParameter], None]
    # true: while a trigger settles, the user's next message cancels it. Needs settle. Default: false.
    cancelOnNext: bool
    # Whether a user must say yes before anything takes effect: each time, once in a session for the same
    # values, or never. Default: never.
    confirm: Literal['always', 'once', 'never']
    # Of triggers with equal values within a time, only one takes effect. The others are its duplicates.
    dedupe: ToolDedupe
    # What it is for, in the words of its users: the model and the rule-based matcher decide by it.
    description: str
    # resource.scope: the event also goes to app.{appId}.{resource}.{scope}.
    emitter: str
    # Texts that call for the tool. Values may be marked with their parameters: "a table for [two](people)". A
    # message that equals an example of a tool without values fires it without a model.
    examples: List[str]
    # A tool as OpenAI and langchaingo define it, with type function: its name, description and parameters are
    # those of the tool. The other fields are beside it.
    function: Union[ToolFunction, None]
    # Of an http tool: strings that are sent as headers of their names.
    headerParams: Union[List[ToolboxParameter], None]
    # Of an http tool.
    headers: Union[Dict[str, str], None]
    # The JSON Schema of parameters, as MCP calls it.
    inputSchema: Union[Dict[str, Any], None]
    # The JSON Schema of parameters, as Anthropic calls it.
    input_schema: Union[Dict[str, Any], None]
    # Of an http tool: GET, POST, PUT, PATCH or DELETE.
    method: str
    # Parameters in Toolbox form, or as a JSON Schema object.
    parameters: Union[List[ToolboxParameter], Dict[str, Any]]
    # Of an http tool: resolved against the source's baseUrl; {{.name}} pastes pathParams, escaped, and {name}
    # of a parameter is refused.
    path: str
    # Of an http tool: values of its path.
    pathParams: Union[List[ToolboxParameter], None]
    # Of an http tool: added to the query under their names; a list repeats its name.
    queryParams: Union[List[ToolboxParameter], None]
    # true: the tool changes nothing, so its record and its events are written after its answer. A SQL tool
    # then runs only queries. false lets a tool of type execute-sql change things, unless its source is
    # readOnly.
    readOnly: bool
    # Of an mcp tool: its name at the server. Default: name.
    remoteName: str
    # How its url is called: method, credentials, times. Without it the call is an unauthenticated POST of the
    # trigger event.
    request: Request
    # Of an http tool: a template, JSON unless its Content-Type says otherwise. {{.name}} and {{json .name}}
    # paste bodyParams, escaped for their place. {{json .}} is an object of all that have a value.
    requestBody: str
    # true: the result of the call is the reply itself, word for word; no model writes one. Default: false.
    returnDirect: bool
    # Parameters in SERMAS form. An object is read as the JSON Schema of parameters, and returned as
    # parameters.
    schema: Union[List[Parameter], None]
    # A delay, as 800ms, before the effects of a trigger. Until then it can be cancelled. More than 0 and at
    # most 60s.
    settle: str
    # true: no reply is made when this tool fires, and the answer has skipResponse true, so that a front-end
    # says nothing by itself. Default: false.
    skipResponse: bool
    # Name of one of the app's sources, of the type that the tool needs.
    source: str
    # Of a SQL tool: one statement. parameters are bound to $1 and so on, for mysql to ?, for sqlite also to ?
    # and :name. {{.name}} and {{array .name}} paste templateParameters.
    statement: str
    # Ignored: every value is checked.
    strict: Union[bool, None]
    # Parameters in Toolbox form that are pasted into the statement of a SQL tool, as their rules allow, where
    # values cannot be bound: names of tables and columns.
    templateParameters: Union[List[ToolboxParameter], None]
    # What the tool does with its source. postgres-sql, mysql-sql and sqlite-sql run its statement. postgres-
    # execute-sql, mysql-execute-sql and sqlite-execute-sql run one that is a parameter. postgres-list-tables
    # and mysql-list-tables describe the tables. http and mcp call. Without a type it fires an event and calls
    # its url.
    type: str
    # Called when the tool fires. :param and :appId in path and query are replaced, and {param} is refused. A
    # :param in the path is required, whatever its definition says.
    url: str


class _ToolSearch(TypedDict):
    # What is to be done, in words: not empty, at most 65536 bytes of UTF-8.
    text: str


class ToolSearch(_ToolSearch, total=False):
    """What a tool is looked for by."""
    # The most tools to find. Default: 10.
    limit: Union[int, None]


class ToolUsage(TypedDict):
    """The use of a tool in the last 24 hours."""
    # How often it fired. What waits for a yes or its time counts when it takes effect, a duplicate never.
    fired: int
    # The hours in which it was used, the oldest first.
    hours: List[HourOfUse]
    # Its name.
    name: ToolName
    # How often it was called for with values missing or wrong.
    rejected: int


class _ToolUsageList(TypedDict):
    # The page.
    items: List[ToolUsage]


class ToolUsageList(_ToolUsageList, total=False):
    """A page of used tools, by name."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _ToolboxParameter(TypedDict):
    # What the value is, for the model.
    description: str
    # Name of the parameter.
    name: str
    # What the value is: string, number (any), integer, float (a number, too), boolean, object, array (items
    # says of what) or map (an object whose values are all of valueType).
    type: Literal['string', 'number', 'integer', 'float', 'boolean', 'object', 'array', 'map']


class ToolboxParameter(_ToolboxParameter, total=False):
    """A parameter in Toolbox form; required unless it says otherwise."""
    # Other words for allowed values, by the value. An alias becomes that value, from users and programs.
    aliases: Dict[str, List[str]]
    # A value must equal an entry, or match all of it as RE2.
    allowedValues: List[Any]
    # What to ask a user if a call lacks it.
    ask: str
    # The value comes from a verified ID token: the claim of the first verified service of these.
    authServices: List[Claim]
    # Used if no value is given. null is none.
    default: Any
    # Puts the value between delimiters, and doubles a closing one inside it.
    escape: Literal['single-quotes', 'double-quotes', 'backticks', 'square-brackets']
    # A value must not equal an entry, or match any part of it as RE2.
    excludedValues: List[Any]
    # The form of a string by ISO 8601. Words of users are converted to it.
    format: Literal['date', 'time', 'date-time', 'duration']
    # A model's value for it must appear in the conversation. Default: false.
    grounded: bool
    # Never shown to a model or filled by it. Default: false.
    ignore: bool
    # What the members of an array are.
    items: Items
    # Greatest value of a number.
    maxValue: float
    # Least value of a number.
    minValue: float
    # false: the tool also fires without a value. Default: true.
    required: bool
    # Of bodyParams: required once another of them has a value. If none has one, no body is sent. Default:
    # false.
    requiredInBody: bool
    # What a number counts. An amount in another unit is converted.
    unit: str
    # A fixed value. It always wins.
    value: Any
    # Type of the values of a map. Default: any.
    valueType: Literal['string', 'integer', 'float', 'number', 'boolean']


class _Usage(TypedDict):
    # Those that failed.
    callFailures: int
    # Attempts at calls of tools, each retry counted.
    calls: int
    # Tokens of their answers.
    completionTokens: int
    # Events that NATS took.
    events: int
    # Those that fired a tool, or said yes or no to one.
    matched: int
    # Messages of users that were decided. One that is sent again, and a dry run, is none.
    messages: int
    # Requests that Earshot made to a model, to match or to reply. Dry runs and drafts have some, relayed
    # chats none but those of their messages.
    modelRequests: int
    # Tokens of these, as the models count them.
    promptTokens: int
    # Those that called for tools with missing or wrong values, and fired none.
    rejected: int
    # Tools that fired, by messages or directly. What waits for a yes or its time counts when it takes effect,
    # a duplicate never.
    triggers: int
    # Those that called for nothing.
    unmatched: int


class Usage(_Usage, total=False):
    """What an app has used in some time."""
    # The day, of UTC, where step is day.
    day: str
    # How long messages took from their arrival to their decision; missing without any.
    decisionMs: Durations
    # When the minute, the hour or the day begins; missing of a total.
    ts: str


class _UsageList(TypedDict):
    # The minutes, hours or days in which something was used, the oldest first.
    items: List[Usage]
    # All of the time together, also what is on other pages.
    total: Usage


class UsageList(_UsageList, total=False):
    """What an app has used, step by step."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _VersionList(TypedDict):
    # The page, the newest first.
    items: List[RepositoryVersion]


class VersionList(_VersionList, total=False):
    """A page of versions of a repository."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _Webhook(TypedDict):
    # Name of the webhook: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit. A new name is a new
    # webhook, which starts with new events.
    name: str
    # Where events are posted: an absolute http or https URL. Redirects are not followed.
    url: str


class Webhook(_Webhook, total=False):
    """A URL of the app that its events are sent to."""
    # Signs what is sent (Standard Webhooks): whsec_ and base64. While the receiver changes over, several with
    # spaces between them. Default: signingSecret of the app. A credential. Never returned: reads as ***; ***
    # sent back keeps what is stored.
    secret: str
    # disabled: nothing is sent. When it is enabled again, it continues where it stopped. Default: enabled.
    state: Literal['enabled', 'disabled']
    # Which events are sent, by the first two words of their subjects: tool.trigger, .result, .rejected,
    # .notmatching, .confirm, .cancelled, .duplicate, .changed or .webhook, chat.message or .failed. Default:
    # all.
    types: List[str]


class _WebhookDelivery(TypedDict):
    # How often it was sent.
    attempts: int
    # The event: webhook-id of each attempt.
    eventId: str
    # When it was sent first.
    firstAt: str
    # Whether it is sent again.
    state: Literal['waiting', 'failed']
    # When it was decided.
    ts: str
    # What it is, as tool.trigger.
    type: str


class WebhookDelivery(_WebhookDelivery, total=False):
    """An event that did not arrive at a webhook."""
    # When it is sent again; missing if it has failed.
    nextAt: str
    # Its session; missing without one.
    sessionId: Id
    # What was answered last; missing if nothing was.
    status: int


class _WebhookDeliveryList(TypedDict):
    # The page, the oldest event first.
    items: List[WebhookDelivery]


class WebhookDeliveryList(_WebhookDeliveryList, total=False):
    """A page of events that did not arrive."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _WebhookList(TypedDict):
    # The webhooks, by name.
    items: List[WebhookStatus]


class WebhookList(_WebhookList, total=False):
    """The webhooks of an app."""
    # Cursor of the next page, to be sent as after; missing on the last.
    next: str


class _WebhookStatus(TypedDict):
    # How many events have arrived.
    delivered: int
    # How many were given up.
    failed: int
    # How many went from the stream, by age or erasure, before they could be sent again.
    gone: int
    # Its name.
    name: str
    # failing: nothing has arrived since the last failure. disabled: by the app, or by Earshot, which gives a
    # reason.
    state: Literal['enabled', 'failing', 'disabled']
    # Which events are sent; empty for all.
    types: List[str]
    # Where events are posted.
    url: str
    # How many are to be sent again.
    waiting: int


class WebhookStatus(_WebhookStatus, total=False):
    """A webhook, and how it fares."""
    # When Earshot has disabled it.
    disabledAt: str
    # When the first of the failures was after which nothing has arrived.
    failingSince: str
    # When an event arrived last.
    lastDeliveredAt: str
    # Why Earshot has disabled it.
    reason: str
    # When it was added.
    since: str


class _WholeVersion(TypedDict):
    # Who wrote it.
    by: str
    # The repository, masked; null where the write has deleted it.
    definition: Union[StoredRepository, None]
    # What the write did.
    operation: Literal['created', 'updated', 'deleted', 'restored']
    # How many tools it has.
    tools: int
    # Its number.
    version: int
    # By which way.
    via: str


class WholeVersion(_WholeVersion, total=False):
    """A version with its definition."""
    # The name of that key.
    keyName: str
    # The version that was written again.
    restored: int
    # When it was written.
    ts: str


class ChatFailed(TypedDict):
    """A message could not be decided, in an app with settings.chatEvents. It stays in the history. Send the
    same messageId to try again."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["chat.failed"]
    data: EventChatFailed


class ChatMessage(TypedDict):
    """A message was stored, or a reply was made, in an app with settings.chatEvents."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["chat.message"]
    data: EventChatMessage


class ToolCancelled(TypedDict):
    """A trigger ended before it had an effect. It was denied, cancelled, withdrawn by the next message, or
    not confirmed in time."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.cancelled"]
    data: EventCancelled


class ToolChanged(TypedDict):
    """A repository was created, updated or deleted."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.changed"]
    data: EventChanged


class ToolConfirm(TypedDict):
    """A tool was called for, and waits for a confirmation before it has an effect."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.confirm"]
    data: EventConfirm


class ToolDuplicate(TypedDict):
    """A tool was called for with the values of an earlier trigger, which stands for it."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.duplicate"]
    data: EventDuplicate


class ToolNotmatching(TypedDict):
    """Tools were in scope and the message called for none."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.notmatching"]
    data: EventNotmatching


class ToolRejected(TypedDict):
    """A message called for a tool, with values that are missing or wrong. Nothing fired."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.rejected"]
    data: EventRejected


class ToolResult(TypedDict):
    """The call of a tool has ended, well or not."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.result"]
    data: EventResult


class ToolTrigger(TypedDict):
    """A tool fires."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.trigger"]
    data: EventFired


class ToolWebhook(TypedDict):
    """A webhook of the app was disabled: nothing has arrived for five days, or its server answered 410."""
    # Goes on behind this event, where it is given as after.
    id: str
    kind: Literal["tool.webhook"]
    data: EventWebhook

# An event: its kind tells which payload its data is.
Event = Union[ChatFailed, ChatMessage, ToolCancelled, ToolChanged, ToolConfirm, ToolDuplicate, ToolNotmatching, ToolRejected, ToolResult, ToolTrigger, ToolWebhook]
