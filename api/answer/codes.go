package answer

import "net/http"

// Code identifies a fault for programs: two problems differ in it if a client would act differently. Codes are
// never renamed or reused.
type Code string

type described struct {
	Code   Code   `json:"code"`
	Status int    `json:"status"` // over HTTP
	When   string `json:"when"`
	Do     string `json:"do"` // what a client should do
}

// The codes of problems. Codes describes each of them.
const (
	InvalidBody           Code = "invalid_body"
	InvalidQuery          Code = "invalid_query"
	InvalidCursor         Code = "invalid_cursor"
	InvalidPath           Code = "invalid_path"
	InvalidHeader         Code = "invalid_header"
	InvalidIdempotencyKey Code = "invalid_idempotency_key"
	IdempotencyKeyDiffers Code = "idempotency_key_differs"
	MaxTokensExceeded     Code = "max_tokens_exceeded"
	CapabilityMissing     Code = "capability_missing"
	KeyMissing            Code = "key_missing"
	KeyInvalid            Code = "key_invalid"
	KeyExpired            Code = "key_expired"
	UserUnverified        Code = "user_unverified"
	NotPermitted          Code = "forbidden"
	ScopeMissing          Code = "scope_missing"
	OriginNotAllowed      Code = "origin_not_allowed"
	HostNotAllowed        Code = "host_not_allowed"
	ModelNotAllowed       Code = "model_not_allowed"
	NotFound              Code = "not_found"
	UnknownPath           Code = "unknown_path"
	UnknownApp            Code = "unknown_app"
	UnknownSession        Code = "unknown_session"
	UnknownRepository     Code = "unknown_repository"
	UnknownTool           Code = "unknown_tool"
	UnknownVersion        Code = "unknown_version"
	UnknownTest           Code = "unknown_test"
	UnknownWebhook        Code = "unknown_webhook"
	UnknownTrigger        Code = "unknown_trigger"
	UnknownMessage        Code = "unknown_message"
	UnknownDraft          Code = "unknown_draft"
	UnknownKey            Code = "unknown_key"
	UnknownModule         Code = "unknown_module"
	NotExplained          Code = "not_explained"
	MethodNotAllowed      Code = "method_not_allowed"
	BodyTimeout           Code = "body_timeout"
	MessageIDReused       Code = "message_id_reused"
	DraftReplaced         Code = "draft_replaced"
	DraftDecided          Code = "draft_decided"
	TriggerIDReused       Code = "trigger_id_reused"
	TriggerEnded          Code = "trigger_ended"
	TriggerOwes           Code = "trigger_owes"
	DigestDiffers         Code = "digest_differs"
	NoAnswerAwaited       Code = "no_answer_awaited"
	SessionClosed         Code = "session_closed"
	SessionOfAnotherUser  Code = "session_of_another_user"
	InUse                 Code = "in_use"
	PreconditionFailed    Code = "precondition_failed"
	BodyTooLong           Code = "body_too_long"
	UnsupportedMediaType  Code = "unsupported_media_type"
	InvalidValues         Code = "invalid_values"
	LimitReached          Code = "limit_reached"
	ScopesExceeded        Code = "scopes_exceeded"
	UpgradeRequired       Code = "upgrade_required"
	RateLimited           Code = "rate_limited"
	SignInPaused          Code = "sign_in_paused"
	StreamsExceeded       Code = "streams_exceeded"
	InternalError         Code = "internal_error"
	ModelNotConfigured    Code = "model_not_configured"
	MessageUndecided      Code = "message_undecided"
	ModelUnreachable      Code = "model_unreachable"
	ModelBusy             Code = "model_busy"
	IssuerUnavailable     Code = "issuer_unavailable"
	StoreUnavailable      Code = "store_unavailable"
	StoreFull             Code = "store_full"
	EventsUnavailable     Code = "events_unavailable"
	SessionErasing        Code = "session_erasing"
	Overloaded            Code = "overloaded"
	NotReady              Code = "not_ready"
	Interrupted           Code = "interrupted"
)

// Codes lists all codes, sorted by status.
var Codes = []described{
	{InvalidBody, http.StatusBadRequest, "The body is missing, is not JSON, or has wrong fields. `errors` names each.", "Fix what `errors` points at. `suggestion` is the name that was probably meant."},
	{InvalidQuery, http.StatusBadRequest, "A query parameter is unknown, given twice, or has an invalid value.", "Fix the parameter that `detail` names."},
	{InvalidCursor, http.StatusBadRequest, "`after` is not the `next` of an earlier page of this list.", "Start again without `after`."},
	{InvalidPath, http.StatusBadRequest, "An id in the path is invalid, or is of the wrong kind for this path.", "Fix the id."},
	{InvalidHeader, http.StatusBadRequest, "A header cannot be read, or does not fit the body.", "Fix the header that `detail` names."},
	{InvalidIdempotencyKey, http.StatusBadRequest, "`Idempotency-Key` is not a valid `messageId` or `triggerId`.", "Send one with the right characters and length."},
	{IdempotencyKeyDiffers, http.StatusBadRequest, "The id in the body differs from `Idempotency-Key`.", "Send one of them."},
	{MaxTokensExceeded, http.StatusBadRequest, "A chat asks for more tokens than the app allows.", "Ask for fewer."},
	{CapabilityMissing, http.StatusBadRequest, "Over MCP: the method needs an extension that the client has not declared.", "Declare it."},
	{KeyMissing, http.StatusUnauthorized, "No key or token was sent.", "Send one as a bearer token."},
	{KeyInvalid, http.StatusUnauthorized, "The key or token does not exist, was revoked, or ended with its session or app.", "Get another one. This one stays invalid."},
	{KeyExpired, http.StatusUnauthorized, "The key or token has expired.", "Renew it, and send the request again."},
	{UserUnverified, http.StatusUnauthorized, "The tool needs a verified user, and no valid ID token was sent.", "Have the user sign in, and send the ID token."},
	{NotPermitted, http.StatusForbidden, "The key or token does not allow this, or nothing exists here.", "Use another key."},
	{ScopeMissing, http.StatusForbidden, "The app's key lacks a scope, which `detail` names.", "Use a key that has it."},
	{OriginNotAllowed, http.StatusForbidden, "The app does not allow the origin of the page.", "Add it to `settings.allowedOrigins`."},
	{HostNotAllowed, http.StatusForbidden, "A service without keys was called by a host name that is not local.", "Call `127.0.0.1` or `localhost`, or set a key."},
	{ModelNotAllowed, http.StatusForbidden, "The app may not use this model.", "Use one that `detail` names."},
	{NotFound, http.StatusNotFound, "Something else does not exist.", "Read `detail`."},
	{UnknownPath, http.StatusNotFound, "Nothing exists at this path.", "Compare it with `/openapi.json`."},
	{UnknownApp, http.StatusNotFound, "No app has this id.", "Create it, or fix the id."},
	{UnknownSession, http.StatusNotFound, "The session was never used or created, or has ended.", "Start it by using it."},
	{UnknownRepository, http.StatusNotFound, "No repository has this id.", "Create it, or fix the id."},
	{UnknownTool, http.StatusNotFound, "No tool of this name is in scope, or it was just removed.", "List the tools again."},
	{UnknownVersion, http.StatusNotFound, "The version does not exist any more, or it is a deletion and has no definition.", "Use one from the list of versions."},
	{UnknownTest, http.StatusNotFound, "The app has no test of this name.", "Create it, or fix the name."},
	{UnknownWebhook, http.StatusNotFound, "The app has no webhook of this name.", "Add it to `settings.webhooks`, or fix the name."},
	{UnknownTrigger, http.StatusNotFound, "No trigger has this id, or its record has expired.", "Fix the id."},
	{UnknownMessage, http.StatusNotFound, "No message of the session has this id.", "Fix the id."},
	{UnknownDraft, http.StatusNotFound, "No draft or message has this id. A draft is kept for 60 s.", "Send the text as a message."},
	{UnknownKey, http.StatusNotFound, "No key has this id.", "Nothing: it no longer exists."},
	{UnknownModule, http.StatusNotFound, "The module was removed or changed.", "Request a new token."},
	{NotExplained, http.StatusNotFound, "No explanation of the message is kept, or no longer.", "Read `detail` for the reason."},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "The path does not take this method. `Allow` names those it takes.", "Use one of them."},
	{BodyTimeout, http.StatusRequestTimeout, "The body did not arrive within 30 s.", "Send it again, on a new connection."},
	{MessageIDReused, http.StatusConflict, "The `messageId` belongs to another message, with another text or actor.", "Use another id."},
	{DraftReplaced, http.StatusConflict, "A newer text replaced the draft, or it was withdrawn.", "Nothing: the newer one is answered."},
	{DraftDecided, http.StatusConflict, "The draft has become a message. `triggers` lists what it fired.", "Cancel those triggers that still can be cancelled."},
	{TriggerIDReused, http.StatusConflict, "The `triggerId` belongs to another trigger: of another tool or session, or with other values.", "Use another id."},
	{TriggerEnded, http.StatusConflict, "The trigger has ended, or an effect of it is under way. `state` says which.", "Show the state."},
	{TriggerOwes, http.StatusConflict, "The trigger has not ended, so its record is still needed. `state` is its state.", "Cancel the trigger, or wait."},
	{DigestDiffers, http.StatusConflict, "The digest stands for other values than the trigger has.", "Read the trigger again, and ask the user again."},
	{NoAnswerAwaited, http.StatusConflict, "The trigger does not wait for an answer.", "Nothing."},
	{SessionClosed, http.StatusConflict, "The session was closed while the message was matched.", "Send it again: it starts the session anew."},
	{SessionOfAnotherUser, http.StatusConflict, "The session belongs to another user than `user` names. It keeps its user until it is erased or has expired.", "Use another session for this user, or erase the session first."},
	{InUse, http.StatusConflict, "Tools use what the app would lose. `errors` names them.", "Change these tools first, or send `?force=true`."},
	{PreconditionFailed, http.StatusPreconditionFailed, "`If-Match` or `If-None-Match` does not hold: somebody else has changed it.", "Read it again, and repeat your change."},
	{BodyTooLong, http.StatusRequestEntityTooLarge, "The body is too long.", "Send less."},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "The body's type or encoding is not supported.", "Send `application/json`."},
	{InvalidValues, http.StatusUnprocessableEntity, "Values do not fit the tool. `errors` names each.", "Fix them, or ask the user."},
	{LimitReached, http.StatusUnprocessableEntity, "A limit on a number is reached. `limit` names it if it is a setting.", "Remove something, or raise the limit."},
	{ScopesExceeded, http.StatusUnprocessableEntity, "The new key would have more scopes than the key that makes it.", "Ask for fewer, or use another key."},
	{UpgradeRequired, http.StatusUpgradeRequired, "The path is for WebSocket.", "Connect by WebSocket; to `/mqtt` with an MQTT client."},
	{RateLimited, http.StatusTooManyRequests, "A rate limit is reached. `limit` names it.", "Send it again after `Retry-After`: nothing was stored."},
	{SignInPaused, http.StatusTooManyRequests, "Too many wrong credentials came from this address.", "Fix the credential, and wait for `Retry-After`."},
	{StreamsExceeded, http.StatusTooManyRequests, "The app or the session has too many event streams open.", "Close one."},
	{InternalError, http.StatusInternalServerError, "An error in Earshot.", "Send it again with the same id. Tell the operator the `X-Request-Id`."},
	{ModelNotConfigured, http.StatusNotImplemented, "The listening endpoint has no model behind it.", "Tell the operator."},
	{MessageUndecided, http.StatusBadGateway, "The model gave no usable answer. The message is kept, and nothing fired.", "Send it again with the same `messageId`."},
	{ModelUnreachable, http.StatusBadGateway, "The model behind the listening endpoint cannot be reached.", "Send it again."},
	{ModelBusy, http.StatusServiceUnavailable, "The model is busy. The message is kept, and nothing fired.", "Send it again with the same `messageId` after `Retry-After`."},
	{IssuerUnavailable, http.StatusServiceUnavailable, "The keys of the access token's issuer cannot be fetched.", "Send it again after `Retry-After`."},
	{StoreUnavailable, http.StatusServiceUnavailable, "Redis does not answer.", "Send it again with the same id after `Retry-After`."},
	{StoreFull, http.StatusServiceUnavailable, "Redis is full. Nothing was stored.", "Delete something, or tell the operator."},
	{EventsUnavailable, http.StatusServiceUnavailable, "NATS does not answer, or this service reads no events.", "Reconnect after `Retry-After`, with the id of the last event."},
	{SessionErasing, http.StatusServiceUnavailable, "The session is being erased.", "Send it again in a moment: it starts the session anew."},
	{Overloaded, http.StatusServiceUnavailable, "The replica is busy. Nothing was done.", "Send it again after `Retry-After`."},
	{NotReady, http.StatusServiceUnavailable, "At `/readyz`: the replica cannot do its work.", "Send requests to another one."},
	{Interrupted, http.StatusServiceUnavailable, "The request ended before its answer was ready.", "Send it again with the same id."},
}

// statuses maps codes to their statuses.
var statuses = func() map[Code]int {
	all := make(map[Code]int, len(Codes))
	for _, one := range Codes {
		all[one.Code] = one.Status
	}
	return all
}()
