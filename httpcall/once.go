package httpcall

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// singleSendTransport is an http.RoundTripper whose connections are reused, and which sends a request once. A http.Transport
// alone sends one with an Idempotency-Key, or a GET, again over each idle connection that breaks during the request,
// at once and unseen. It still may where nothing was sent: over a connection that was closed while it was idle.
//
// HTTP/2 needs none of this: its requests are only sent again if the server says that it has not processed them.
type singleSendTransport struct{ *http.Transport }

// newSingleSendTransport changes the transport to watch its connections.
func newSingleSendTransport(transport *http.Transport) singleSendTransport {
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: connection}, nil
	}
	return singleSendTransport{transport}
}

// RoundTrip implements http.RoundTripper. It ends the request's context when a connection breaks after a part of the
// request was written to it: the transport looks at the context before it sends again.
func (s singleSendTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(request.Context())
	var current atomic.Pointer[watchedConn]
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if connection := watchedConnOf(info.Conn); connection != nil {
				connection.carry(end)
				current.Store(connection)
			}
		},
		GotFirstResponseByte: func() { // from here on the transport sends nothing again
			if connection := current.Load(); connection != nil {
				connection.carry(nil)
			}
		},
	})
	response, err := s.Transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end(err)
		return nil, err
	}
	response.Body = &endingBody{response.Body, end}
	return response, nil
}

// endingBody releases the context of its request.
type endingBody struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (b *endingBody) Close() error {
	defer b.end(nil)
	return b.ReadCloser.Close()
}

// watchedConnOf returns the connection below TLS; nil for one of HTTP/2, which carries many requests.
func watchedConnOf(connection net.Conn) *watchedConn {
	if tlsConn, isTLS := connection.(*tls.Conn); isTLS {
		if tlsConn.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		connection = tlsConn.NetConn()
	}
	watched, _ := connection.(*watchedConn)
	return watched
}

// watchedConn tells the request that it carries when it is closed. A transport closes a connection that broke before
// it considers to send the request again.
type watchedConn struct {
	net.Conn
	mu         sync.Mutex
	endRequest context.CancelCauseFunc // ends the request that is carried; nil for none
	wrote      bool                    // a part of it was written
	lastErr    error                   // the last error
}

func (c *watchedConn) carry(endRequest context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endRequest, c.wrote = endRequest, false
}

// Read notes an error.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.note(err)
	}
	return n, err
}

// Write notes that something is on its way, before it can be answered.
func (c *watchedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	wroteBefore := c.wrote
	c.wrote = true
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if err != nil {
		c.note(err)
	}
	if n == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrote = wroteBefore
	}
	return n, err
}

func (c *watchedConn) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastErr == nil || !errors.Is(err, net.ErrClosed) {
		c.lastErr = err
	}
}

// Close ends the request that was partly written.
func (c *watchedConn) Close() error {
	c.mu.Lock()
	if c.endRequest != nil && c.wrote {
		c.endRequest(cmp.Or(c.lastErr, net.ErrClosed))
	}
	c.endRequest = nil
	c.mu.Unlock()
	return c.Conn.Close()
}
