package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Call is a call of a tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage // an object
	Meta      map[string]any
	// Schema is the inputSchema of the tool, which may say that arguments are headers as well.
	Schema json.RawMessage
	// Context adds to the context of the request what its sender wants to know of it.
	Context func(context.Context) context.Context
	// Header makes the headers of the request, of its body. An error of it is the Cause of an
	// Error, and nothing is sent.
	Header func(body []byte) (http.Header, error)
	// Once says that the call must not be sent twice.
	Once bool
}

// Answer is the result of a call as the server sent it.
type Answer struct {
	Status int
	Result json.RawMessage
}

const (
	// maxAnswer is how long the answer to a call may be, in bytes.
	maxAnswer = 4 << 20
	// draining is how long the end of an answer is read behind its result, so that its
	// connection can be used again.
	draining = time.Second
)

// Call calls a tool. A session that the server has forgotten is begun anew, once. Its error is
// an *Error.
func (c *Client) Call(ctx context.Context, server Server, call Call) (Answer, error) {
	for {
		with, err := c.take(ctx, server, call.Once)
		if err != nil {
			return Answer{}, err
		}
		answer, err := c.callWith(ctx, with, server, call)
		var failed *Error
		if !errors.As(err, &failed) {
			return answer, err
		}
		forgotten := failed.Status == http.StatusNotFound || failed.Status == http.StatusBadRequest
		if with.fresh || with.ID() == "" || !forgotten || call.Once {
			return answer, err
		}
		c.forget(server.Key)
	}
}

// forget closes the sessions that a server has forgotten with another, and the next is new.
func (c *Client) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.open[key] {
		s.idle.Stop()
		c.count--
		go s.Close()
	}
	delete(c.open, key)
}

func (c *Client) callWith(ctx context.Context, with *session, server Server, call Call) (Answer, error) {
	e := newExchange(server, maxAnswer)
	e.header = func(body []byte) (http.Header, error) {
		header, err := call.Header(body)
		if err != nil {
			return nil, err
		}
		for name, value := range headersOf(call.Schema, call.Arguments) {
			header.Set(name, value)
		}
		return header, nil
	}
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if deadline, limited := ctx.Deadline(); limited {
		cancel()
		detached, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	follow := context.AfterFunc(ctx, cancel)
	_, err := with.CallTool(e.in(call.Context(detached)), &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments, Meta: call.Meta})
	follow()
	e.seal()
	c.after(with, err, cancel)
	if err != nil {
		return Answer{}, e.failure(true)
	}
	if result := e.response().Result; result != nil {
		return Answer{Status: e.status, Result: result}, nil
	}
	return Answer{}, e.failure(true)
}

// after takes back a session that was answered in, and closes one that is in doubt.
func (c *Client) after(with *session, err error, cancel func()) {
	if err == nil {
		time.AfterFunc(draining, cancel)
		c.give(with)
		return
	}
	cancel()
	if errors.As(err, new(*jsonrpc.Error)) && with.ID() == "" {
		c.give(with)
		return
	}
	go with.Close()
}
