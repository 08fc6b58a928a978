package admission_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/ratelimit"
	"earshot/deploy/testbed/apitest"
	"earshot/matcher"
	"earshot/trigger"
)

// gated is an engine whose messages wait at a gate, except for those of one app.
type gated struct {
	api.Engine
	open  chan struct{}
	began chan trigger.Message
	frees string
}

func (g *gated) Post(ctx context.Context, message trigger.Message) (json.RawMessage, error) {
	g.began <- message
	if message.AppID == g.frees {
		return json.RawMessage(apitest.NoMatch), nil
	}
	select {
	case <-g.open:
		return json.RawMessage(apitest.NoMatch), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAFloodOfOneAppLeavesRoomForOthers(t *testing.T) {
	const turns, waiting, flood = 8, 10, 40
	g := &gated{open: make(chan struct{}), began: make(chan trigger.Message, 100), frees: "neighbour"}
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) {
		o.Metrics = prometheus.NewRegistry()
		g.Engine, o.Engine, o.Walls = o.Engine, g, ratelimit.New(admission.Bounds{Turns: turns, Waiting: waiting}, o.Metrics, time.Now)
	})
	for _, app := range []string{"clinic", "neighbour"} {
		s.Call("PUT", "/v1/apps/"+app, `{}`).Is(201, "")
	}
	key := s.Call("POST", "/v1/apps/clinic/keys", `{"scopes":["app"]}`).Made()
	answers := make(chan apitest.Answer, flood)
	for range flood {
		go func() { answers <- s.Post(apitest.MessagesPath, apitest.HelloBody, apitest.AdminKey) }()
	}
	for range turns / 2 { // an app's share is half
		require.Equal(t, "clinic", (<-g.began).AppID)
	}
	for range flood - turns/2 - waiting/2 {
		got := <-answers
		got.Problem(503, "this one was not started")
		require.Equal(t, "1", got.Header.Get("Retry-After"))
	}
	for range 10 { // while the app's share is used up
		s.Call("POST", "/v1/apps/neighbour/sessions/s1/messages", apitest.HelloBody).Is(200, "")
		require.Equal(t, "neighbour", (<-g.began).AppID)
	}
	s.Call("GET", "/healthz", "").Is(200, "")
	s.Call("DELETE", "/v1/apps/clinic/keys/"+key.KeyID, "").Is(204, "") // a flood's key can be revoked
	require.Contains(t, string(s.Call("GET", "/metrics", "").Body), `earshot_http_refused_total{kind="turn"} 31`)
	require.Empty(t, g.began, "what was refused, and what waits, has not reached the ledger")
	close(g.open)
	for range turns/2 + waiting/2 {
		(<-answers).Is(200, "")
	}
	require.Len(t, g.began, waiting/2)
}

func TestOneTokenCannotKeepItsAppOut(t *testing.T) {
	g := &gated{open: make(chan struct{}), began: make(chan trigger.Message, 100)}
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { g.Engine, o.Engine = o.Engine, g })
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	token := w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	var sent sync.WaitGroup
	refused := make(chan apitest.Answer, 90)
	for range 90 {
		sent.Go(func() {
			if got := w.Post(apitest.MessagesPath, apitest.HelloBody, token); got.StatusCode != 200 {
				refused <- got
			}
		})
	}
	for range 16 {
		require.Equal(t, "s1", (<-g.began).SessionID)
	}
	for range 90 - 16 - 64 {
		(<-refused).Problem(503, "with tokens of this session")
	}
	sent.Go(func() { w.Post("/v1/apps/clinic/sessions/s2/messages", apitest.HelloBody, apitest.AdminKey) })
	require.Equal(t, "s2", (<-g.began).SessionID, "16 of one token are under work, and others are served before its next")
	close(g.open)
	sent.Wait()
}

func TestAFloodIsNotStoredAndNeighboursAreServed(t *testing.T) {
	open, began := make(chan struct{}), make(chan struct{}, 100)
	w := apitest.Live(t, func(request matcher.Request) (matcher.Result, error) {
		if request.Text == "flood" {
			began <- struct{}{}
			<-open
		}
		return apitest.Everything(request)
	}, func(o *api.Options) {
		o.Walls = ratelimit.New(admission.Bounds{Turns: 4, Waiting: 1}, prometheus.NewRegistry(), time.Now)
	})
	for _, app := range []string{"clinic", "neighbour"} {
		w.Call("PUT", "/v1/apps/"+app, `{}`).Is(201, "")
		w.Call("PUT", "/v1/apps/"+app+"/repositories/r", `{"tools":[{"name":"ring"}]}`).Is(201, "")
	}
	var sent sync.WaitGroup
	for range 2 {
		sent.Go(func() { w.Post(apitest.MessagesPath, `{"actor":"user","text":"flood"}`, apitest.AdminKey).Is(200, "") })
	}
	<-began
	<-began
	refused := make(chan int, 10)
	for range 5 {
		sent.Go(func() {
			refused <- w.Call("POST", apitest.MessagesPath, `{"messageId":"over","actor":"user","text":"hello"}`).StatusCode
		})
	}
	for range 4 { // one waits, as there is room for one
		require.Equal(t, 503, <-refused)
	}
	w.Call("POST", "/v1/apps/neighbour/triggers", `{"name":"ring","source":"task"}`).Is(201, "")
	w.Call("POST", "/v1/apps/neighbour/sessions/s1/messages", `{"actor":"user","text":"hello"}`).Is(200, "")
	history := string(w.Call("GET", apitest.MessagesPath, "").Is(200, "").Body)
	require.NotContains(t, history, `"over"`, "neither what was refused nor what waits is stored")
	close(open)
	sent.Wait()
	require.Equal(t, 200, <-refused)
}
