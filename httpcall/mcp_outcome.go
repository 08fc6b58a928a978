package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"earshot/httpcall/mcpclient"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/retryafter"
	"earshot/trigger/effect"
)

// outcomeOfRemote returns the outcome of a call that an MCP server did not carry out, or of
// which nobody knows. What stands between us and the server answers in HTTP, and is judged as
// in a call of a URL; an error of the server itself ends the call.
func (c *Caller) outcomeOfRemote(ctx context.Context, call *preparedCall, failed *mcpclient.Error, sent bool) (effect.Outcome, hostHealth) {
	var judged *effect.Failure
	answered := failed.Status != 0 && (failed.Status < 200 || failed.Status > 299)
	switch {
	case errors.As(failed.Cause, &judged):
		return judged.Outcome, unknown
	case failed.TooLong:
		return dead(failed.Status, "the answer of %s is longer than an answer may be", call.label()), alive
	case answered:
		return c.outcomeOfStatus(call, failed)
	case failed.Code != 0:
		return dead(failed.Status, "%s refused it: %s (%d)", call.label(), effect.Clip(failed.Message), failed.Code), alive
	case ctx.Err() != nil:
		return outcomeOfError(ctx, call, ctx.Err(), sent)
	case effect.Late(ctx): // what the client waits by has the same end, and may notice it first
		return outcomeOfError(ctx, call, context.DeadlineExceeded, sent)
	case failed.Cause != nil:
		return outcomeOfError(ctx, call, failed.Cause, sent)
	}
	return dead(failed.Status, "what %s answered is nothing that a server of MCP answers", call.label()), alive
}

// dead is the outcome of a call that was answered and came to nothing.
func dead(status int, format string, args ...any) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Status: status, Error: fmt.Sprintf(format, args...)}
}

func (c *Caller) outcomeOfStatus(call *preparedCall, failed *mcpclient.Error) (effect.Outcome, hostHealth) {
	outcome := effect.Outcome{Status: failed.Status}
	outcome.Verdict, outcome.Reason = verdictOf(failed.Status)
	if outcome.Verdict == effect.Retry && failed.Called && !call.repeatable {
		outcome.Verdict = effect.Dead // it arrived
	}
	if outcome.Verdict == effect.Retry {
		outcome.After = retryafter.Pause(failed.Header, c.now(), repositories.MostRetryFor)
	}
	outcome.Error = fmt.Sprintf("%s answered %d %s%s", call.label(), failed.Status, http.StatusText(failed.Status), explainStatus(failed.Status))
	if failed.Message != "" {
		outcome.Error += ": " + effect.Clip(failed.Message)
	}
	if failed.Status >= 500 {
		return outcome, down
	}
	return outcome, alive
}

// toolResult is what is read of the result of a tool (revision 2026-07-28, CallToolResult).
type toolResult struct {
	ResultType string            `json:"resultType"`
	IsError    bool              `json:"isError"`
	Structured json.RawMessage   `json:"structuredContent"`
	Content    []json.RawMessage `json:"content"`
}

// outcomeOfResult returns the outcome of a call that was carried out.
func outcomeOfResult(call *preparedCall, answer mcpclient.Answer) effect.Outcome {
	var result toolResult
	if json.Unmarshal(answer.Result, &result) != nil {
		return dead(answer.Status, "the result of %s is none of a tool", call.label())
	}
	switch {
	case result.ResultType != "" && result.ResultType != "complete":
		return dead(answer.Status, "%s asks for more (%s), which no call can give", call.label(), effect.Clip(result.ResultType))
	case result.IsError:
		return dead(answer.Status, "the tool failed: %s", cmp.Or(effect.Clip(call.redactor.redact(result.text())), "it does not say why"))
	}
	outcome := effect.Outcome{Verdict: effect.Done, Status: answer.Status}
	outcome.Result, outcome.Truncated = readResult(bytes.NewReader(result.value()), call.redactor)
	return outcome
}

// block is a content block of a result.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textOfBlock(raw json.RawMessage) (string, bool) {
	var read block
	err := json.Unmarshal(raw, &read)
	return read.Text, err == nil && read.Type == "text"
}

// text joins the texts of the result.
func (r toolResult) text() string {
	var texts []string
	for _, raw := range r.Content {
		if text, is := textOfBlock(raw); is {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// value is the result as it is kept: what is structured, else its one block, else the list of
// its blocks; empty for none.
func (r toolResult) value() json.RawMessage {
	if structured := bytes.TrimSpace(r.Structured); len(structured) > 0 && string(structured) != "null" {
		return structured
	}
	values := make([]json.RawMessage, len(r.Content))
	for i, raw := range r.Content {
		values[i] = valueOfBlock(raw)
	}
	switch len(values) {
	case 0:
		return nil
	case 1:
		return values[0]
	}
	return exactjson.EncodeOrNull(values)
}

// valueOfBlock is a text where it is one, and JSON where it is an object or a list of that:
// older servers write their results so. A block of another kind stays as it is.
func valueOfBlock(raw json.RawMessage) json.RawMessage {
	text, is := textOfBlock(raw)
	if !is {
		return raw
	}
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
		return trimmed
	}
	return exactjson.EncodeOrNull(text)
}
