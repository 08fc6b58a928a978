package httpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/fault"
	"earshot/repositories/retryafter"
	"earshot/trigger/effect"
)

// exchange sends the request once and reads the answer. It also says what the attempt
// tells about the health of the host.
func (c *Caller) exchange(ctx context.Context, call *preparedCall, authorization string) (effect.Outcome, hostHealth) {
	var sent, reached atomic.Bool
	request, err := requestOf(traced(ctx, &sent, &reached, call.repeatable), call, authorization)
	if err != nil {
		return effect.OutcomeOf(err), unknown
	}
	client := c.client
	if !call.repeatable {
		client = c.unpooled
	}
	if effect.Late(ctx) {
		return effect.OutcomeOf(effect.Transient(effect.ReasonTimeout, "%s was not sent: the time of the attempt was over", call.label())), unknown
	}
	response, err := client.Do(request)
	if err != nil {
		c.log.InfoContext(ctx, "call.unanswered", "app", call.effect.AppID, "trigger", call.effect.TriggerID,
			"host", call.target.Host, "error", call.redactor.redact(logText(err)))
		outcome, health := outcomeOfError(ctx, call, err, sent.Load())
		outcome.Reached = reached.Load()
		return outcome, health
	}
	defer response.Body.Close()
	return c.outcomeOfAnswer(call, response)
}

func requestOf(ctx context.Context, call *preparedCall, authorization string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, call.method, "", bytes.NewReader(call.body))
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "request.method %q is no HTTP method", effect.Clip(call.method))
	}
	request.URL, request.Host, request.Header = call.target, call.target.Host, call.header.Clone()
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return request, nil
}

// traced notes when a request begins to be written: from then on the endpoint may have
// acted on it. One that must not be made twice counts as sent as soon as it has a
// connection: over HTTP/2 its headers leave before anybody is told. It has reached somebody
// when it has a connection.
func traced(ctx context.Context, sent, reached *atomic.Bool, repeatable bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			reached.Store(true)
			if !repeatable {
				sent.Store(true)
			}
		},
		WroteHeaders: func() { sent.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { failpoint.At(failpoint.RequestSent) },
	})
}

// outcomeOfAnswer returns the outcome of an answered request. The status alone decides: an answer whose
// body does not end in time is a cut one.
func (c *Caller) outcomeOfAnswer(call *preparedCall, response *http.Response) (effect.Outcome, hostHealth) {
	outcome := effect.Outcome{Status: response.StatusCode, Reached: true}
	outcome.Result, outcome.Truncated = readResult(response.Body, call.redactor)
	outcome.Verdict, outcome.Reason = verdictOf(response.StatusCode)
	if outcome.Verdict == effect.Retry && !call.repeatable {
		outcome.Verdict = effect.Dead // it arrived
	}
	if outcome.Verdict == effect.Retry {
		outcome.After = retryafter.Pause(response.Header, c.now(), repositories.MostRetryFor)
	}
	if outcome.Verdict != effect.Done {
		outcome.Error = fmt.Sprintf("%s answered %d %s%s",
			call.label(), response.StatusCode, http.StatusText(response.StatusCode), explainStatus(response.StatusCode))
	}
	if response.StatusCode >= 500 {
		return outcome, down
	}
	return outcome, alive
}

// outcomeOfError returns the outcome of a request that was not answered.
func outcomeOfError(ctx context.Context, call *preparedCall, err error, sent bool) (effect.Outcome, hostHealth) {
	var closed *guard.Blocked
	switch broken := errors.Is(ctx.Err(), context.Canceled); {
	case errors.As(err, &closed):
		return effect.OutcomeOf(blocked(call.label(), closed, call.target.Hostname())), unknown
	case sent && !call.repeatable:
		return effect.OutcomeOf(effect.Permanent(effect.ReasonUnknown,
			"%s was sent and not answered (%s); the tool is not idempotent, so the call is not made again by itself",
			call.label(), publicText(err))), healthOf(broken)
	case broken:
		outcome := effect.OutcomeOf(effect.Transient(effect.ReasonRequest, "%s was broken off, as the service is stopping", call.label()))
		outcome.Deferred = !sent
		return outcome, unknown
	default:
		return effect.OutcomeOf(effect.Transient(reasonOf(err), "%s was not answered: %s", call.label(), publicText(err))), down
	}
}

func reasonOf(err error) effect.Reason {
	if timedOut(err) {
		return effect.ReasonTimeout
	}
	return effect.ReasonRequest
}

func healthOf(broken bool) hostHealth {
	if broken {
		return unknown
	}
	return down
}

// redactionMargin is read beyond the longest result, so that a credential at the cut is
// seen whole and masked.
const redactionMargin = 8 << 10

// byteOrderMark begins the answers of some servers; RFC 8259 8.1 lets readers skip it.
const byteOrderMark = "\ufeff"

// readResult reads an answer: JSON as it is, whatever its content type says, and else a
// JSON string of the text. Nil means that there was none. What is longer than a result
// may be, or broke off, is a string of its beginning, and cut is true.
func readResult(body io.Reader, mask redactor) (result json.RawMessage, cut bool) {
	read, err := io.ReadAll(io.LimitReader(body, effect.MaxResult+redactionMargin))
	cut = err != nil || len(read) > effect.MaxResult
	text := mask.redact(string(bytes.ToValidUTF8(read, []byte(string(utf8.RuneError)))))
	if len(text) > effect.MaxResult {
		text, cut = fault.Cut(text, effect.MaxResult), true
	}
	trimmed := bytes.TrimSpace([]byte(strings.TrimPrefix(text, byteOrderMark)))
	if len(trimmed) == 0 {
		return nil, cut
	}
	if !cut && json.Valid(trimmed) {
		var kept bytes.Buffer
		if json.Compact(&kept, trimmed) == nil {
			return mask.redactJSON(kept.Bytes()), false
		}
	}
	return exactjson.EncodeOrNull(text), cut
}
