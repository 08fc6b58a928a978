package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"earshot/deploy/testbed"
)

// hostilePause is the mean pause of a hostile client. A shorter one would measure the clients, which are on the same cores.
const hostilePause = 500 * time.Millisecond

const secretOfModule = "a-secret-of-the-avatar"

// hostileLoad measures a polite app alone and next to hostile clients, in turns.
func (b *bench) hostileLoad(ctx context.Context) {
	s := b.earshot("EARSHOT_SERMAS=on")
	c := newClient(s, b.connections[0])
	w := workload{app: "polite", tools: b.tools, matches: b.matches, sessions: b.sessions}
	const form = `{"name":"form","description":"Form","schema":[{"parameter":"a","type":"string","required":true},{"parameter":"b","type":"string","required":true},{"parameter":"c","type":"string","required":true}]}`
	module := []any{map[string]any{"moduleId": "avatar", "secret": secretOfModule}}
	var made struct{ Token string }
	b.must(errors.Join(
		w.register(ctx, c),
		c.send(ctx, http.MethodPut, "/v1/apps/rival", map[string]any{"modules": module}, nil),
		c.send(ctx, http.MethodPatch, "/v1/apps/polite", map[string]any{"modules": module}, nil),
		c.send(ctx, http.MethodPut, "/v1/apps/rival/repositories/r", map[string]any{"tools": []any{rawJSON(form)}}, nil),
		c.send(ctx, http.MethodPost, "/v1/apps/rival/sessions/s1/token", rawJSON("{}"), &made),
	))
	against := &siege{URL: c.URL, Token: made.Token, Clients: b.hostiles}
	b.note("## %s of a polite app, beside %d hostile clients; %s", b.at(b.connections[0]), b.hostiles, b.rounded())
	answered := tally{}
	rows, ratios := [][]string{{"round", "alone p50 ms", "p99 ms", "beside p50 ms", "p99 ms", "p99 ratio", "tokens, long chats", "refused", "server, cores", "RSS MiB"}}, []float64{}
	for round := range b.rounds {
		alone := b.measure(ctx, w.post, b.at(b.connections[0]), nil, s)
		end := against.begin(b.world)
		watched := watchPolite(b.t, c)
		beside := b.measure(ctx, w.post, b.at(b.connections[0]), nil, s)
		served, refused := watched()
		memory := b.metrics(s, "process_resident_memory_bytes")["process_resident_memory_bytes"]
		end(answered)
		ratios = append(ratios, beside[p99]/alone[p99])
		row := []string{strconv.Itoa(round + 1)}
		for _, n := range []float64{alone[p50], alone[p99], beside[p50], beside[p99], beside[p99] / alone[p99]} {
			row = append(row, fmt.Sprintf("%.1f", n))
		}
		rows = append(rows, append(row, strconv.Itoa(served), strconv.Itoa(refused), fmt.Sprintf("%.2f", beside[cpuServer]*beside[rate]/1000), fmt.Sprintf("%.1f", memory/mebibyte)))
	}
	b.table(rows)
	slices.Sort(ratios)
	b.note("p99 beside hostile clients, median of the rounds: %.2f times that of the app alone", ratios[len(ratios)/2])
	rows = [][]string{{"hostile clients", "answered"}}
	for _, kind := range hostileKinds {
		var all []string
		for came, times := range answered[kind.name] {
			all = append(all, fmt.Sprintf("%s: %s", came, comma(times)))
		}
		slices.Sort(all)
		rows = append(rows, []string{kind.name, strings.Join(all, ", ")})
	}
	b.table(rows)
}

// watchPolite asks twice a second for a token and for a chat of 70 kB, and counts what was served and refused.
func watchPolite(t testbed.TB, c client) (ended func() (served, refused int)) {
	var well, ill int
	chat := map[string]any{"model": "double", "messages": []any{map[string]any{"role": "system", "content": strings.Repeat("x", 70_000)}, map[string]any{"role": "user", "content": "hello"}}}
	stop := testbed.Background(t, func(ctx context.Context) {
		for ; ctx.Err() == nil; testbed.Wait(ctx, 500*time.Millisecond) {
			for path, body := range map[string]any{
				"/api/platform/token": map[string]any{"appId": "polite", "clientId": "avatar", "clientSecret": secretOfModule},
				"/v1/apps/polite/sessions/chat/openai/v1/chat/completions": chat,
			} {
				switch err := c.send(ctx, http.MethodPost, path, body, nil); {
				case ctx.Err() != nil:
				case err != nil:
					ill++
				default:
					well++
				}
			}
		}
	})
	return func() (int, int) { stop(); return well, ill }
}

// siege is the process of the hostile clients. It has the lowest priority, since elsewhere they have machines of their own.
type siege struct {
	URL, Token string // of a session of the app rival
	Clients    int

	mu       sync.Mutex
	answered tally
}

// begin starts the hostile clients, and returns when they send. end stops them, and adds their answers to a tally.
func (s *siege) begin(w *world) (end func(tally)) {
	w.started++
	clients := w.process(fmt.Sprintf("hostile %d", w.started), role{Name: roleHostile, Siege: s})
	clients.Path, clients.Args = "nice", []string{"-n", "19", clients.Path}
	w.must(clients.Start())
	w.must(clients.Until(w.t.Context(), func(context.Context) error {
		if clients.String() == "" {
			return errors.New("the hostile clients do not begin")
		}
		return nil
	}))
	return func(all tally) {
		w.must(clients.Stop(os.Interrupt))
		came := tally{}
		_, report, _ := strings.Cut(clients.String(), "\n")
		w.must(json.Unmarshal([]byte(report), &came))
		for kind, answers := range came {
			for answer, times := range answers {
				all.add(kind, answer, times)
			}
		}
	}
}

// play runs the hostile clients until ctx ends. It prints an empty tally at the start, and all answers at the end.
func (s *siege) play(ctx context.Context) error {
	s.answered = tally{}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(tally{}); err != nil {
		return err
	}
	var group sync.WaitGroup
	for i := range s.Clients {
		kind := hostileKinds[i%len(hostileKinds)]
		group.Go(func() {
			for n := i; ctx.Err() == nil; n += s.Clients {
				came := kind.do(s, ctx, n)
				if ctx.Err() != nil {
					came = "open at the end"
				}
				s.mu.Lock()
				s.answered.add(kind.name, came, 1)
				s.mu.Unlock()
				testbed.Wait(ctx, hostilePause/2+rand.N(hostilePause))
			}
		})
	}
	group.Wait()
	return out.Encode(s.answered)
}

type hostile struct {
	name string
	do   func(s *siege, ctx context.Context, n int) string
}

const sessionOfRival = "/v1/apps/rival/sessions/s1"

var hostileKinds = []hostile{
	{"a stranger's half body, for a token", func(s *siege, ctx context.Context, _ int) string {
		return s.half(ctx, "POST /api/platform/token", "", 100)
	}},
	{"16 MiB that are announced, of a chat", func(s *siege, ctx context.Context, _ int) string {
		return s.half(ctx, "POST "+sessionOfRival+"/openai/v1/chat/completions", s.Token, 16<<20)
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
		return s.ask(ctx, http.MethodPost, sessionOfRival+"/messages", s.Token, fmt.Sprintf(`{"actor":"user","text":"hello %d"}`, n))
	}},
	{"dry runs of a token", func(s *siege, ctx context.Context, n int) string {
		return s.ask(ctx, http.MethodPost, sessionOfRival+"/messages?dryRun=true", s.Token, fmt.Sprintf(`{"actor":"user","text":"hello %d"}`, n))
	}},
	{"MCP calls that lack values, of 60 kB", func(s *siege, ctx context.Context, _ int) string {
		body, headers := testbed.RPC("tools/call", "form", `"name":"form","arguments":{"a":"`+strings.Repeat("x", 60_000)+`"}`, "")
		return s.ask(ctx, http.MethodPost, sessionOfRival+"/mcp", s.Token, body, headers...)
	}},
	{"event streams that are not read", func(s *siege, ctx context.Context, _ int) string {
		return s.raw(ctx, "GET "+sessionOfRival+"/events HTTP/1.1\r\nHost: rival\r\nAuthorization: Bearer "+s.Token+"\r\n\r\n")
	}},
	{"WebSockets for MQTT that say nothing", func(s *siege, ctx context.Context, _ int) string {
		return s.raw(ctx, "GET /mqtt HTTP/1.1\r\nHost: rival\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n")
	}},
}

// half announces a body, and sends a byte of it.
func (s *siege) half(ctx context.Context, operation, token string, announced int) string {
	return s.raw(ctx, fmt.Sprintf("%s HTTP/1.1\r\nHost: rival\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{", operation, token, announced))
}

// raw sends a text over a socket of its own, and keeps that open until the service closes it.
func (s *siege) raw(ctx context.Context, sent string) string {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.URL, "http://"))
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

func (s *siege) ask(ctx context.Context, method, path, token, body string, headers ...string) string {
	asking := testbed.Client{URL: s.URL, Key: token, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	response, err := asking.Open(ctx, method, path, body, headers...)
	if err != nil {
		return "no answer"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // what is in it is of no interest
	return strconv.Itoa(response.StatusCode)
}

type tally map[string]map[string]int

func (t tally) add(kind, came string, times int) {
	if t[kind] == nil {
		t[kind] = map[string]int{}
	}
	t[kind][came] += times
}
