package httpcall

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/repositories"
	"earshot/repositories/version"
)

// mcpServer is a server as one source knows it.
type mcpServer struct {
	key  string // equal for what may share a session
	url  string
	send http.RoundTripper
}

// mcpClient speaks to the servers of all apps over Streamable HTTP, whichever revision of the
// protocol they are of. Nothing is answered to a server that asks something itself. A session
// is used by one call at a time, so that an answer that breaks it breaks no other call.
type mcpClient struct {
	sdk  *mcp.Client
	http *http.Client

	mu    sync.Mutex
	open  map[string][]*mcpSession // that no call uses, by the key of their server
	count int
	// revisions of servers that know none without sessions, by their key: they are not asked
	// each time.
	revisions *lru.Cache[string, string]
}

// mcpSession is a session with a server.
type mcpSession struct {
	*mcp.ClientSession
	key   string
	idle  *time.Timer // closes it
	fresh bool        // it was not used before
}

const (
	// maxIdleSessions is how many sessions stay open that no call uses, idleSession how long.
	maxIdleSessions = 256
	idleSession     = 5 * time.Minute
	maxRevisions    = 4096
	// draining is how long the end of an answer is read behind its result, so that its
	// connection can be used again.
	draining = time.Second
	// stateless is the first revision that has no sessions.
	stateless = "2026-07-28"
)

// Bounds of answers in bytes, and of lists.
const (
	maxGreeting  = 1 << 20 // with which a session begins
	maxAnswer    = 4 << 20 // to a call
	maxListBytes = 8 << 20 // all pages together
	maxListPages = 200
	maxListed    = 10_000
)

func newMCPClient() *mcpClient {
	revisions, _ := lru.New[string, string](maxRevisions) // fails for a size of 0 only
	return &mcpClient{
		sdk: mcp.NewClient(&mcp.Implementation{Name: "earshot", Version: version.Current().Version}, &mcp.ClientOptions{
			Capabilities:   &mcp.ClientCapabilities{}, // none: nothing is answered to a server that asks
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
			Logger:         slog.New(slog.DiscardHandler), // it quotes what servers say
		}),
		http: clientOf(mcpTransport{}), open: map[string][]*mcpSession{}, revisions: revisions,
	}
}

// call calls a tool, with the headers that header makes of its body. It returns the answer,
// and the exchange that it came in, or that failed. A session that the server has forgotten is
// begun anew; the call itself is sent again only if it may be sent twice. A session that was
// answered in is taken back, and one that is in doubt is closed.
func (m *mcpClient) call(ctx context.Context, server mcpServer, params *mcp.CallToolParams, once bool, header func([]byte) (http.Header, error)) (*exchange, json.RawMessage) {
	deadline, _ := ctx.Deadline() // every call has one
	for {
		with, failed := m.take(ctx, server, once)
		if failed != nil {
			return failed, nil
		}
		e := &exchange{send: server.send, header: header, left: maxAnswer}
		detached, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		follow := context.AfterFunc(ctx, cancel)
		_, err := with.CallTool(e.in(detached), params)
		follow()
		e.seal()
		if err == nil {
			time.AfterFunc(draining, cancel)
			m.give(with)
			return e, e.response().Result
		}
		cancel()
		if errors.As(err, new(*jsonrpc.Error)) && with.ID() == "" {
			m.give(with)
		} else {
			go with.Close() // it may wait for the server
		}
		forgotten := e.status == http.StatusNotFound || e.status == http.StatusBadRequest
		if with.fresh || with.ID() == "" || !forgotten || once {
			return e, nil
		}
		m.closeIdle(server.key) // the server has forgotten them as well
	}
}

// take returns a session that no other call uses. One that the server keeps may be gone there;
// a call that is made once must not find that out, and begins a new one.
func (m *mcpClient) take(ctx context.Context, server mcpServer, once bool) (*mcpSession, *exchange) {
	m.mu.Lock()
	list := m.open[server.key]
	at := slices.IndexFunc(list, func(s *mcpSession) bool { return !once || s.ID() == "" })
	if at < 0 {
		m.mu.Unlock()
		return m.connect(ctx, server)
	}
	defer m.mu.Unlock()
	found := list[at]
	m.remove(found)
	found.idle.Stop()
	found.fresh = false
	return found, nil
}

// connect begins a session, or returns the exchange that failed. A server that is known to
// have no revision without sessions is not asked for it.
func (m *mcpClient) connect(ctx context.Context, server mcpServer) (*mcpSession, *exchange) {
	e := &exchange{send: server.send, left: maxGreeting}
	known, _ := m.revisions.Get(server.key)
	made, err := m.sdk.Connect(e.in(ctx), &mcp.StreamableClientTransport{
		Endpoint: server.url, HTTPClient: m.http, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxListBytes,
	}, &mcp.ClientSessionOptions{ProtocolVersion: known})
	e.seal()
	if err != nil {
		m.revisions.Remove(server.key)
		return nil, e
	}
	if revision := made.InitializeResult().ProtocolVersion; revision < stateless {
		m.revisions.Add(server.key, revision)
	}
	return &mcpSession{ClientSession: made, key: server.key, fresh: true}, nil
}

// remove takes a session out of those that are open; m.mu is held.
func (m *mcpClient) remove(s *mcpSession) {
	left := slices.DeleteFunc(m.open[s.key], func(other *mcpSession) bool { return other == s })
	if m.open[s.key] = left; len(left) == 0 {
		delete(m.open, s.key)
	}
	m.count--
}

// give takes a session back that the next call may use.
func (m *mcpClient) give(s *mcpSession) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count >= maxIdleSessions {
		go s.Close()
		return
	}
	m.open[s.key] = append(m.open[s.key], s)
	m.count++
	s.idle = time.AfterFunc(idleSession, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if slices.Contains(m.open[s.key], s) {
			m.remove(s)
			go s.Close()
		}
	})
}

// closeIdle closes the sessions that no call uses at the moment, with the named servers or
// with all.
func (m *mcpClient) closeIdle(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, list := range m.open {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			continue
		}
		for _, s := range list {
			s.idle.Stop()
			go s.Close()
		}
		m.count -= len(list)
		delete(m.open, key)
	}
}

// list lists the tools of a server, and says whether it has more than are looked at; or it
// returns the exchange that failed.
func (m *mcpClient) list(ctx context.Context, server mcpServer) (tools []repositories.OfferedTool, more bool, failed *exchange) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, failed := m.connect(ctx, server) // a session that is used again may answer by itself
	if failed != nil {
		return nil, false, failed
	}
	defer func() { go with.Close() }()
	left, cursor, seen := maxListBytes, "", map[string]bool{}
	for range maxListPages {
		e := &exchange{send: server.send, left: left}
		listed, err := with.ListTools(e.in(ctx), &mcp.ListToolsParams{Cursor: cursor})
		e.seal()
		var page struct {
			Tools []repositories.OfferedTool `json:"tools"`
		}
		if err != nil || json.Unmarshal(e.response().Result, &page) != nil {
			return nil, false, e
		}
		for i := range page.Tools { // the SDK leaves those out
			named := func(t *mcp.Tool) bool { return t.Name == page.Tools[i].Name }
			if !slices.ContainsFunc(listed.Tools, named) {
				page.Tools[i].Refused = "an x-mcp-header of its inputSchema is none that MCP allows"
			}
		}
		tools, left = append(tools, page.Tools...), left-e.answer.Len()
		if cursor = listed.NextCursor; cursor == "" {
			return tools, false, nil
		}
		if seen[cursor] || len(tools) > maxListed {
			break
		}
		seen[cursor] = true
	}
	return tools[:min(len(tools), maxListed)], true, nil
}
