package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// printed takes what a command prints.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *printed) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// find waits until what was printed matches, and returns what the group of the pattern does.
func (o *printed) find(t *testing.T, pattern string) string {
	t.Helper()
	expression, found := regexp.MustCompile(pattern), ""
	require.Eventually(t, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		match := expression.FindStringSubmatch(o.text.String())
		if match != nil {
			found = match[1]
		}
		return match != nil
	}, 30*time.Second, 10*time.Millisecond)
	return found
}

// startDev runs "earshot dev" until the end of the test, and returns where the service
// and its NATS server are.
func startDev(t *testing.T, args ...string) (service, nats string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, ended := &printed{}, make(chan int, 1)
	nothing := func(string) (string, bool) { return "", false }
	go func() {
		ended <- run(ctx, append([]string{"dev", "--addr", "127.0.0.1:0"}, args...), environment{out: out, err: io.Discard, lookup: nothing})
	}()
	t.Cleanup(func() {
		stop()
		require.Zero(t, <-ended)
	})
	return out.find(t, `listens on (\S+)`), out.find(t, `events: (\S+),`)
}

// request makes a request with a JSON body and returns the answer's.
func request(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, "%s", answer)
	return string(answer)
}

func TestToolsWorkOnTheSourcesOfTheirApp(t *testing.T) {
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "clinic.db"))
	require.NoError(t, err)
	_, err = db.Exec("create table slots (day text, free integer); insert into slots values ('friday', 3)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"path": r.URL.Path, "key": r.Header.Get("X-Desk")})
	}))
	defer endpoint.Close()

	service, nats := startDev(t, "--sqlite-dir", dir)
	app := service + "/v1/apps/clinic"
	request(t, "PUT", app, `{"sources":[{"name":"file","type":"sqlite","database":"clinic.db","readOnly":true},
	  {"name":"outside","type":"sqlite","database":"/etc/passwd"},
	  {"name":"api","type":"http","baseUrl":"`+endpoint.URL+`/v1/","headers":{"X-Desk":"A","Authorization":"hunter2-header"}}]}`)
	require.NotContains(t, request(t, "GET", app, ""), "hunter2")
	request(t, "PUT", app+"/repositories/desk", `{"tools":[
	  {"name":"free-slots","description":"Which slots are free","type":"sqlite-sql","source":"file","examples":["what is free?"],"statement":"select * from slots"},
	  {"name":"passwords","description":"Never","type":"sqlite-sql","source":"outside","statement":"select 1"},
	  {"name":"weather","description":"The weather","type":"http","source":"api","method":"GET","path":"weather/{{.city}}",
	   "pathParams":[{"name":"city","type":"string","description":"d"}]}]}`)

	answer := request(t, "POST", app+"/sessions/s1/messages", `{"messageId":"m1","actor":"user","text":"what is free?"}`)
	require.Contains(t, answer, `"call":{"state":"delivered","attempts":1,"result":[{"day":"friday","free":3}]}`)
	match := request(t, "POST", app+"/sessions/s1/triggers", `{"name":"weather","source":"ui","values":{"city":"Aix en Provence"}}`)
	require.Contains(t, match, `"result":{"key":"A","path":"/v1/weather/Aix en Provence"}`)
	match = request(t, "POST", app+"/sessions/s1/triggers", `{"name":"passwords","source":"ui"}`)
	require.Contains(t, match, `"reason":"blocked"`)
	require.Contains(t, resultOf(t, nats, "tool.result.clinic.s1.free-slots"), `"result":[{"day":"friday","free":3}]`)
}

// resultOf waits for the event of a subject and returns its payload.
func resultOf(t *testing.T, url, subject string) string {
	t.Helper()
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	consumer, err := js.OrderedConsumer(ctx, "EARSHOT", jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	require.NoError(t, err)
	message, err := consumer.Next(jetstream.FetchMaxWait(20 * time.Second))
	require.NoError(t, err)
	return string(message.Data())
}

func TestDatabasesAreUnderThePolicyOfCalls(t *testing.T) {
	service, _ := startDev(t, "--private-urls", "deny")
	app := service + "/v1/apps/clinic"
	request(t, "PUT", app, `{"sources":[{"name":"pg","type":"postgres","host":"127.0.0.1","port":1,"database":"d","user":"u","password":"hunter2-pg"}]}`)
	request(t, "PUT", app+"/repositories/desk", `{"tools":[{"name":"t","type":"postgres-sql","source":"pg","statement":"select 1"}]}`)
	match := request(t, "POST", app+"/triggers", `{"name":"t","source":"task"}`)
	require.Contains(t, match, `"reason":"blocked"`)
	require.Contains(t, match, "EARSHOT_PRIVATE_URLS=127.0.0.1/32")
	require.NotContains(t, match, "hunter2")
}
