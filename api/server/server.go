// Package server bounds the time and size of what clients send and receive.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// Counter returns the registry's counter of that name, which several handlers share. A counter with one label begins
// with all its values at zero: Prometheus misses the increase of a series that starts at 1.
func Counter(registry prometheus.Registerer, name, help string, labels []string, values ...string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	for _, value := range values {
		made.WithLabelValues(value)
	}
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(made)); ok {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return made
}

// Parting is the time between the request to stop a replica and the end of its listening. The replica answers
// all requests but closes their connections, so that load balancers and clients leave in time.
type Parting struct{ begun atomic.Bool }

// Begin starts it. It cannot be undone.
func (p *Parting) Begin() { p.begun.Store(true) }

// Handler serves requests, and after Begin closes the connection of each with its answer. A later request on it
// could meet the end of listening. Idle connections stay open.
func (p *Parting) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if p.begun.Load() {
			out.Header().Set("Connection", "close") // in HTTP/2 this sends GOAWAY
		}
		next.ServeHTTP(out, request)
	})
}

// Ready is a readiness check, which fails after Begin.
func (p *Parting) Ready(context.Context) error {
	if p.begun.Load() {
		return parted{}
	}
	return nil
}

type parted struct{}

// Error implements error.
func (parted) Error() string { return "the replica is to stop" }

// Public returns the public text, which follows the check's name.
func (parted) Public() string { return "is stopping: send requests to another" }

// RequestIDHeader carries the id of a request, in the request and in its answer.
const RequestIDHeader = "X-Request-Id"

// signs are the characters of a request id, and mostSigns its longest length.
const (
	signs     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	mostSigns = 128
)

// RequestID returns the id of a request, and sets it once in the answer's header: the client's if valid, or
// else 26 random letters and digits.
func RequestID(answer http.Header, request *http.Request) string {
	if id := answer.Get(RequestIDHeader); id != "" {
		return id
	}
	id := request.Header.Get(RequestIDHeader)
	if id == "" || len(id) > mostSigns || strings.Trim(id, signs) != "" {
		id = rand.Text()
	}
	answer[RequestIDHeader] = []string{id}
	return id
}

// Identified sets the id of every request.
func Identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		RequestID(w.Header(), r)
		next.ServeHTTP(w, r)
	})
}

// Proxies are the addresses of trusted proxies in front of the service, whose X-Forwarded-For counts.
type Proxies []netip.Prefix

// ParseProxies reads comma-separated addresses and CIDRs; none if text is empty.
func ParseProxies(text string) (Proxies, error) {
	var proxies Proxies
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if address, err := netip.ParseAddr(part); err == nil {
			proxies = append(proxies, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a CIDR, as in 10.0.0.0/8", part)
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

func (p Proxies) have(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(address.Unmap()) })
}

// Handler sets RemoteAddr to the client's address. For a request from a trusted proxy, it is the last address
// in X-Forwarded-For that is no trusted proxy: the client may have written those before it.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, forwarded := p.client(r); forwarded {
			r = r.WithContext(r.Context()) // a handler must not change its request
			r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
		}
		next.ServeHTTP(w, r)
	})
}

// client returns the client's address according to trusted proxies.
func (p Proxies) client(r *http.Request) (client netip.Addr, forwarded bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.have(peer.Addr()) {
		return client, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		address, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return client, false
		}
		if client = address.Unmap(); !p.have(client) {
			return client, true
		}
	}
	return client, client.IsValid()
}
