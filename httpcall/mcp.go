package httpcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"earshot/httpcall/mcpclient"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/trigger/effect"
)

// partsOfRemote makes the parts of the requests to the server of an mcp tool.
func partsOfRemote(app *repositories.App, tool *repositories.Tool) (requestParts, error) {
	source, there := app.Source(tool.Source)
	if !there || source.Type != repositories.SourceMCP {
		return requestParts{}, effect.Permanent(effect.ReasonRequest, "app %q has no mcp source %q that the tool works on", app.ID, effect.Clip(tool.Source))
	}
	return partsOfServer(source, tool.Request)
}

func partsOfServer(source repositories.Source, own *repositories.Request) (requestParts, error) {
	target, err := url.Parse(source.URL)
	if err != nil || !callable(source.URL) {
		return requestParts{}, effect.Permanent(effect.ReasonRequest, "the url of source %q must be as in https://host/path", source.Name)
	}
	return requestParts{request: source.Request(own), target: target}, nil
}

// performRemote calls a tool of an MCP server.
func (c *Caller) performRemote(ctx context.Context, app *repositories.App, call *preparedCall) effect.Outcome {
	arguments, err := argumentsOf(call.effect.Call.Values)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	release, err := c.hosts.acquire(ctx, call.effect.AppID, call.target)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	outcome, state := c.callRemote(ctx, app, call, arguments)
	outcome.Sent = call.sent(outcome)
	release(state)
	failpoint.At(failpoint.ResponseRead)
	return outcome
}

// argumentsOf writes the values of a call with the digits that their numbers have.
func argumentsOf(values map[string]any) (json.RawMessage, error) {
	if values == nil {
		values = map[string]any{}
	}
	arguments, err := exactjson.Encode(values)
	if err == nil && len(arguments) > maxBodyBytes {
		err = effect.Permanent(effect.ReasonRequest, "the values are longer than %d bytes", maxBodyBytes)
	}
	return arguments, err
}

func (c *Caller) callRemote(ctx context.Context, app *repositories.App, call *preparedCall, arguments json.RawMessage) (effect.Outcome, hostHealth) {
	var sent, reached atomic.Bool
	through := c.wayTo(call)
	tool := call.effect.Call.Tool
	answer, err := c.mcp.Call(ctx, through.server(call), mcpclient.Call{
		Tool: or(tool.RemoteName, tool.Name), Arguments: arguments, Meta: metaOf(call.effect), Schema: tool.Parameters, Once: !call.repeatable,
		Context: func(of context.Context) context.Context { return traced(of, &sent, &reached, call.repeatable) },
		Header: func(body []byte) (header http.Header, err error) {
			if effect.Late(ctx) {
				return nil, effect.Transient(effect.ReasonTimeout, "%s was not sent: the time of the attempt was over", call.label())
			}
			through.calling.Store(true)
			call.body = body
			call.header, err = c.headers(app, call, call.own)
			return call.header, err
		},
	})
	through.redact(&call.redactor)
	var failed *mcpclient.Error
	if errors.As(err, &failed) {
		outcome, health := c.outcomeOfRemote(ctx, call, failed, failed.Called && sent.Load())
		outcome.Reached = reached.Load()
		return outcome, health
	}
	outcome := outcomeOfResult(call, answer)
	outcome.Reached = true
	return outcome, alive
}

// metaOf is what the call says of itself: the key under which it is repeated, and its trace.
func metaOf(delivery effect.Effect) map[string]any {
	meta := map[string]any{"earshot/idempotencyKey": delivery.TriggerID}
	if failpoint.Planted(failpoint.ChangingKey) {
		meta["earshot/idempotencyKey"] = fmt.Sprint(delivery.TriggerID, "-", delivery.Attempt)
	}
	if delivery.TraceParent != "" {
		meta["traceparent"] = delivery.TraceParent
	}
	return meta
}

// Offered asks the server of an mcp source for its tools, as a repository has them whose tools
// are from the source, and says what of them was left out and why. The text of its error is fit
// for the owner of the app.
func (c *Caller) Offered(ctx context.Context, app *repositories.App, name string) (tools []repositories.Tool, notes []string, err error) {
	source, there := app.Source(name)
	if !there || source.Type != repositories.SourceMCP {
		return nil, nil, effect.Permanent(effect.ReasonRequest, "app %q has no mcp source %q", app.ID, effect.Clip(name))
	}
	parts, err := partsOfServer(source, nil)
	if err != nil {
		return nil, nil, err
	}
	asking := effect.Effect{AppID: app.ID, Kind: effect.KindCall}
	call := &preparedCall{effect: asking, target: parts.target, method: http.MethodPost, own: parts.request.Headers, repeatable: true, redactor: redactorOf(parts.request, parts.target)}
	if call.credential, err = credentialOf(app, parts.request, parts.target); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, source.Timeout.Or(repositories.DefaultTimeout))
	defer cancel()
	through := c.wayTo(call)
	listed, more, err := c.mcp.Tools(ctx, through.server(call))
	through.redact(&call.redactor)
	var failed *mcpclient.Error
	if errors.As(err, &failed) {
		outcome, _ := c.outcomeOfRemote(ctx, call, failed, false)
		return nil, nil, errors.New(call.redactor.redactOutcome(outcome).Error)
	}
	tools, notes = source.Offered(listed, app.Settings.Limits.MostTools())
	if more {
		notes = append(notes, "the list of source "+source.Name+" goes on without end: what is behind its first tools is left out")
	}
	return tools, notes, nil
}

// sessionKey tells apart what may not share a session: other apps, servers and credentials.
func sessionKey(call *preparedCall) string {
	headers := map[string]string{}
	for name, value := range call.own {
		headers[name] = value.Reveal()
	}
	asked := ""
	if call.credential.grant != nil {
		asked = call.credential.grant.key()
	}
	parts, _ := json.Marshal([]any{call.effect.AppID, call.target.String(), headers, call.credential.fixed, asked}) // texts always encode
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:])
}

// mcpIdle is how long a session with a server stays open that no call uses.
const mcpIdle = 5 * time.Minute
