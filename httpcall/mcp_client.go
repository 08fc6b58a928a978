package httpcall

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/repositories"
	"earshot/repositories/version"
)

type mcpServer struct {
	key  string // equal for servers that may share sessions
	url  string
	send http.RoundTripper
}

// mcpClient talks to the servers of all apps over Streamable HTTP, in any revision. Each session serves one
// call at a time, so that an answer that breaks it breaks no other call.
type mcpClient struct {
	sdk  *mcp.Client
	http *http.Client

	mu    sync.Mutex
	idle  map[string][]*mcpSession // idle sessions, by the key of their server
	count int
	// revisions of servers with sessions, by key, to avoid negotiation.
	revisions *lru.Cache[string, string]
}

type mcpSession struct {
	*mcp.ClientSession
	key       string
	idleTimer *time.Timer // closes the session
	unused    bool        // not used before
}

const (
	// maxIdleSessions and idleSession bound the number and age of idle sessions.
	maxIdleSessions = 256
	idleSession     = 5 * time.Minute
	maxRevisions    = 4096
	// drainTime is how long the rest of an answer is read, to reuse its connection.
	drainTime = time.Second
	// statelessRevision is the first revision without sessions.
	statelessRevision = "2026-07-28"
)

// Limits of answers in bytes, and of lists.
const (
	maxHandshake   = 1 << 20 // to the start of a session
	maxAnswer      = 4 << 20 // to a call
	maxListBytes   = 8 << 20 // all pages together
	maxListPages   = 200
	maxListedTools = 10_000
)

// call calls a tool, with the headers that header returns for its body, and returns the exchange and the
// answer. If the server has lost a session, a new one is started; the call is repeated only if once is false. A
// session in an unknown state is closed.
func (m *mcpClient) call(ctx context.Context, server mcpServer, params *mcp.CallToolParams, once bool, header func([]byte) (http.Header, error)) (*exchange, json.RawMessage) {
	deadline, _ := ctx.Deadline() // every call has one
	for {
		// The server may have lost a session with an id, which a call that is made once must not find out.
		m.mu.Lock()
		var session *mcpSession
		for _, open := range m.idle[server.key] {
			if session == nil && (!once || open.ID() == "") {
				session = open
			}
		}
		if session != nil {
			m.remove(session)
			session.idleTimer.Stop()
			session.unused = false
		}
		m.mu.Unlock()
		if session == nil {
			var failed *exchange
			if session, failed = m.connect(ctx, server); failed != nil {
				return failed, nil
			}
		}
		e := &exchange{send: server.send, header: header, left: maxAnswer}
		callCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		follow := context.AfterFunc(ctx, cancel)
		_, err := session.CallTool(e.in(callCtx), params)
		follow()
		e.seal()
		if err == nil {
			time.AfterFunc(drainTime, cancel)
			m.release(session)
			return e, e.response().Result
		}
		cancel()
		if errors.As(err, new(*jsonrpc.Error)) && session.ID() == "" {
			m.release(session)
		} else {
			go session.Close() // it may wait for the server
		}
		sessionLost := e.status == http.StatusNotFound || e.status == http.StatusBadRequest
		if session.unused || session.ID() == "" || !sessionLost || once {
			return e, nil
		}
		m.closeIdle(server.key) // the server has lost these as well
	}
}

// connect starts a session, or returns the failed exchange. A known older revision is not negotiated again.
func (m *mcpClient) connect(ctx context.Context, server mcpServer) (*mcpSession, *exchange) {
	e := &exchange{send: server.send, left: maxHandshake}
	known, _ := m.revisions.Get(server.key)
	session, err := m.sdk.Connect(e.in(ctx), &mcp.StreamableClientTransport{
		Endpoint: server.url, HTTPClient: m.http, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxListBytes,
	}, &mcp.ClientSessionOptions{ProtocolVersion: known})
	e.seal()
	if err != nil {
		m.revisions.Remove(server.key)
		return nil, e
	}
	if revision := session.InitializeResult().ProtocolVersion; revision < statelessRevision {
		m.revisions.Add(server.key, revision)
	}
	return &mcpSession{ClientSession: session, key: server.key, unused: true}, nil
}

// remove removes an idle session. The caller holds m.mu.
func (m *mcpClient) remove(s *mcpSession) {
	remaining := slices.DeleteFunc(m.idle[s.key], func(other *mcpSession) bool { return other == s })
	if m.idle[s.key] = remaining; len(remaining) == 0 {
		delete(m.idle, s.key)
	}
	m.count--
}

func (m *mcpClient) release(s *mcpSession) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count >= maxIdleSessions {
		go s.Close()
		return
	}
	m.idle[s.key] = append(m.idle[s.key], s)
	m.count++
	s.idleTimer = time.AfterFunc(idleSession, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if slices.Contains(m.idle[s.key], s) {
			m.remove(s)
			go s.Close()
		}
	})
}

// closeIdle closes the idle sessions of the given servers, or of all.
func (m *mcpClient) closeIdle(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, sessions := range m.idle {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			continue
		}
		for _, s := range sessions {
			s.idleTimer.Stop()
			go s.Close()
		}
		m.count -= len(sessions)
		delete(m.idle, key)
	}
}

// list lists the tools of a server and reports whether it has more; or it returns the failed exchange.
func (m *mcpClient) list(ctx context.Context, server mcpServer) (tools []repositories.OfferedTool, more bool, failed *exchange) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, failed := m.connect(ctx, server) // a reused session may answer from its cache
	if failed != nil {
		return nil, false, failed
	}
	defer func() { go session.Close() }()
	budget, cursor, seen := maxListBytes, "", map[string]bool{}
	for range maxListPages {
		e := &exchange{send: server.send, left: budget}
		listed, err := session.ListTools(e.in(ctx), &mcp.ListToolsParams{Cursor: cursor})
		e.seal()
		var page struct {
			Tools []repositories.OfferedTool `json:"tools"`
		}
		if err != nil || json.Unmarshal(e.response().Result, &page) != nil {
			return nil, false, e
		}
		for i := range page.Tools { // the SDK drops invalid ones
			sameName := func(t *mcp.Tool) bool { return t.Name == page.Tools[i].Name }
			if !slices.ContainsFunc(listed.Tools, sameName) {
				page.Tools[i].Refused = "an x-mcp-header of its inputSchema is none that MCP allows"
			}
		}
		tools, budget = append(tools, page.Tools...), budget-e.answer.Len()
		if cursor = listed.NextCursor; cursor == "" {
			return tools, false, nil
		}
		if seen[cursor] || len(tools) > maxListedTools {
			break
		}
		seen[cursor] = true
	}
	return tools[:min(len(tools), maxListedTools)], true, nil
}

// exchange is one request of a session with its answer, or the requests that start a session. It is passed in
// the SDK's context.
type exchange struct {
	send http.RoundTripper
	// header returns the headers for the body of a call; nil for other requests.
	header func(body []byte) (http.Header, error)

	mu     sync.Mutex
	sealed bool // later answers are ignored
	posted bool
	status int
	got    http.Header
	answer bytes.Buffer
	left   int   // remaining bytes of the answer
	err    error // no answer, or a truncated one
}

type exchangeKey struct{}

func (e *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

func (e *exchange) calls() bool { return e.header != nil }

// mcpTransport is the http.RoundTripper of all sessions.
type mcpTransport struct{}

// RoundTrip sends a request through its exchange, which records the answer.
func (mcpTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	e, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request without an exchange")
	}
	if err := e.begin(request); err != nil {
		return nil, err
	}
	response, err := e.send.RoundTrip(request)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.sealed {
		e.err = err
	}
	if err != nil {
		return nil, err
	}
	if !e.sealed {
		e.status, e.got = response.StatusCode, response.Header
		e.answer.WriteString("\n\n") // ends a truncated event
	}
	response.Body = &tap{ReadCloser: response.Body, of: e}
	return response, nil
}

// busy lists the statuses after which further requests are pointless.
var busy = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// begin sets the headers of the first POST, and fails a pointless request.
func (e *exchange) begin(request *http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.sealed:
		return nil
	case e.err != nil:
		return e.err
	case !e.calls() && slices.Contains(busy, e.status):
		return errors.New("the server has just answered that it is down")
	}
	own := e.calls() && request.Method == http.MethodPost && !e.posted
	e.posted = e.posted || request.Method == http.MethodPost
	if !own {
		return nil
	}
	var header http.Header
	body, err := request.GetBody()
	if err == nil {
		var read []byte
		if read, err = io.ReadAll(body); err == nil {
			header, err = e.header(read)
		}
	}
	for name, values := range header {
		if request.Header.Get(name) == "" {
			request.Header[name] = values
		}
	}
	e.err = err
	return err
}

func (e *exchange) seal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sealed = true
}

// errTooLong means that an answer is longer than it may be.
var errTooLong = errors.New("the answer is too long")

// tap records the bytes of an answer, and fails one that is too long.
type tap struct {
	io.ReadCloser
	of *exchange
}

// Read implements io.Reader.
func (t *tap) Read(into []byte) (int, error) {
	n, err := t.ReadCloser.Read(into)
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.of.left -= n; t.of.left < 0 {
		n, err = 0, errTooLong
	}
	if t.of.sealed {
		return n, err
	}
	t.of.answer.Write(into[:n])
	if err != nil && err != io.EOF {
		t.of.err = err
	}
	return n, err
}

type rpcResponse struct {
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (e *exchange) streams() bool {
	kind, _, _ := mime.ParseMediaType(e.got.Get("Content-Type"))
	return kind == "text/event-stream"
}

// response returns the response of a sealed exchange, byte for byte; empty for none.
func (e *exchange) response() rpcResponse {
	messages := [][]byte{e.answer.Bytes()}
	if e.streams() {
		messages = nil
		for event := range bytes.SplitSeq(bytes.ReplaceAll(e.answer.Bytes(), []byte("\r"), nil), []byte("\n\n")) {
			var data [][]byte
			for line := range bytes.SplitSeq(event, []byte("\n")) {
				if text, is := bytes.CutPrefix(line, []byte("data:")); is {
					data = append(data, bytes.TrimPrefix(text, []byte(" ")))
				}
			}
			messages = append(messages, bytes.Join(data, []byte("\n")))
		}
	}
	for _, message := range messages {
		var read rpcResponse
		if json.Unmarshal(message, &read) == nil && read.Method == "" && (read.Result != nil || read.Error.Code != 0 || read.Error.Message != "") {
			return read
		}
	}
	return rpcResponse{}
}

type property struct {
	Header     string              `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// collect finds the headers of strings, booleans and integers; a string that no header can hold is sent in
// base64.
func (p property) collect(value any, into map[string]string) {
	object, _ := value.(map[string]any)
	for name, below := range p.Properties {
		argument, given := object[name]
		text, plain := "", given
		switch value := argument.(type) {
		case string:
			text = value
			escaped := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=")
			beyond := strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r > 0x7e })
			if escaped || beyond || strings.Trim(value, " \t") != value {
				text = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
			}
		case bool:
			text = strconv.FormatBool(value)
		case json.Number:
			n, err := value.Int64()
			text, plain = value.String(), err == nil && -maxSafeInteger <= n && n <= maxSafeInteger
		default:
			plain = false
		}
		if plain && below.Header != "" {
			into["Mcp-Param-"+below.Header] = text
		}
		below.collect(argument, into)
	}
}

// maxSafeInteger is the largest integer that every JSON parser reads exactly.
const maxSafeInteger = 1<<53 - 1

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

	listener := &listenTransport{send: server.send, begun: make(chan struct{}, 1), over: make(chan error, 1)}
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
	for {
		select {
		case <-listener.begun:
			changed()
		case err := <-listener.over:
			return !errors.Is(err, errNoStream), nil
		case <-ctx.Done():
			return true, nil
		}
	}
}

// errNoStream means that a server has no stream of notifications.
var errNoStream = errors.New("the server has no stream of notifications")

// listenTransport is the http.RoundTripper of a listening session. It reports the end of the notification stream, which the
// SDK does not.
type listenTransport struct {
	send  http.RoundTripper
	begun chan struct{} // one item: the stream may begin before the handshake ends, and may begin again
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
		select {
		case e.begun <- struct{}{}:
		default: // the last begin has not been handled yet
		}
	}
	response.Body = &boundedBody{ReadCloser: response.Body, of: e, listens: listens}
	return response, nil
}

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
