package mcpclient

import (
	"context"
	"earshot/repositories/version"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is a server as one source knows it.
type Server struct {
	// Key is equal for what may share a session: one app, one URL, one set of credentials.
	Key string
	URL string
	// Send sends the requests, with headers and credentials. Its errors are the Cause of an
	// Error.
	Send http.RoundTripper
}

// Options of a Client; what is zero has the default that stands with it.
type Options struct {
	// Idle is how long a session stays open that nobody uses; 5 min.
	Idle time.Duration
	// Sessions is how many of those there are at most; 256.
	Sessions int
}

// Client speaks to the servers of all apps. It is safe for concurrent use.
type Client struct {
	sdk  *mcp.Client
	http *http.Client
	idle time.Duration
	most int

	mu    sync.Mutex
	open  map[string][]*session // that nobody uses, by the key of their server
	count int
	// revisions of servers that know none without sessions, by their key: they are not asked
	// each time.
	revisions *lru.Cache[string, string]
}

// session is one with a server.
type session struct {
	*mcp.ClientSession
	key   string
	idle  *time.Timer // closes it
	fresh bool        // it was not used before
}

// maxRevisions is how many servers' revisions are remembered.
const maxRevisions = 4096

// New returns a Client, which opens a session with the first call.
func New(o Options) *Client {
	if o.Idle == 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Sessions == 0 {
		o.Sessions = 256
	}
	revisions, _ := lru.New[string, string](maxRevisions) // fails for a size of 0 only
	return &Client{
		sdk: mcp.NewClient(&mcp.Implementation{Name: "earshot", Version: version.Current().Version}, &mcp.ClientOptions{
			Capabilities:   &mcp.ClientCapabilities{}, // none: nothing is answered to a server that asks
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
			Logger:         slog.New(slog.DiscardHandler), // it quotes what servers say
		}),
		http: &http.Client{Transport: transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		idle: o.Idle, most: o.Sessions, open: map[string][]*session{}, revisions: revisions,
	}
}

// CloseIdle closes the sessions that nobody uses at the moment.
func (c *Client) CloseIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range c.open {
		for _, s := range list {
			s.idle.Stop()
			go s.Close()
		}
	}
	clear(c.open)
	c.count = 0
}

// take returns a session that nobody else uses. One that the server keeps may be gone there; who
// must not find that out by a call asks for a new one.
func (c *Client) take(ctx context.Context, server Server, fresh bool) (*session, error) {
	c.mu.Lock()
	list := c.open[server.Key]
	at := slices.IndexFunc(list, func(s *session) bool { return !fresh || s.ID() == "" })
	if at < 0 {
		c.mu.Unlock()
		return c.connect(ctx, server)
	}
	defer c.mu.Unlock()
	found := list[at]
	c.remove(found)
	found.idle.Stop()
	found.fresh = false
	return found, nil
}

// remove takes a session out of those that are open; c.mu is held.
func (c *Client) remove(s *session) {
	left := slices.DeleteFunc(c.open[s.key], func(other *session) bool { return other == s })
	if c.open[s.key] = left; len(left) == 0 {
		delete(c.open, s.key)
	}
	c.count--
}

// give takes a session back that the next call may use.
func (c *Client) give(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= c.most {
		go s.Close() // it may wait for the server
		return
	}
	c.open[s.key] = append(c.open[s.key], s)
	c.count++
	s.idle = time.AfterFunc(c.idle, func() { c.expire(s) })
}

func (c *Client) expire(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.open[s.key], s) {
		c.remove(s)
		go s.Close()
	}
}

// maxGreeting is how long the answers may be with which a session begins, in bytes.
const maxGreeting = 1 << 20

// connect begins a session. A server that is known to have none without sessions is not asked
// for the revision that has.
func (c *Client) connect(ctx context.Context, server Server) (*session, error) {
	e := newExchange(server, maxGreeting)
	known, _ := c.revisions.Get(server.Key)
	made, err := c.sdk.Connect(e.in(ctx), &mcp.StreamableClientTransport{
		Endpoint: server.URL, HTTPClient: c.http, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxListBytes,
	}, &mcp.ClientSessionOptions{ProtocolVersion: known})
	if err != nil {
		c.revisions.Remove(server.Key)
		return nil, e.failure(false)
	}
	e.seal()
	if revision := made.InitializeResult().ProtocolVersion; revision < stateless {
		c.revisions.Add(server.Key, revision)
	}
	return &session{ClientSession: made, key: server.Key, fresh: true}, nil
}

// stateless is the first revision that has no sessions.
const stateless = "2026-07-28"
