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

	"earshot/repositories/crash"
	"earshot/trigger/effect"
)

// exchange sends the request once and reads the answer. It also says what the attempt
// tells about the health of the host.
func (c *Caller) exchange(ctx context.Context, call *preparedCall, authorization string) (effect.Outcome, health) {
	var sent atomic.Bool
	request, err := requestOf(traced(ctx, &sent, call.repeatable), call, authorization)
	if err != nil {
		return outcomeOf(err), unknown
	}
	client := c.client
	if !call.repeatable {
		client = c.fresh
	}
	if effect.Late(ctx) {
		return outcomeOf(retry(effect.ReasonTimeout, "%s was not sent: the time of the attempt was over", call.where())), unknown
	}
	response, err := client.Do(request)
	if err != nil {
		c.log.InfoContext(ctx, "call.unanswered", "app", call.delivery.AppID, "trigger", call.delivery.TriggerID,
			"host", call.target.Host, "error", call.redactor.over(detail(err)))
		return unanswered(ctx, call, err, sent.Load())
	}
	defer response.Body.Close()
	return c.answered(call, response)
}

func requestOf(ctx context.Context, call *preparedCall, authorization string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, call.method, "", bytes.NewReader(call.body))
	if err != nil {
		return nil, dead(effect.ReasonRequest, "request.method %q is no HTTP method", clip(call.method))
	}
	request.URL, request.Host, request.Header = call.target, call.target.Host, call.header.Clone()
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return request, nil
}

// traced notes when a request begins to be written: from then on the endpoint may have
// acted on it. One that must not be made twice counts as sent as soon as it has a
// connection: over HTTP/2 its headers leave before anybody is told.
func traced(ctx context.Context, sent *atomic.Bool, repeatable bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			if !repeatable {
				sent.Store(true)
			}
		},
		WroteHeaders: func() { sent.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { crash.At(crash.RequestSent) },
	})
}

// answered turns an answer into an outcome. The status alone decides: an answer whose
// body does not end in time is a cut one.
func (c *Caller) answered(call *preparedCall, response *http.Response) (effect.Outcome, health) {
	outcome := effect.Outcome{Status: response.StatusCode}
	outcome.Result, outcome.Truncated = readResult(response.Body, call.redactor)
	outcome.Verdict, outcome.Reason = judge(response.StatusCode)
	if outcome.Verdict == effect.Retry && !call.repeatable {
		outcome.Verdict = effect.Dead // it arrived
	}
	if outcome.Verdict == effect.Retry {
		outcome.After = pauseIn(response.Header, c.now())
	}
	if outcome.Verdict != effect.Done {
		outcome.Error = fmt.Sprintf("%s answered %d %s%s",
			call.where(), response.StatusCode, http.StatusText(response.StatusCode), remark(response.StatusCode))
	}
	if response.StatusCode >= 500 {
		return outcome, down
	}
	return outcome, alive
}

// unanswered turns the lack of an answer into an outcome.
func unanswered(ctx context.Context, call *preparedCall, err error, sent bool) (effect.Outcome, health) {
	var closed *Blocked
	switch broken := errors.Is(ctx.Err(), context.Canceled); {
	case errors.As(err, &closed):
		return outcomeOf(blocked(call.where(), closed, call.target.Hostname())), unknown
	case sent && !call.repeatable:
		return outcomeOf(dead(effect.ReasonUnknown,
			"%s was sent and not answered (%s); the tool is not idempotent, so the call is not made again by itself",
			call.where(), plainly(err))), healthOf(broken)
	case broken:
		outcome := outcomeOf(retry(effect.ReasonRequest, "%s was broken off, as the service is stopping", call.where()))
		outcome.Deferred = !sent
		return outcome, unknown
	default:
		return outcomeOf(retry(reasonOf(err), "%s was not answered: %s", call.where(), plainly(err))), down
	}
}

func reasonOf(err error) effect.Reason {
	if timedOut(err) {
		return effect.ReasonTimeout
	}
	return effect.ReasonRequest
}

func healthOf(broken bool) health {
	if broken {
		return unknown
	}
	return down
}

// blocked is the failure of a call to an address that is closed to calls. Only the
// operator can change that.
func blocked(where string, closed *Blocked, host string) error {
	return dead(effect.ReasonBlocked, "%s: %s", where, closed.Toward(host))
}

// mostResult is the longest result that is kept of an answer, in bytes.
const mostResult = 64 << 10

// maskMargin is read beyond the longest result, so that a credential at the cut is
// seen whole and masked.
const maskMargin = 8 << 10

// byteOrderMark begins the answers of some servers; RFC 8259 8.1 lets readers skip it.
const byteOrderMark = "\ufeff"

// readResult reads an answer: JSON as it is, whatever its content type says, and else a
// JSON string of the text. Nil means that there was none. What is longer than a result
// may be, or broke off, is a string of its beginning, and cut is true.
func readResult(body io.Reader, secrets redactor) (result json.RawMessage, cut bool) {
	read, err := io.ReadAll(io.LimitReader(body, mostResult+maskMargin))
	cut = err != nil || len(read) > mostResult
	text := secrets.over(string(bytes.ToValidUTF8(read, []byte(string(utf8.RuneError)))))
	if len(text) > mostResult {
		text, cut = cutRunes(text, mostResult), true
	}
	trimmed := bytes.TrimSpace([]byte(strings.TrimPrefix(text, byteOrderMark)))
	if len(trimmed) == 0 {
		return nil, cut
	}
	if !cut && json.Valid(trimmed) {
		var kept bytes.Buffer
		if json.Compact(&kept, trimmed) == nil {
			return secrets.overJSON(kept.Bytes()), false
		}
	}
	return compact(text), cut
}

// cutRunes cuts valid UTF-8 to at most so many bytes, between characters.
func cutRunes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
