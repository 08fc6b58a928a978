package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hostilePause is between two things that a hostile client does. With a shorter one the clients would
// be measured, whose process is on the same two cores: 2,000 of them make some 2,500 connections a second.
const hostilePause = 500 * time.Millisecond

// secretOfModule signs in at both apps.
const secretOfModule = "a-secret-of-the-avatar"

// siege are the hostile clients of a run, and what they were answered.
type siege struct {
	url, token string // of a session of the app rival
	dialer     net.Dialer

	mu       sync.Mutex
	answered map[string]map[string]int // by kind and by what was answered
}

// hostile is a kind of client. It does one hostile thing, and says what came of it.
type hostile struct {
	name string
	do   func(s *siege, ctx context.Context, n int) string
}

const chatOfRival, messageOfRival = "/v1/apps/rival/sessions/s1/openai/v1/chat/completions", "/v1/apps/rival/sessions/s1/messages"

// hostileKinds are the clients, as many of each.
var hostileKinds = []hostile{
	{"a stranger's half body, for a token", func(s *siege, ctx context.Context, _ int) string {
		return s.half(ctx, "POST /api/platform/token", "", 100)
	}},
	{"16 MiB that are announced, of a chat", func(s *siege, ctx context.Context, _ int) string {
		return s.half(ctx, "POST "+chatOfRival, s.token, 16<<20)
	}},
	{"half a header", func(s *siege, ctx context.Context, _ int) string {
		return s.raw(ctx, "GET /healthz HTTP/1.1\r\nHost: ")
	}},
	{"guesses of a module's secret", func(s *siege, ctx context.Context, n int) string {
		return s.ask(ctx, http.MethodPost, "/api/platform/token", "", fmt.Sprintf(`{"appId":"rival","clientId":"avatar","clientSecret":"guess-number-%d"}`, n))
	}},
	{"guesses of a key", func(s *siege, ctx context.Context, n int) string {
		return s.ask(ctx, http.MethodGet, "/v1/apps/rival", fmt.Sprintf("ek_rival.GUESS%d", n), "")
	}},
	{"messages of a token", func(s *siege, ctx context.Context, n int) string {
		return s.ask(ctx, http.MethodPost, messageOfRival, s.token, fmt.Sprintf(`{"actor":"user","text":"hello %d"}`, n))
	}},
	{"dry runs of a token", func(s *siege, ctx context.Context, n int) string {
		return s.ask(ctx, http.MethodPost, messageOfRival+"?dryRun=true", s.token, fmt.Sprintf(`{"actor":"user","text":"hello %d"}`, n))
	}},
	{"MCP calls that lack values, of 60 kB", func(s *siege, ctx context.Context, _ int) string {
		return s.ask(ctx, http.MethodPost, "/v1/apps/rival/sessions/s1/mcp", s.token, lackingCall, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "form")
	}},
	{"event streams that are not read", func(s *siege, ctx context.Context, _ int) string {
		return s.raw(ctx, "GET /v1/apps/rival/sessions/s1/events HTTP/1.1\r\nHost: rival\r\nAuthorization: Bearer "+s.token+"\r\n\r\n")
	}},
	{"WebSockets for MQTT that say nothing", func(s *siege, ctx context.Context, _ int) string {
		return s.raw(ctx, "GET /mqtt HTTP/1.1\r\nHost: rival\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n")
	}},
}

// lackingCall lacks two values, and has one of 60 kB.
var lackingCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"form","arguments":{"a":"` + strings.Repeat("x", 60_000) + `"},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`

// half announces a body, sends a byte of it, and waits for whatever comes.
func (s *siege) half(ctx context.Context, operation, token string, announced int) string {
	return s.raw(ctx, fmt.Sprintf("%s HTTP/1.1\r\nHost: rival\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{", operation, token, announced))
}

// raw sends something over a socket of its own, and keeps it until the service closes it.
func (s *siege) raw(ctx context.Context, sent string) string {
	conn, err := s.dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return "no connection"
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write([]byte(sent)); err != nil {
		return "cut off"
	}
	in := bufio.NewReader(conn)
	line, _ := in.ReadString('\n') // without one it was cut off
	_, _ = in.Discard(1 << 30)     // until the end
	if parts := strings.Fields(line); len(parts) > 1 {
		return parts[1]
	}
	return "cut off"
}

// ask makes a whole request over a connection of its own.
func (s *siege) ask(ctx context.Context, method, path, token, body string, headers ...string) string {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // what is in it is of no interest
	return strconv.Itoa(response.StatusCode)
}

// begin has clients be hostile until the function that it returns is called.
func (s *siege) begin(ctx context.Context, clients int) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for i := range clients {
		kind := hostileKinds[i%len(hostileKinds)]
		group.Go(func() {
			for n := i; ctx.Err() == nil; n += clients {
				came := kind.do(s, ctx, n)
				if ctx.Err() != nil {
					came = "open at the end"
				}
				s.note(kind.name, came)
				select {
				case <-ctx.Done():
				case <-time.After(hostilePause):
				}
			}
		})
	}
	return func() { cancel(); group.Wait() }
}

func (s *siege) note(kind, came string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered[kind] == nil {
		s.answered[kind] = map[string]int{}
	}
	s.answered[kind][came]++
}

// hostileLoad measures what a polite app notices of hostile clients: alone, beside them, and alone.
func (b *bench) hostileLoad(ctx context.Context) error {
	s, err := b.world.Earshot(ctx, "EARSHOT_SERMAS=on")
	if err != nil {
		return err
	}
	c := newClient(s, b.connections[0])
	w := workload{app: "polite", tools: b.tools, matches: b.matches, sessions: b.sessions}
	if err := w.register(ctx, c); err != nil {
		return err
	}
	against, err := besiege(ctx, c)
	if err != nil {
		return err
	}
	b.note("## %s of a polite app, beside %d hostile clients; %s", b.at(b.connections[0]), b.hostiles, b.rounded())
	rows, ratios := [][]string{{"round", "alone p50 ms", "p99 ms", "beside p50 ms", "p99 ms", "p99 ratio", "tokens, long chats", "refused", "RSS MiB"}}, []float64{}
	for round := range b.rounds {
		alone, err := b.measure(ctx, w.post, b.at(b.connections[0]), s)
		if err != nil {
			return err
		}
		end := against.begin(ctx, b.hostiles)
		watched := watchPolite(ctx, c)
		beside, err := b.measure(ctx, w.post, b.at(b.connections[0]), s)
		served, refused := watched()
		memory, wrong := s.Metrics(ctx, "process_resident_memory_bytes")
		end()
		if err := errors.Join(err, wrong); err != nil {
			return err
		}
		ratios = append(ratios, beside.p99/alone.p99)
		rows = append(rows, []string{strconv.Itoa(round + 1), number(alone.p50), number(alone.p99), number(beside.p50), number(beside.p99), number(beside.p99 / alone.p99),
			strconv.Itoa(served), strconv.Itoa(refused), number(memory["process_resident_memory_bytes"] / mebibyte)})
	}
	b.table(rows)
	slices.Sort(ratios)
	b.note("p99 beside hostile clients, median of the rounds: %.2f times that of the app alone", ratios[len(ratios)/2])
	b.table(against.table())
	return nil
}

func number(n float64) string { return fmt.Sprintf("%.1f", n) }

// besiege makes the hostile app with a token of a session.
func besiege(ctx context.Context, c client) (*siege, error) {
	form := `{"name":"form","description":"Form","schema":[{"parameter":"a","type":"string","required":true},{"parameter":"b","type":"string","required":true},{"parameter":"c","type":"string","required":true}]}`
	module := []any{map[string]any{"moduleId": "avatar", "secret": secretOfModule}}
	s := &siege{url: c.url, answered: map[string]map[string]int{}}
	var made struct{ Token string }
	err := errors.Join(
		c.send(ctx, http.MethodPut, "/v1/apps/rival", map[string]any{"modules": module}, nil),
		c.send(ctx, http.MethodPatch, "/v1/apps/polite", map[string]any{"modules": module}, nil),
		c.send(ctx, http.MethodPut, "/v1/apps/rival/repositories/r", map[string]any{"tools": []any{rawJSON(form)}}, nil),
		c.send(ctx, http.MethodPost, "/v1/apps/rival/sessions/s1/token", rawJSON("{}"), &made),
	)
	s.token = made.Token
	return s, err
}

// rawJSON is JSON as it is.
type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// watchPolite asks twice a second for a token of the polite app and for a chat of 70 kB, until the
// function that it returns is called: that returns how many were served, and how many refused.
func watchPolite(ctx context.Context, c client) (ended func() (served, refused int)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var well, ill int
	chat := map[string]any{"model": "double", "messages": []any{map[string]any{"role": "system", "content": strings.Repeat("x", 70_000)}, map[string]any{"role": "user", "content": "hello"}}}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for path, body := range map[string]any{
				"/api/platform/token": map[string]any{"appId": "polite", "clientId": "avatar", "clientSecret": secretOfModule},
				"/v1/apps/polite/sessions/" + url.PathEscape("chat") + "/openai/v1/chat/completions": chat,
			} {
				switch err := c.send(ctx, http.MethodPost, path, body, nil); {
				case ctx.Err() != nil:
				case err != nil:
					ill++
				default:
					well++
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return func() (int, int) { cancel(); <-done; return well, ill }
}

// table shows what hostile clients were answered.
func (s *siege) table() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := [][]string{{"hostile clients", "answered"}}
	for _, kind := range hostileKinds {
		var all []string
		for came, times := range s.answered[kind.name] {
			all = append(all, fmt.Sprintf("%s: %s", came, comma(times)))
		}
		slices.Sort(all)
		rows = append(rows, []string{kind.name, strings.Join(all, ", ")})
	}
	return rows
}
