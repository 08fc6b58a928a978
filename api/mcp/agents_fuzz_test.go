package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/trigger"
	"earshot/trigger/query"
)

// watched is an engine that records requests to fire.
type watched struct {
	api.Engine
	mu    sync.Mutex
	fired []firing
}

// firing is a request to fire, and whether it fired.
type firing struct {
	trigger.Direct
	worked bool
}

func (w *watched) Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error) {
	match, err := w.Engine.Fire(ctx, direct)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fired = append(w.fired, firing{direct, err == nil})
	return match, err
}

// taken returns the requests since the last call.
func (w *watched) taken() []firing {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.fired
	w.fired = nil
	return list
}

// finding matches as scripted, and finds every tool for every text.
type finding struct{ apitest.Scripted }

func (finding) Search(_ context.Context, request matcher.Request, _ string, most int) (list []matcher.Score) {
	for _, candidate := range request.Candidates[:min(most, len(request.Candidates))] {
		list = append(list, matcher.Score{Candidate: candidate, Score: 0.5})
	}
	return list
}

// stateHere marks the requestState in a seed, as mutations would never hit its checksum.
const stateHere = "STATE"

func sealedState(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(append(sum[:8], text...))
}

var agentPaths = []string{agentsOfApp, agentsOfSession, agentsOfApp + "?tools=search", agentsOfSession + "/desk"}

// agentTools are one of each kind: with values, with mirrored headers, with a confirmation, without a call, and
// with an external answer.
const agentTools = greets + `,` + refunds + `,` + asks + `,{"name":"route","description":"Routes","parameters":{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","minimum":1}},"required":["region","n"]}}`

// FuzzAgents posts arbitrary bodies to the URLs of agents. The answer is never a 5xx except 501 and 503. It is
// JSON or a stream of JSON with the request's id; other bodies may be refused in plain text. Only tools of the
// URL's scope are fired, and with headers of the revision only the named one.
func FuzzAgents(f *testing.F) {
	engine := &watched{}
	s := apitest.LiveOn(f, redistest.Mini(f), finding{apitest.Everything}, func(o *api.Options) {
		engine.Engine, o.Engine = o.Engine, engine
		o.Events = apitest.QuietEvents{}
	})
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+agentTools+`]}`).Is(201, "")
	for _, seed := range agentSeeds() {
		f.Add(seed.at, seed.version, seed.method, seed.name, seed.more, seed.state, seed.body)
	}
	f.Fuzz(func(t *testing.T, at byte, version, method, name, more, state, body string) {
		sent := agentRequest{at, version, method, name, more, state, body}
		request := sent.http(t)
		recorder := httptest.NewRecorder()
		engine.taken()
		s.Handler.ServeHTTP(recorder, request)
		sent.answered(t, recorder)
		for _, direct := range engine.taken() {
			sent.mayFire(t, request, direct)
		}
	})
}

// agentRequest is what an agent sends.
type agentRequest struct {
	at                          byte   // headers; more is the value of a mirrored one
	version, method, name, more string // headers, more that of a value
	state, body                 string
}

func (r agentRequest) http(t *testing.T) *http.Request {
	body := strings.ReplaceAll(r.body, stateHere, sealedState(r.state))
	request, err := http.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1"+agentPaths[int(r.at)%len(agentPaths)], strings.NewReader(body))
	require.NoError(t, err)
	request.RemoteAddr = "127.0.0.1:1"
	for header, value := range map[string]string{
		"Authorization": "Bearer " + apitest.AdminKey, "Mcp-Protocol-Version": r.version, "Mcp-Method": r.method, "Mcp-Name": r.name, "Mcp-Param-Region": r.more,
	} {
		if strings.ContainsAny(value, "\r\n\x00") {
			t.Skip("no client could send it")
		}
		if value = strings.Trim(value, " \t"); value != "" {
			request.Header.Set(header, value)
		}
	}
	return request
}

func (r agentRequest) answered(t *testing.T, got *httptest.ResponseRecorder) {
	if got.Code >= 500 && got.Code != http.StatusNotImplemented && got.Code != http.StatusServiceUnavailable {
		t.Errorf("%+v: %d %s", r, got.Code, got.Body)
	}
	var lines [][]byte
	switch kind, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";"); kind {
	case "text/event-stream":
		for scan := bufio.NewScanner(bytes.NewReader(got.Body.Bytes())); scan.Scan(); {
			if data, is := bytes.CutPrefix(scan.Bytes(), []byte("data: ")); is {
				lines = append(lines, data)
			}
		}
	case "application/json", "application/problem+json":
		lines = append(lines, got.Body.Bytes())
	case "text/plain": // as documented: other bodies are refused in plain text
		if got.Code < 400 || got.Code >= 500 || got.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: %d in words: %q", r, got.Code, got.Body)
		}
	default:
		if got.Body.Len() > 0 || got.Code != http.StatusAccepted {
			t.Errorf("%+v: %d is %q: %q", r, got.Code, kind, got.Body)
		}
	}
	var asked, answer struct{ ID json.RawMessage }
	for _, line := range lines {
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Errorf("%+v: %d %q: %v", r, got.Code, line, err)
		}
	}
	whole := json.Unmarshal([]byte(r.body), &asked) == nil && len(asked.ID) > 0 && string(asked.ID) != "null"
	if got.Code == http.StatusOK && whole && !sameID(asked.ID, answer.ID) {
		t.Errorf("%+v is answered as %s", r, answer.ID)
	}
}

// sameID compares ids as JSON, and numbers by their digits.
func sameID(a, b json.RawMessage) bool {
	var first, second any
	for text, into := range map[*json.RawMessage]*any{&a: &first, &b: &second} {
		reader := json.NewDecoder(bytes.NewReader(*text))
		reader.UseNumber()
		if reader.Decode(into) != nil {
			return false
		}
	}
	return first == second
}

// mayFire checks that headers and URL show the call.
func (r agentRequest) mayFire(t *testing.T, request *http.Request, direct firing) {
	session := ""
	if strings.HasPrefix(request.URL.Path, agentsOfSession) {
		session = "s1"
	}
	if direct.AppID != "clinic" || direct.SessionID != session || direct.Source != query.SourceAgent {
		t.Errorf("%+v fires for %q %q as %q", r, direct.AppID, direct.SessionID, direct.Source)
	}
	header := request.Header.Get("Mcp-Method")
	if request.Header.Get("Mcp-Protocol-Version") != "2026-07-28" || strings.HasPrefix(header, "tasks/") {
		return // an own call started the task
	}
	name := request.Header.Get("Mcp-Name")
	wrapped := name == "call_tool" && request.URL.RawQuery != ""
	if header != "tools/call" || name != direct.Name && !wrapped {
		t.Errorf("%+v fires %q, and says %s %q", r, direct.Name, header, name)
	}
	said := request.Header.Get("Mcp-Param-Region")
	if region, _ := direct.Values["region"].(string); direct.worked && direct.Name == "route" && !wrapped && said != region && !strings.HasPrefix(said, "=?base64?") {
		t.Errorf("%+v fires %q for %q, and says %q", r, direct.Name, region, said)
	}
}

// agentSeeds are requests of all kinds and revisions.
func agentSeeds() []agentRequest {
	const (
		newest = "2026-07-28"
		meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + withBoth + `}`
		named  = `"_meta":{"earshot/triggerId":"t1","earshot/metadata":{"a":"b"},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + withBoth + `}`
		forms  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + withForms + `}`
	)
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
	}
	call := func(name, params string) agentRequest {
		return agentRequest{1, newest, "tools/call", name, "", "", rpc("tools/call", `"name":"`+name+`",`+params)}
	}
	task := func(method, params string) agentRequest {
		return agentRequest{1, newest, method, "t1", "", "", rpc(method, `"taskId":"t1",`+params+meta)}
	}
	seeds := []agentRequest{
		{0, "", "", "", "", "", rpc("initialize", `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}`)},
		{0, "2025-06-18", "", "", "", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{1, "2025-06-18", "", "", "", "", rpc("tools/list", ``)},
		{1, "2025-11-25", "", "", "", "", rpc("tools/call", `"name":"greet","arguments":{"name":"Ann"}`)},
		{0, newest, "server/discover", "", "", "", rpc("server/discover", meta)},
		{3, newest, "tools/list", "", "", "", rpc("tools/list", meta)},
		{0, newest, "subscriptions/listen", "", "", "", rpc("subscriptions/listen", `"notifications":{"toolsListChanged":true,"taskIds":["t1"]},`+meta)},
		{2, newest, "tools/call", "search_tools", "", "", rpc("tools/call", `"name":"search_tools","arguments":{"query":"greet","limit":3},`+meta)},
		{2, newest, "tools/call", "call_tool", "", "", rpc("tools/call", `"name":"call_tool","arguments":{"name":"greet","arguments":{"name":"Ann"}},`+meta)},
		{0, newest, "tools/call", "route", "north", "", rpc("tools/call", `"name":"route","arguments":{"region":"north","n":12345678901234567890},`+meta)},
		{0, newest, "tools/call", "route", "=?base64?bm9ydGg=?=", "", rpc("tools/call", `"name":"route","arguments":{"region":"north"},`+forms)},
		{1, newest, "tools/call", "greet", "", `{"values":{"name":"Ann"}}`, rpc("tools/call", `"name":"greet","requestState":"STATE","inputResponses":{"name":{"action":"accept","content":{"name":"Bo"}}},`+forms)},
		{1, newest, "tools/call", "refund", "", `{"trigger":"t1","arguments":"x"}`, rpc("tools/call", `"name":"refund","arguments":{"order":"1","amount":2},"requestState":"STATE","inputResponses":{"confirm":{"action":"decline"}},`+forms)},
		{0, newest, "tools/call", "greet", "", "", `[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":"2","method":"ping"}]`},
		{0, newest, "tools/call", "greet", "", "", rpc("tools/call", `"name":"measure","arguments":{},`+meta)},
		{0, newest, "tools/list", "greet", "", "", rpc("tools/call", `"name":"greet","arguments":{"name":"Ann"},`+meta)},
		{0, newest, "tools/call", "route", "south", "", rpc("tools/call", `"name":"route","arguments":{"region":"north","n":1},`+meta)},
		{2, newest, "tools/call", "call_tool", "", "", rpc("tools/call", `"name":"call_tool","arguments":{"name":"greet","arguments":[]},`+meta)},
		{0, newest, "x", "", "", "", `{"jsonrpc":"2.0","id":null,"method":"ping"}`}, {0, "1999-01-01", "", "", "", "", "\xff{"},
		call("refund", `"arguments":{"order":"1","amount":2},`+named), call("refund", `"arguments":{},`+meta), call("measure", `"arguments":{},`+meta),
		call("greet", `"arguments":{"name":["\ud800"]},`+meta), call("none", `"arguments":null,`+meta), call("refund", `"arguments":{"order":"1","amount":2},`+forms),
		task("tasks/get", ``), task("tasks/update", `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}},`), task("tasks/cancel", ``),
	}
	return seeds
}
