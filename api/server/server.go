// Package server holds connections to their limits: how long a client may take for what it
// sends and for what it is sent, and how much of either there may be.
package server

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a connection.
const (
	// headerTime is how long a client may take to send a request's header. Slower
	// ones hold a connection for nothing (the Slowloris attack).
	headerTime = 10 * time.Second
	// BodyTime is how long it may take for a whole request, from the first byte of the
	// header to the last of the body: 1 MiB at 35 KiB/s. net/http lifts the deadline
	// where the body ends, so that it bounds neither an answer nor an event stream.
	BodyTime = 30 * time.Second
	// idleTime is longer than the 60 s for which proxies commonly keep a connection,
	// so that it is they who close it and no request is lost on one just closed.
	idleTime = 75 * time.Second
	// maxHeader is room for an ID token of each of several services, in bytes.
	maxHeader = 64 << 10
)

// New returns a server for the handler of New, with limits against slow and
// greedy clients. It does not limit the time of the answer, which waits for tools and
// streams events: serve it on a Listener, which cuts off those who do not take theirs.
func New(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       BodyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
	}
}

const (
	// DefaultWriteTime is how long a client may take nothing of its answer (section 3 of the
	// contract).
	DefaultWriteTime = 30 * time.Second
	// paceStep is how much of an answer is written under one deadline, in bytes. It
	// makes the slowest client that is kept one of about 2 KiB/s: the kernel reports
	// room for more when a third of sendBuffer is free.
	paceStep = 16 << 10
	// sendBuffer is what the kernel keeps of an answer that its client does not take, in
	// bytes; it doubles the number. By itself it would let that grow to some 4 MiB.
	sendBuffer = 64 << 10
)

// pace is a write deadline that moves on with every step of an answer. One that was set
// by others holds where it comes first.
type pace struct {
	within time.Duration
	set    func(time.Time) error

	mu    sync.Mutex
	other time.Time
}

// SetWriteDeadline sets the deadline that holds beside the moving one.
func (p *pace) SetWriteDeadline(at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.other = at
	return p.set(at)
}

func (p *pace) step() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := time.Now().Add(p.within)
	if !p.other.IsZero() && p.other.Before(next) {
		next = p.other
	}
	return p.set(next)
}

// write writes text step by step.
func (p *pace) write(text []byte, to func([]byte) (int, error)) (written int, err error) {
	for {
		if err := p.step(); err != nil {
			return written, err
		}
		n, err := to(text[:min(len(text), paceStep)])
		written, text = written+n, text[n:]
		if err != nil || len(text) == 0 {
			return written, err
		}
	}
}

// Listener accepts connections whose clients have to take what is written to them: one
// that takes nothing for Within is cut off, whatever is being written, and the kernel
// keeps little for it.
type Listener struct {
	net.Listener
	Within time.Duration // 30 s where it is zero
}

// Accept waits for the next connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // a bound on memory; without it the deadline still holds
	}
	within := l.Within
	if within == 0 {
		within = DefaultWriteTime
	}
	return &pacedConn{conn, &pace{within: within, set: conn.SetWriteDeadline}}, nil
}

// pacedConn is a connection under a moving write deadline. It hides what else the
// connection can do, as io.ReaderFrom, which would write without one.
type pacedConn struct {
	net.Conn
	pace *pace
}

func (c *pacedConn) Write(text []byte) (int, error) { return c.pace.write(text, c.Conn.Write) }

func (c *pacedConn) SetWriteDeadline(at time.Time) error { return c.pace.SetWriteDeadline(at) }

func (c *pacedConn) SetDeadline(at time.Time) error {
	if err := c.Conn.SetReadDeadline(at); err != nil {
		return err
	}
	return c.pace.SetWriteDeadline(at)
}

// CloseWrite lets net/http say goodbye before it closes, so that an answer to a client
// that still sends is not lost.
func (c *pacedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// pacedWriter moves the write deadline of one stream of HTTP/2. Its client can hold it
// by granting no window while the connection, and the others on it, go on.
type pacedWriter struct {
	http.ResponseWriter
	*pace
}

// PacedWriter returns a writer of one stream of HTTP/2 whose client has so long to take
// something of it.
func PacedWriter(out http.ResponseWriter, within time.Duration) http.ResponseWriter {
	return &pacedWriter{out, &pace{within: within, set: http.NewResponseController(out).SetWriteDeadline}}
}

func (w *pacedWriter) Write(text []byte) (int, error) { return w.write(text, w.ResponseWriter.Write) }

// Unwrap lets http.ResponseController reach the stream.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
