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

// maxNotifications bounds a stream of notifications in bytes; a longer one is restarted.
const maxNotifications = 1 << 20

// Listen calls changed once it listens to the server of an mcp source, as tools may have changed before, and on
// each notification, until ctx or the stream ends. offered is false if the server does not announce changes
// (tools.listChanged), or has no stream for them. Its error suits the app's owner.
func (c *Caller) Listen(ctx context.Context, app *repositories.App, name string, changed func()) (offered bool, err error) {
	call, source, server, err := c.prepareListing(app, name)
	if err != nil {
		return false, err
	}
	begin, cancel := context.WithTimeout(ctx, source.Timeout.Or(repositories.DefaultTimeout))
	defer cancel()
	asked, failed := c.mcp.connect(begin, server)
	if failed != nil {
		return false, c.listingError(begin, call, failed)
	}
	greeting := asked.InitializeResult()
	go asked.Close()
	if can := greeting.Capabilities; can == nil || can.Tools == nil || !can.Tools.ListChanged {
		return false, nil
	}

	listener := &listenTransport{send: server.send, begun: changed, over: make(chan error, 1)}
	client := mcp.NewClient(&mcp.Implementation{Name: "earshot", Version: version.Current().Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler),
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed() },
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: server.url, HTTPClient: clientOf(listener), MaxRetries: -1, MaxEventSize: maxHandshake,
	}, &mcp.ClientSessionOptions{ProtocolVersion: greeting.ProtocolVersion})
	switch {
	case err != nil && ctx.Err() != nil:
		return true, nil
	case err != nil:
		return true, errors.New(call.redactor.redact("the server cannot be listened to: " + err.Error()))
	}
	defer func() { go session.Close() }() // it may wait for the server
	select {
	case err := <-listener.over:
		return !errors.Is(err, errNoStream), nil
	case <-ctx.Done():
		return true, nil
	}
}

// errNoStream means that a server has no stream of notifications.
var errNoStream = errors.New("the server has no stream of notifications")

// listenTransport is the http.RoundTripper of a listening session. It reports the end of the notification stream, which the
// SDK does not.
type listenTransport struct {
	send  http.RoundTripper
	begun func()
	over  chan error
	once  sync.Once
}

func (e *listenTransport) end(err error) { e.once.Do(func() { e.over <- err }) }

// RoundTrip sends a request and bounds its answer.
func (e *listenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
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
	response.Body = &boundedBody{ReadCloser: response.Body, of: e, listens: listens}
	return response, nil
}

// boundedBody is the body of a bounded answer.
type boundedBody struct {
	io.ReadCloser
	of      *listenTransport
	listens bool
	read    int
}

// Read implements io.Reader.
func (h *boundedBody) Read(into []byte) (int, error) {
	n, err := h.ReadCloser.Read(into)
	if h.read += n; h.read > maxNotifications {
		n, err = 0, errTooLong
	}
	if err != nil && h.listens {
		h.of.end(err)
	}
	return n, err
}
