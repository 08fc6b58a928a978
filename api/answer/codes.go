package answer

import "net/http"

// Code says for programs what is wrong: two problems differ in it where a client would act differently. A code is
// never renamed, and never used for another thing.
type Code string

// described is an entry of the table of codes.
type described struct {
	Code   Code   `json:"code"`
	Status int    `json:"status"` // that its answers over HTTP have
	When   string `json:"when"`
	Do     string `json:"do"` // what a client does about it
}

// The codes of problems. The table Codes says when each of them comes.
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

// Codes is the table of all codes, by status.
var Codes = []described{
	{InvalidBody, http.StatusBadRequest, "The body is missing, is no JSON, or has fields at fault; `errors` names each.", "Mend what `errors` points at; `suggestion` is the name that was probably meant."},
	{InvalidQuery, http.StatusBadRequest, "A parameter of the query is unknown, given twice, or has no value that will do.", "Mend the parameter that `detail` names."},
	{InvalidCursor, http.StatusBadRequest, "`after` is not the `next` of an earlier page of this list.", "Begin again without `after`."},
	{InvalidPath, http.StatusBadRequest, "An id in the path is none, or what is asked for there needs another.", "Mend the id."},
	{InvalidHeader, http.StatusBadRequest, "A header cannot be read, or does not go with the body.", "Mend the header that `detail` names."},
	{InvalidIdempotencyKey, http.StatusBadRequest, "`Idempotency-Key` breaks the rules of the id that it stands for: a `messageId` or a `triggerId`.", "Send one of the right signs and length."},
	{IdempotencyKeyDiffers, http.StatusBadRequest, "The body has another id than `Idempotency-Key`.", "Send one of them."},
	{MaxTokensExceeded, http.StatusBadRequest, "A chat asks for more tokens than the app allows.", "Ask for fewer."},
	{CapabilityMissing, http.StatusBadRequest, "By MCP: the method is for clients that declare an extension.", "Declare it."},
	{KeyMissing, http.StatusUnauthorized, "No key or token was sent.", "Send one as a bearer."},
	{KeyInvalid, http.StatusUnauthorized, "The key or token is none, was revoked, or ended with its session or app.", "Ask for another; the same one will not do again."},
	{KeyExpired, http.StatusUnauthorized, "The key or token was good, and its time is over.", "Renew it, and send the request again."},
	{UserUnverified, http.StatusUnauthorized, "The tool needs a verified user, and no ID token that will do was sent.", "Have the user sign in, and send the ID token."},
	{NotPermitted, http.StatusForbidden, "The key or token is not good for this, or there is nothing here.", "Use another key."},
	{ScopeMissing, http.StatusForbidden, "The app's key lacks a scope, which `detail` names.", "Use a key that has it."},
	{OriginNotAllowed, http.StatusForbidden, "The page that asks is of an origin that the app does not allow.", "Add it to `settings.allowedOrigins`."},
	{HostNotAllowed, http.StatusForbidden, "A service without keys was asked under a name that is not this machine's.", "Ask `127.0.0.1` or `localhost`, or set a key."},
	{ModelNotAllowed, http.StatusForbidden, "The app may not ask this model.", "Ask one that `detail` names."},
	{NotFound, http.StatusNotFound, "Something else is not there.", "Read `detail`."},
	{UnknownPath, http.StatusNotFound, "There is nothing at this path.", "Compare it with `/openapi.json`."},
	{UnknownApp, http.StatusNotFound, "There is no app of this id.", "Create it, or mend the id."},
	{UnknownSession, http.StatusNotFound, "The session was never used or put, or is over.", "Begin it by using it."},
	{UnknownRepository, http.StatusNotFound, "There is no repository of this id.", "Create it, or mend the id."},
	{UnknownTool, http.StatusNotFound, "No tool of this name is in scope, or it was just taken.", "List the tools again."},
	{UnknownVersion, http.StatusNotFound, "The repository has no such version any more, or it is a deletion, which has no definition.", "Take one that the list of versions has."},
	{UnknownTest, http.StatusNotFound, "The app has no test of this name.", "Keep it first, or mend the name."},
	{UnknownWebhook, http.StatusNotFound, "The app has no webhook of this name.", "Add it to `settings.webhooks`, or mend the name."},
	{UnknownTrigger, http.StatusNotFound, "There is no trigger of this id, or its record is gone.", "Mend the id."},
	{UnknownMessage, http.StatusNotFound, "There is no message of this id in the session.", "Mend the id."},
	{UnknownDraft, http.StatusNotFound, "There is neither a draft nor a message of this id; a draft is kept for 60 s.", "Send the text as a message."},
	{UnknownKey, http.StatusNotFound, "There is no key of this id.", "Nothing: it is gone."},
	{UnknownModule, http.StatusNotFound, "The module is gone, or is another by now.", "Ask for a token again."},
	{NotExplained, http.StatusNotFound, "Nothing is kept, or nothing any more, that explains the message.", "Read `detail` for the reason."},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "The path takes other methods, which `Allow` names.", "Use one of them."},
	{BodyTimeout, http.StatusRequestTimeout, "The body did not arrive within 30 s.", "Send it again, on a new connection."},
	{MessageIDReused, http.StatusConflict, "The `messageId` belongs to another message, with another text or actor.", "Send this one under an id of its own."},
	{DraftReplaced, http.StatusConflict, "The draft was overtaken by a newer text of its id, or taken back.", "Nothing: the newer one is answered."},
	{DraftDecided, http.StatusConflict, "The draft is a message by now; `triggers` is what it has set off.", "Cancel the triggers that can be."},
	{TriggerIDReused, http.StatusConflict, "The `triggerId` belongs to another trigger.", "Use another id."},
	{TriggerEnded, http.StatusConflict, "The trigger came to another end; `state` is its state.", "Show the state."},
	{TriggerOwes, http.StatusConflict, "The record is still needed; `state` is its state.", "Cancel the trigger, or wait."},
	{DigestDiffers, http.StatusConflict, "The digest stands for other values than those that were asked about.", "Read the trigger again, and ask the user anew."},
	{NoAnswerAwaited, http.StatusConflict, "The trigger is none that waits for an answer.", "Nothing."},
	{SessionClosed, http.StatusConflict, "The session was closed while the message was matched.", "Send it again: the session begins anew."},
	{SessionOfAnotherUser, http.StatusConflict, "The `user` that was named is not that of the session, which keeps its user until nothing of it is left.", "Use a session of this user's own, or erase the session first."},
	{InUse, http.StatusConflict, "Tools name what the app would lose; `errors` names them.", "Change them first, or send `?force=true`."},
	{PreconditionFailed, http.StatusPreconditionFailed, "`If-Match` or `If-None-Match` does not hold: somebody else has changed it.", "Read it again, and decide anew."},
	{BodyTooLong, http.StatusRequestEntityTooLarge, "The body is longer than is read.", "Send less."},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "The body's type or encoding is not read.", "Send `application/json`."},
	{InvalidValues, http.StatusUnprocessableEntity, "The values do not fit the tool; `errors` names each.", "Mend them, or ask the user."},
	{LimitReached, http.StatusUnprocessableEntity, "A number that the app limits is reached; `limit` names it where it is a setting.", "Remove something, or raise the limit."},
	{ScopesExceeded, http.StatusUnprocessableEntity, "A key would have more scopes than the one that makes it.", "Ask for fewer, or with another key."},
	{UpgradeRequired, http.StatusUpgradeRequired, "The path is for WebSocket.", "Connect by WebSocket; to `/mqtt` with an MQTT client."},
	{RateLimited, http.StatusTooManyRequests, "A rate is reached; `limit` names it.", "Send it again after `Retry-After`: nothing was stored."},
	{SignInPaused, http.StatusTooManyRequests, "Too many wrong credentials came from this address.", "Mend the credential, and wait for `Retry-After`."},
	{StreamsExceeded, http.StatusTooManyRequests, "The app or the session has as many event streams open as it may.", "Close one."},
	{InternalError, http.StatusInternalServerError, "Earshot is at fault.", "Send it again under the same id; tell the operator the `X-Request-Id`."},
	{ModelNotConfigured, http.StatusNotImplemented, "No model is behind the listening endpoint.", "Tell the operator."},
	{MessageUndecided, http.StatusBadGateway, "The model gave no usable answer; the message is kept, and nothing fired.", "Send it again under the same `messageId`."},
	{ModelUnreachable, http.StatusBadGateway, "The model behind the listening endpoint cannot be reached.", "Send it again."},
	{ModelBusy, http.StatusServiceUnavailable, "The model wants to be left alone; the message is kept, and nothing fired.", "Send it again under the same `messageId` after `Retry-After`."},
	{IssuerUnavailable, http.StatusServiceUnavailable, "The issuer of the access token cannot be asked for its keys.", "Send it again after `Retry-After`."},
	{StoreUnavailable, http.StatusServiceUnavailable, "Redis does not answer.", "Send it again under the same id after `Retry-After`."},
	{StoreFull, http.StatusServiceUnavailable, "Redis is full; nothing was stored.", "Delete something, or tell the operator."},
	{EventsUnavailable, http.StatusServiceUnavailable, "NATS does not answer, or this service reads no events.", "Connect again after `Retry-After`, from the last event on."},
	{SessionErasing, http.StatusServiceUnavailable, "The session is being erased.", "Send it again in a moment: the session begins anew."},
	{Overloaded, http.StatusServiceUnavailable, "The replica has as much under work as it takes; nothing was done.", "Send it again after `Retry-After`."},
	{NotReady, http.StatusServiceUnavailable, "At `/readyz`: the replica cannot do its work.", "Send requests to another one."},
	{Interrupted, http.StatusServiceUnavailable, "The request ended before its answer was there.", "Send it again under the same id."},
}

// statuses are the statuses of the codes.
var statuses = func() map[Code]int {
	all := make(map[Code]int, len(Codes))
	for _, one := range Codes {
		all[one.Code] = one.Status
	}
	return all
}()
