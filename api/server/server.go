// Package server bounds the time and size of what clients send and receive.
package server

import (
	"cmp"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a connection.
const (
	// headerTime bounds the header of a request, against clients that hold connections (the Slowloris attack).
	headerTime = 10 * time.Second
	// BodyTime bounds a whole request, from the first byte of the header to the last of the body: 1 MiB at 35
	// KiB/s. net/http lifts the deadline at the end of the body, so it bounds neither an answer nor an event
	// stream.
	BodyTime = 30 * time.Second
	// idleTime is longer than the 60 s of common proxies, so that they close connections first and no request
	// is lost.
	idleTime = 75 * time.Second
	// maxHeader has room for ID tokens of several services, in bytes.
	maxHeader = 64 << 10
)

// New returns a server with limits against slow and greedy clients. It does not limit the time of an answer,
// which waits for tools and streams events: use a Listener, which disconnects clients that do not read.
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
	// DefaultWriteTime is how long a client may stall while it reads an answer (section 3 of the contract).
	DefaultWriteTime = 30 * time.Second
	// paceStep is how much of an answer is written under one deadline, in bytes. The slowest accepted client
	// reads about 2 KiB/s: the kernel reports free space when a third of sendBuffer is free.
	paceStep = 16 << 10
	// sendBuffer is the kernel's buffer for unread answers, in bytes; the kernel doubles it. Without a limit it
	// would grow to some 4 MiB.
	sendBuffer = 64 << 10
)

// pace moves the write deadline with each step of an answer. An earlier deadline set by others applies as well.
type pace struct {
	within time.Duration
	set    func(time.Time) error

	mu    sync.Mutex
	other time.Time
}

// SetWriteDeadline sets a further deadline besides the moving one.
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

// write writes text in steps.
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

// Listener accepts connections whose clients must read: a client that reads nothing for Within is disconnected,
// and the kernel buffers little for it.
type Listener struct {
	net.Listener
	Within time.Duration // default 30 s
}

// Accept waits for the next connection.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // a bound on memory; without it the deadline still applies
	}
	return &pacedConn{conn, &pace{within: cmp.Or(l.Within, DefaultWriteTime), set: conn.SetWriteDeadline}}, nil
}

// pacedConn is a connection with a moving write deadline. It hides other methods, such as io.ReaderFrom, which
// would write without one.
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

// CloseWrite lets net/http close gracefully, so that an answer to a client that still sends is not lost.
func (c *pacedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// pacedWriter moves the write deadline of one HTTP/2 stream, which a client can stall by its window while the
// connection works.
type pacedWriter struct {
	http.ResponseWriter
	*pace
}

// PacedWriter returns a writer for one HTTP/2 stream whose client may stall for at most within.
func PacedWriter(out http.ResponseWriter, within time.Duration) http.ResponseWriter {
	return &pacedWriter{out, &pace{within: within, set: http.NewResponseController(out).SetWriteDeadline}}
}

func (w *pacedWriter) Write(text []byte) (int, error) { return w.write(text, w.ResponseWriter.Write) }

// Unwrap lets http.ResponseController reach the stream.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
