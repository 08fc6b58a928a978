package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/ratelimit"
	"earshot/matcher"
	"earshot/trigger"
)

// gated is an engine whose messages wait at a gate, but for those of the app that is
// let through.
type gated struct {
	engineDouble
	open  chan struct{}
	began chan trigger.Message
	frees string
}

func (g *gated) Post(ctx context.Context, message trigger.Message) (json.RawMessage, error) {
	g.began <- message
	if message.AppID == g.frees {
		return json.RawMessage(noMatch), nil
	}
	select {
	case <-g.open:
		return json.RawMessage(noMatch), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// posts sends a body with a credential.
func (s *service) posts(path, body, credential string) answer {
	request, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+credential)
	return s.send(request)
}

func TestAFloodOfOneAppLeavesRoomForOthers(t *testing.T) {
	const turns, waiting, flood = 8, 10, 40
	g := &gated{open: make(chan struct{}), began: make(chan trigger.Message, 100), frees: "neighbour"}
	s := start(t, func(o *api.Options) {
		o.Metrics = prometheus.NewRegistry()
		o.Engine, o.Walls = g, ratelimit.New(admission.Bounds{Turns: turns, Waiting: waiting}, o.Metrics, nil)
	})
	answers := make(chan answer, flood)
	for range flood {
		go func() { answers <- s.posts(messagesPath, hello, adminKey) }()
	}
	for range turns / 2 { // half is what one app may have
		require.Equal(t, "clinic", (<-g.began).AppID)
	}
	for range flood - turns/2 - waiting/2 {
		got := <-answers
		got.problem(503, "nothing of this one was done")
		require.Equal(t, "1", got.Header.Get("Retry-After"))
	}
	for range 10 { // while all that the app may have is taken
		s.call("POST", "/v1/apps/neighbour/sessions/s1/messages", hello).is(200, "")
		require.Equal(t, "neighbour", (<-g.began).AppID)
	}
	s.call("GET", "/healthz", "").is(200, "")
	s.call("DELETE", "/v1/apps/clinic/keys/k1", "").is(204, "") // the key of a flood can be revoked
	require.Contains(t, string(s.call("GET", "/metrics", "").body), `earshot_http_refused_total{kind="turn"} 31`)
	require.Empty(t, g.began, "what was refused, and what waits, has not reached the ledger")
	close(g.open)
	for range turns/2 + waiting/2 {
		(<-answers).is(200, "")
	}
	require.Len(t, g.began, waiting/2)
}

func TestOneTokenCannotKeepItsAppOut(t *testing.T) {
	g := &gated{open: make(chan struct{}), began: make(chan trigger.Message, 100)}
	w := live(t, everything, func(o *api.Options) { o.Engine = g })
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	token := w.call("POST", "/v1/apps/clinic/sessions/s1/token", "").made().Token
	var sent sync.WaitGroup
	for range 40 {
		sent.Go(func() { w.posts(messagesPath, hello, token) })
	}
	for range 16 {
		require.Equal(t, "s1", (<-g.began).SessionID)
	}
	sent.Go(func() { w.posts("/v1/apps/clinic/sessions/s2/messages", hello, adminKey) })
	require.Equal(t, "s2", (<-g.began).SessionID, "16 of one token are under work, and others are served before its next")
	close(g.open)
	sent.Wait()
}

func TestAFloodIsNotStoredAndNeighboursAreServed(t *testing.T) {
	open, began := make(chan struct{}), make(chan struct{}, 100)
	w := live(t, func(request matcher.Request) (matcher.Result, error) {
		if request.Text == "flood" {
			began <- struct{}{}
			<-open
		}
		return everything(request)
	}, func(o *api.Options) {
		o.Walls = ratelimit.New(admission.Bounds{Turns: 4, Waiting: 1}, prometheus.NewRegistry(), nil)
	})
	for _, app := range []string{"clinic", "neighbour"} {
		w.call("PUT", "/v1/apps/"+app, `{}`).is(201, "")
		w.call("PUT", "/v1/apps/"+app+"/repositories/r", `{"tools":[{"name":"ring"}]}`).is(201, "")
	}
	var sent sync.WaitGroup
	for range 2 {
		sent.Go(func() { w.posts(messagesPath, `{"actor":"user","text":"flood"}`, adminKey).is(200, "") })
	}
	<-began
	<-began
	refused := make(chan int, 10)
	for range 5 {
		sent.Go(func() {
			refused <- w.call("POST", messagesPath, `{"messageId":"over","actor":"user","text":"hello"}`).StatusCode
		})
	}
	for range 4 { // one waits, as long as there is room for one
		require.Equal(t, 503, <-refused)
	}
	w.call("POST", "/v1/apps/neighbour/triggers", `{"name":"ring","source":"task"}`).is(201, "")
	w.call("POST", "/v1/apps/neighbour/sessions/s1/messages", `{"actor":"user","text":"hello"}`).is(200, "")
	history := string(w.call("GET", messagesPath, "").is(200, "").body)
	require.NotContains(t, history, `"over"`, "neither what was refused nor what waits is stored")
	close(open)
	sent.Wait()
	require.Equal(t, 200, <-refused)
}
