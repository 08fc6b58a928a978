package httpcall

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/repositories"
	"earshot/repositories/version"
)

// maxHeard is how long a stream of notifications may be, in bytes; a longer one is begun anew.
const maxHeard = 1 << 20

// Listen calls changed when it begins to hear the server of an mcp source, since tools may have changed before, and
// whenever the server says that they have, until ctx or the stream ends. offered is false for a server that does not
// say that it tells changes (tools.listChanged), or that has no stream for them. The text of an error is fit for the
// owner of the app.
func (c *Caller) Listen(ctx context.Context, app *repositories.App, name string, changed func()) (offered bool, err error) {
	call := &preparedCall{app: app, redactor: &redactor{}}
	source, err := call.toServer(name, nil)
	if err != nil {
		return false, err
	}
	if err := c.authorize(call); err != nil {
		return false, err
	}
	server, err := call.server()
	if err != nil {
		return false, err
	}
	begin, cancel := context.WithTimeout(ctx, source.Timeout.Or(repositories.DefaultTimeout))
	defer cancel()
	asked, failed := c.mcp.connect(begin, server)
	if failed != nil {
		outcome, _ := c.remoteFailure(begin, call, failed, &trace{})
		return false, errors.New(call.redactor.redact(outcome.Error))
	}
	greeting := asked.InitializeResult()
	go asked.Close()
	if can := greeting.Capabilities; can == nil || can.Tools == nil || !can.Tools.ListChanged {
		return false, nil
	}

	hearing := &ear{send: server.send, begun: changed, over: make(chan error, 1)}
	client := mcp.NewClient(&mcp.Implementation{Name: "earshot", Version: version.Current().Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler),
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed() },
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: server.url, HTTPClient: clientOf(hearing), MaxRetries: -1, MaxEventSize: maxGreeting,
	}, &mcp.ClientSessionOptions{ProtocolVersion: greeting.ProtocolVersion})
	if err != nil {
		return true, errors.New(call.redactor.redact("the server cannot be listened to: " + err.Error()))
	}
	defer func() { go session.Close() }() // it may wait for the server
	select {
	case err := <-hearing.over:
		return !errors.Is(err, errNoStream), nil
	case <-ctx.Done():
		return true, nil
	}
}

// errNoStream means that a server has no stream of notifications.
var errNoStream = errors.New("the server has no stream of notifications")

// ear is the http.RoundTripper of a session that listens. It notices the end of the stream of notifications, of which
// the SDK does not tell.
type ear struct {
	send  http.RoundTripper
	begun func()
	over  chan error
	once  sync.Once
}

func (e *ear) end(err error) { e.once.Do(func() { e.over <- err }) }

// RoundTrip sends a request, and bounds its answer.
func (e *ear) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := e.send.RoundTrip(request)
	listens := request.Method == http.MethodGet || request.Header.Get("Mcp-Method") == "subscriptions/listen"
	switch {
	case err != nil:
		if listens {
			e.end(err)
		}
		return nil, err
	case listens && response.StatusCode != http.StatusOK:
		e.end(errNoStream)
	case listens:
		e.begun()
	}
	response.Body = &heard{ReadCloser: response.Body, of: e, listens: listens}
	return response, nil
}

// heard is the body of an answer to an ear.
type heard struct {
	io.ReadCloser
	of      *ear
	listens bool
	read    int
}

// Read implements io.Reader.
func (h *heard) Read(into []byte) (int, error) {
	n, err := h.ReadCloser.Read(into)
	if h.read += n; h.read > maxHeard {
		n, err = 0, errTooLong
	}
	if err != nil && h.listens {
		h.of.end(err)
	}
	return n, err
}
