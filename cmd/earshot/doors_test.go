package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/console"
	"earshot/api/mqtt"
	"earshot/api/natsrpc"
	"earshot/api/ratelimit"
	"earshot/api/sermas"
	"earshot/deploy/testbed"
)

func doors() []ratelimit.Needs {
	return slices.Concat(api.Endpoints(), sermas.Doors(), console.Doors(), mqtt.Doors(), natsrpc.Doors())
}

// siege is a service with two apps, of which rival is hostile.
type siege struct {
	*world
	t     *testing.T
	rival string            // a session token of rival
	keys  map[string]string // of each app, with all scopes
}

func besieged(t *testing.T) *siege {
	w := newWorld(t)
	asked := testbed.Got(url.Parse(w.llm.URL()))(t)
	chats := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: asked.Scheme, Host: asked.Host})
	model := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/models") || strings.HasSuffix(r.URL.Path, "/responses") { // the test's model lacks these
			_, _ = out.Write([]byte(`{"data":[]}`))
			return
		}
		chats.ServeHTTP(out, r)
	}))
	t.Cleanup(model.Close)
	for name, value := range map[string]string{"EARSHOT_SERMAS": "on", "EARSHOT_NATS_INGRESS": "keys", "OPENAI_BASE_URL": model.URL + asked.Path} {
		w.env[name] = value
	}
	w.serve()
	s := &siege{world: w, t: t, keys: map[string]string{}}
	for _, app := range []string{"clinic", "rival"} {
		w.put("/v1/apps/"+app, `{"settings":{"limits":null},"modules":[{"moduleId":"avatar","secret":"a-secret-of-the-avatar"}]}`)
		w.put("/v1/apps/"+app+"/repositories/desk", `{"tools":[{"name":"book"}]}`)
		s.keys[app] = read[struct{ Key string }](t, w.call(201, "POST", "/v1/apps/"+app+"/keys", `{"scopes":["app","tools","messages","triggers"]}`).Body).Key
	}
	s.rival = read[struct{ Token string }](t, w.call(201, "POST", "/v1/apps/rival/sessions/s1/token", "").Body).Token
	return s
}

// request sends a request over NATS for an app, and returns the status of the error; empty for none.
func (s *siege) request(conn *nats.Conn, n ratelimit.Needs, app, credential, body string) string {
	subject := n.Operation
	for _, id := range []string{app, "s1", "m1", "t1"} {
		subject = strings.Replace(subject, "*", id, 1)
	}
	asked := nats.NewMsg(subject)
	asked.Data = []byte(body)
	if credential != "" {
		asked.Header.Set("Authorization", "Bearer "+credential)
	}
	got, err := conn.RequestMsg(asked, patience)
	require.NoError(s.t, err, subject)
	return got.Header.Get("Nats-Service-Error-Code")
}

func overHTTP(n ratelimit.Needs) bool {
	return n.Surface != ratelimit.MQTT && n.Surface != ratelimit.NATS
}

func at(n ratelimit.Needs, app string) (method, path string) {
	method, path, _ = strings.Cut(n.Operation, " ")
	return method, strings.NewReplacer(
		":appId", app, ":sessionId", "s1", ":repositoryId", "desk", ":toolName", "book", ":triggerId", "t1", ":messageId", "m1", ":keyId", "k1", ":webhookName", "desk", ":file", "x", ":version", "1", ":testName", "t",
		"{app}", app, "{session}", "s1", "{repository}", "desk", "{tool}", "book", "{trigger}", "t1", "{message}", "m1", "{key}", "k1", "{version}", "1", "{$}", "",
	).Replace(path)
}

// TestStrangersAreLetInWhereADoorIsOpenAndNowhereElse calls every operation without a key.
func TestStrangersAreLetInWhereADoorIsOpenAndNowhereElse(t *testing.T) {
	t.Parallel()
	s, closed := besieged(t), 0
	conn := s.nats.Connect()
	for _, n := range doors() {
		if n.Surface == ratelimit.NATS {
			require.Equal(t, "401", s.request(conn, n, "clinic", "", `{}`), n.Operation)
			closed++
		}
		if !overHTTP(n) {
			continue
		}
		method, path := at(n, "clinic")
		got := s.knock(method, path, "", `{}`)
		switch {
		case n.Open:
			require.NotEqual(t, http.StatusInternalServerError, got, n.Operation)
			continue
		case n.Surface == ratelimit.Console:
			require.Contains(t, []int{http.StatusSeeOther, http.StatusUnauthorized, http.StatusForbidden}, got, n.Operation)
		default:
			require.Equal(t, http.StatusUnauthorized, got, n.Operation)
		}
		closed++
	}
	require.Greater(t, closed, 120)
}

// TestNobodyIsLetInWithWhatIsOfAnotherApp calls every operation of an app with another app's key and session
// token.
func TestNobodyIsLetInWithWhatIsOfAnotherApp(t *testing.T) {
	t.Parallel()
	s := besieged(t)
	conn := s.nats.Connect()
	for _, n := range doors() {
		if n.Surface == ratelimit.NATS {
			for _, credential := range []string{s.keys["rival"], s.rival} {
				require.Equal(t, "403", s.request(conn, n, "clinic", credential, `{}`), "%s with %.12s", n.Operation, credential)
			}
		}
		if !overHTTP(n) || n.Open || n.Surface == ratelimit.Console || n.May.Anyone {
			continue
		}
		method, path := at(n, "clinic")
		for _, credential := range []string{s.keys["rival"], s.rival} {
			if !strings.Contains(n.Operation, ":appId") && n.Surface == ratelimit.SERMAS {
				continue // it is about the key's app
			}
			require.Equal(t, http.StatusForbidden, s.knock(method, path, credential, `{}`), "%s with %.12s", n.Operation, credential)
		}
	}
}

// knock sends a request and returns its status; redirects are not followed.
func (s *siege) knock(method, path, credential, body string) int {
	by := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: refuseRedirect}
	response, err := testbed.Client{URL: s.replicas[0].url, Key: credential, HTTP: by}.Open(s.t.Context(), method, path, body)
	require.NoError(s.t, err, path)
	_ = response.Body.Close()
	return response.StatusCode
}

// TestHalfABodyHoldsNoPlaceAtAnyDoor announces the longest body at every operation, from as many sockets as a
// replica has slots, and sends one byte of each. Another app is still served.
func TestHalfABodyHoldsNoPlaceAtAnyDoor(t *testing.T) {
	leaveOutWhenShort(t)
	t.Parallel()
	s := besieged(t)
	const sockets = 70
	for _, n := range doors() {
		if n.Body == 0 || !overHTTP(n) || n.Surface == ratelimit.Console && !n.Open {
			continue
		}
		t.Run(n.Operation, func(t *testing.T) {
			method, hostile := at(n, "rival")
			credential := s.rival
			if !n.May.FrontEnd {
				credential = s.keys["rival"]
			}
			if n.Open {
				credential = ""
			}
			for range sockets {
				s.half(t, method, hostile, credential, n.Body)
			}
			credential = s.keys["clinic"]
			if n.Open {
				credential = ""
			}
			_, polite := at(n, "clinic")
			for range 3 {
				require.NotEqual(t, http.StatusServiceUnavailable, s.knock(method, polite, credential, s.valid(n)), "the other app is kept out")
			}
		})
	}
}

// half opens a socket that announces a body and sends one byte of it.
func (s *siege) half(t *testing.T, method, path, credential string, announced int64) {
	conn := testbed.Got(net.Dial("tcp", strings.TrimPrefix(s.replicas[0].url, "http://")))(t)
	t.Cleanup(func() { _ = conn.Close() })
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", method, path, announced)
	if credential != "" {
		fmt.Fprintf(&head, "Authorization: Bearer %s\r\n", credential)
	}
	head.WriteString("\r\n{")
	testbed.Got(conn.Write(head.Bytes()))(t)
}

// TestNoDoorReadsMoreThanItsLongestBody announces more at every operation with a body.
func TestNoDoorReadsMoreThanItsLongestBody(t *testing.T) {
	t.Parallel()
	s := besieged(t)
	for _, n := range doors() {
		if n.Body == 0 || !overHTTP(n) || n.Surface == ratelimit.Console {
			continue
		}
		method, path := at(n, "clinic")
		conn := testbed.Got(net.Dial("tcp", strings.TrimPrefix(s.replicas[0].url, "http://")))(t)
		_ = conn.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{", method, path, s.keys["clinic"], n.Body+1)
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, n.Operation)
		require.Equal(t, http.StatusRequestEntityTooLarge, got.StatusCode, n.Operation)
		_ = conn.Close()
	}
}

// counted are valid requests for each operation that counts towards a limit. %d is a new number each time.
var counted = map[string]string{
	"POST /v1/apps/:appId/sessions/:sessionId/messages":                   `{"messageId":"w%d","actor":"user","text":"hi"}`,
	"POST /v1/apps/:appId/sessions/:sessionId/messages/:messageId/commit": ``,
	"POST /v1/apps/:appId/triggers":                                       `{"name":"book","source":"task","values":{}}`,
	"POST /v1/apps/:appId/sessions/:sessionId/triggers":                   `{"name":"book","source":"ui","values":{}}`,
	"POST /v1/apps/:appId/mcp":                                            mcpCall,
	"POST /v1/apps/:appId/mcp/:repositoryId":                              mcpCall,
	"POST /v1/apps/:appId/sessions/:sessionId/mcp":                        mcpCall,
	"POST /v1/apps/:appId/sessions/:sessionId/mcp/:repositoryId":          mcpCall,
	"POST /v1/apps/:appId/openai/v1/chat/completions":                     `{"model":"m","messages":[{"role":"user","content":"hi %d"}]}`,
	"POST /v1/apps/:appId/sessions/:sessionId/openai/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"hi %d"}]}`,
	"POST /v1/apps/:appId/openai/v1/responses":                            `{"model":"m","input":"hi %d"}`,
	"POST /v1/apps/:appId/sessions/:sessionId/openai/v1/responses":        `{"model":"m","input":"hi %d"}`,
	"GET /v1/apps/:appId/openai/v1/models":                                ``,
	"GET /v1/apps/:appId/sessions/:sessionId/openai/v1/models":            ``,
	"GET /v1/apps/:appId/openai/v1/models/:modelId":                       ``,
	"GET /v1/apps/:appId/sessions/:sessionId/openai/v1/models/:modelId":   ``,
	"POST /api/dialogue/speech/chat/:appId/:sessionId":                    `{"messageId":"w%d","actor":"user","text":"hi"}`,
	"earshot.v1.message.*.*":                                              `{"messageId":"w%d","actor":"user","text":"hi"}`,
	"earshot.v1.trigger.*":                                                `{"name":"book","source":"task","values":{}}`,
	"earshot.v1.trigger.*.*":                                              `{"name":"book","source":"ui","values":{}}`,
	"earshot.v1.commit.*.*.*":                                             ``,
}

const mcpCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"book","arguments":{}}}`

// valid is a body that an operation accepts.
func (s *siege) valid(n ratelimit.Needs) string {
	if body, is := counted[n.Operation]; is && body != "" {
		return strings.ReplaceAll(body, "%d", fmt.Sprint(time.Now().UnixNano()))
	}
	if n.Share == admission.Grant {
		return `{"appId":"clinic","clientId":"avatar","clientSecret":"a-secret-of-the-avatar"}`
	}
	return `{}`
}

// TestEveryDoorCountsToTheLimitsThatItNames has limits of one a minute, and asks at each door until it
// is told of them.
func TestEveryDoorCountsToTheLimitsThatItNames(t *testing.T) {
	t.Parallel()
	s := besieged(t)
	conn := s.nats.Connect()
	walked := 0
	for i, n := range doors() {
		if n.Counts == ratelimit.Nothing {
			continue
		}
		body, known := counted[n.Operation]
		require.True(t, known, "no request is known that counts at %s", n.Operation)
		app := fmt.Sprintf("app%d", i)
		s.put("/v1/apps/"+app, `{"settings":{"limits":{"messagesPerMinute":1,"triggersPerMinute":1},"openai":{"limits":{"requestsPerMinute":1}}}}`)
		s.put("/v1/apps/"+app+"/repositories/desk", `{"tools":[{"name":"book"}]}`)
		walked++
		require.Eventually(t, func() bool { return s.limited(conn, n, app, body) }, patience, time.Millisecond, n.Operation)
	}
	require.Equal(t, len(counted), walked)
}

var numbers = 0

// limited sends one request, and reports whether a limit was reached.
func (s *siege) limited(conn *nats.Conn, n ratelimit.Needs, app, body string) bool {
	numbers++
	body = strings.ReplaceAll(body, "%d", fmt.Sprint(numbers))
	if strings.Contains(n.Operation, "commit") {
		s.ask(s.replicas[0], "POST", "/v1/apps/"+app+"/sessions/s1/messages", fmt.Sprintf(`{"messageId":"m1","actor":"user","text":"hi %d","final":false}`, numbers))
		defer s.ask(s.replicas[0], "DELETE", "/v1/apps/"+app+"/sessions/s1", "")
	}
	if n.Surface == ratelimit.NATS {
		return s.request(conn, n, app, testAdminKey, body) == "429"
	}
	method, path := at(n, app)
	return s.knock(method, path, testAdminKey, body) == http.StatusTooManyRequests
}

// TestTheThreatModelListsEveryDoor compares deploy/SECURITY.md with the surfaces' lists. EARSHOT_UPDATE
// regenerates it.
func TestTheThreatModelListsEveryDoor(t *testing.T) {
	const file, begins, ends = "../../deploy/SECURITY.md", "<!-- doors -->\n", "<!-- end of doors -->\n"
	before, rest, found := strings.Cut(testbed.Read(t, file), begins)
	require.True(t, found)
	listed, after, found := strings.Cut(rest, ends)
	require.True(t, found)
	if os.Getenv("EARSHOT_UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(before+begins+ratelimit.Table(doors())+ends+after), 0o600))
		return
	}
	require.Equal(t, ratelimit.Table(doors()), listed, "EARSHOT_UPDATE=1 go test ./cmd/earshot -run TheThreatModelListsEveryDoor writes it anew")
}
