package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/trigger/effect"
)

// server returns the server of a call. Calls of an app with the same headers and credentials share it.
func (p *preparedCall) server() (s mcpServer, err error) {
	headers := map[string]string{}
	for name, value := range p.request.Headers {
		headers[name] = value.Reveal()
	}
	key := ""
	if p.auth.grant != nil {
		key = p.auth.grant.key
	}
	p.auth.header, err = ownHeaders(p.request.Headers)
	return mcpServer{hashOf(p.app.ID, p.target.String(), headers, p.auth.fixed, key), p.target.String(), p.auth}, err
}

func (c *Caller) callMCP(ctx context.Context, call *preparedCall) (effect.Outcome, hostHealth) {
	tool, delivery := call.effect.Call.Tool, call.effect
	server, err := call.server()
	if err != nil {
		return effect.OutcomeOf(err), unknown
	}
	meta := map[string]any{"earshot/idempotencyKey": delivery.TriggerID}
	if failpoint.Planted(failpoint.ChangingKey) {
		meta["earshot/idempotencyKey"] = fmt.Sprint(delivery.TriggerID, "-", delivery.Attempt)
	}
	if delivery.TraceParent != "" {
		meta["traceparent"] = delivery.TraceParent
	}
	// The SDK sets headers of x-mcp-header properties (2026-07-28) only for tools that its session listed.
	var root property
	parameterHeaders := map[string]string{}
	if strings.Contains(string(tool.Parameters), "x-mcp-header") && json.Unmarshal(tool.Parameters, &root) == nil {
		if values, err := exactjson.Decode(call.arguments); err == nil {
			root.collect(values, parameterHeaders)
		}
	}
	var progress trace
	params := &mcp.CallToolParams{Name: cmp.Or(tool.RemoteName, tool.Name), Arguments: call.arguments, Meta: meta}
	e, answer := c.mcp.call(progress.attach(ctx, call.request.Repeatable()), server, params, !call.request.Repeatable(), func(body []byte) (http.Header, error) {
		if err := call.checkDeadline(ctx); err != nil {
			return nil, err
		}
		call.auth.once.Store(!call.request.Repeatable())
		call.body = body
		header, err := c.headers(call)
		for name, value := range parameterHeaders {
			header.Set(name, value)
		}
		return header, err
	})
	if answer == nil {
		return c.mcpFailure(ctx, call, e, &progress)
	}
	outcome := outcomeOfResult(call, e.status, answer)
	outcome.Reached = true
	return outcome, alive
}

func (c *Caller) mcpFailure(ctx context.Context, call *preparedCall, e *exchange, progress *trace) (outcome effect.Outcome, health hostHealth) {
	answer, err := e.response(), e.err
	if err == nil && answer.Error.Code == 0 && answer.Result == nil && e.streams() {
		err = io.ErrUnexpectedEOF // the stream ended without the answer
	}
	if !e.calls() {
		progress = &trace{} // the call was not sent
	}
	switch {
	case errors.As(err, new(*effect.Failure)):
		return call.failureOutcome(ctx, err, progress)
	case errors.Is(err, errTooLong):
		outcome = dead(e.status, "the answer of %s is longer than an answer may be", call.label())
	case e.status != 0 && (e.status < 200 || e.status > 299):
		outcome, health = c.statusOutcome(call, e.status, e.got, e.calls())
		if answer.Error.Message != "" {
			outcome.Error += ": " + effect.Clip(call.redactor.redact(answer.Error.Message))
		}
		outcome.Reached = progress.reached.Load()
		return outcome, health
	case answer.Error.Code != 0:
		outcome = dead(e.status, "%s refused it: %s (%d)", call.label(), effect.Clip(call.redactor.redact(answer.Error.Message)), answer.Error.Code)
	case ctx.Err() != nil:
		return call.failureOutcome(ctx, ctx.Err(), progress)
	case effect.Late(ctx): // the client has the same deadline, and may notice it first
		return call.failureOutcome(ctx, context.DeadlineExceeded, progress)
	case err != nil:
		return call.failureOutcome(ctx, err, progress)
	default:
		outcome = dead(e.status, "what %s answered is nothing that a server of MCP answers", call.label())
	}
	outcome.Reached = progress.reached.Load()
	return outcome, alive
}

// dead returns the outcome of a call that was answered but failed.
func dead(status int, format string, args ...any) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Status: status, Error: fmt.Sprintf(format, args...)}
}

// outcomeOfResult converts a CallToolResult: the structured content, or its only block, or the list of blocks.
func outcomeOfResult(call *preparedCall, status int, answer json.RawMessage) effect.Outcome {
	var result struct {
		ResultType string            `json:"resultType"`
		IsError    bool              `json:"isError"`
		Structured json.RawMessage   `json:"structuredContent"`
		Content    []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(answer, &result) != nil {
		return dead(status, "the result of %s is none of a tool", call.label())
	}
	if result.ResultType != "" && result.ResultType != "complete" {
		return dead(status, "%s asks for more (%s), which no call can give", call.label(), effect.Clip(call.redactor.redact(result.ResultType)))
	}
	var texts []string
	for i, raw := range result.Content {
		var textBlock struct{ Type, Text string }
		if json.Unmarshal(raw, &textBlock) != nil || textBlock.Type != "text" {
			continue
		}
		texts = append(texts, textBlock.Text)
		// Older servers write objects and lists as texts.
		trimmed := bytes.TrimSpace([]byte(textBlock.Text))
		if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && exactjson.Embeddable(trimmed) {
			result.Content[i] = trimmed
		} else {
			result.Content[i] = exactjson.EncodeOrNull(textBlock.Text)
		}
	}
	if result.IsError {
		text := effect.Clip(call.redactor.redact(strings.Join(texts, "\n")))
		return dead(status, "the tool failed: %s", cmp.Or(text, "it does not say why"))
	}
	value := bytes.TrimSpace(result.Structured)
	if len(value) == 0 || string(value) == "null" {
		switch len(result.Content) {
		case 0:
			value = nil
		case 1:
			value = result.Content[0]
		default:
			value = exactjson.EncodeOrNull(result.Content)
		}
	}
	outcome := effect.Outcome{Verdict: effect.Done, Status: status}
	var text string
	if len(value) > effect.MaxResult && json.Unmarshal(value, &text) == nil { // cut as a text, without its quotes
		text, outcome.Truncated = shortened(call.redactor.redact(text))
		outcome.Result = exactjson.EncodeOrNull(text)
		return outcome
	}
	outcome.Result, outcome.Truncated = readResult(bytes.NewReader(value), call.redactor)
	return outcome
}

// prepareListing prepares requests to the server of an mcp source that call no tool.
func (c *Caller) prepareListing(app *repositories.App, name string) (call *preparedCall, source repositories.Source, server mcpServer, err error) {
	call = &preparedCall{app: app, redactor: &redactor{}}
	if source, err = call.prepareMCP(name, nil); err == nil {
		err = c.authorize(call)
	}
	if err == nil {
		server, err = call.server()
	}
	return call, source, server, err
}

// listingError returns the error of such a request that failed.
func (c *Caller) listingError(ctx context.Context, call *preparedCall, failed *exchange) error {
	outcome, _ := c.mcpFailure(ctx, call, failed, &trace{})
	return errors.New(call.redactor.redact(outcome.Error))
}

// Offered asks the server of an mcp source for its tools, and notes what was left out and why. Its error suits
// the app's owner.
func (c *Caller) Offered(ctx context.Context, app *repositories.App, name string) (tools []repositories.Tool, notes []string, err error) {
	call, source, server, err := c.prepareListing(app, name)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, source.Timeout.Or(repositories.DefaultTimeout))
	defer cancel()
	offered, more, failed := c.mcp.list(ctx, server)
	if failed != nil {
		return nil, nil, c.listingError(ctx, call, failed)
	}
	tools, notes = source.Offered(offered, app.Settings.Limits.MostTools())
	if more {
		notes = append(notes, "the list of source "+source.Name+" does not end: only its first tools are used")
	}
	return tools, notes, nil
}
