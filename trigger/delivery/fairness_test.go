package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// slowEndpoints are endpoints that accept a call and answer only after release.
type slowEndpoints struct {
	mu        sync.Mutex
	heldCalls map[string]int // calls that are held
	tried     map[string]bool
	release   chan struct{}
}

func newSlow() *slowEndpoints {
	return &slowEndpoints{heldCalls: map[string]int{}, tried: map[string]bool{}, release: make(chan struct{})}
}

// deliver refuses the first attempt at a call, and blocks the second one for apps with slow endpoints.
func (s *slowEndpoints) deliver(fast string) func(effect.Effect) effect.Outcome {
	return func(delivery effect.Effect) effect.Outcome {
		s.mu.Lock()
		again := s.tried[delivery.ID]
		s.tried[delivery.ID] = true
		s.mu.Unlock()
		if !again {
			return down(delivery)
		}
		if delivery.AppID != fast {
			s.hold(delivery.AppID)
		}
		return effect.Outcome{Verdict: effect.Done, Status: 200}
	}
}

func (s *slowEndpoints) hold(app string) {
	s.mu.Lock()
	s.heldCalls[app]++
	s.mu.Unlock()
	<-s.release
}

func (s *slowEndpoints) held(app string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heldCalls[app]
}

// call fires n tools of an app, whose calls the ledger retries.
func (w *world) call(app string, n int) {
	for i := range n {
		_, err := w.Engine.Fire(w.T.Context(), trigger.Direct{AppID: app, Name: fmt.Sprintf("call-%d", i), Source: "ui"})
		require.NoError(w.T, err)
	}
}

// appWithCalls makes an app with n tools, each with a host of its own.
func (w *world) appWithCalls(app string, n int) {
	w.App(app, "{}")
	body := ""
	for i := range n {
		body += fmt.Sprintf(`,{"name":"call-%d","url":"http://host-%d.example"}`, i, i)
	}
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: app}, "r", []byte(`{"tools":[`+body[1:]+`]}`))
	require.NoError(w.T, err)
	_, err = w.Store.PutRepository(w.T.Context(), repository)
	require.NoError(w.T, err)
}

func (w *world) delivered(app string) bool {
	records, _, err := w.Engine.Triggers(context.Background(), query.Triggers{AppID: app, State: query.StateDelivered, Page: query.Page{Limit: 1}})
	return err == nil && len(records) == 1
}

// TestSlowHostsOfAnAppHoldUpNoOther has nine hosts of one app block all requests. The effects of another app,
// and the app's own events and messages, continue meanwhile.
func TestSlowHostsOfAnAppHoldUpNoOther(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 8)
		slow := newSlow()
		w.Calls.Answer(slow.deliver("quick"))
		_, replica := w.Replica()
		w.Run(replica)
		w.appWithCalls("clinic", 9)
		w.appWithCalls("quick", 1)
		w.Rest()
		w.call("clinic", 9)
		w.Until("as many are held as one app may have", func() bool { return slow.held("clinic") == 2 })

		w.call("quick", 1)
		w.Until("the other app's call is delivered", func() bool { return w.delivered("quick") })
		w.enqueue("clinic", "s1", 3)
		w.Until("the slow app's events are published", func() bool { return len(w.order("s1")) == 3 })
		w.recover("m1")
		require.Equal(t, 2, slow.held("clinic"), "its calls are still held")
		close(slow.release)
		w.Rest()
	})
}

// recover posts a message that its replica cannot decide, and waits until another has.
func (w *world) recover(id string) {
	var asked atomic.Bool
	w.Matcher.Intercept(func(context.Context, matcher.Request) error {
		if !asked.Swap(true) {
			return &matcher.Unavailable{Reason: "away"}
		}
		return nil
	})
	_, err := w.Engine.PostAsync(w.T.Context(), trigger.Message{AppID: "clinic", SessionID: "s9", ID: id, Actor: "user", Text: "hello"})
	require.NoError(w.T, err)
	w.Until("the message is decided", func() bool {
		entries, _, err := w.Engine.History(context.Background(), query.History{AppID: "clinic", SessionID: "s9", Page: query.Page{Limit: 1}})
		return err == nil && len(entries) == 1 && entries[0].State == query.EntryDecided
	})
}

// TestManySlowAppsLeaveRoomForAnother has as many apps block calls as there are shares.
func TestManySlowAppsLeaveRoomForAnother(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 8)
		slow := newSlow()
		w.Calls.Answer(slow.deliver("quick"))
		_, replica := w.Replica()
		w.Run(replica)
		apps := []string{"clinic", "b", "c", "d"}
		for _, app := range apps {
			w.appWithCalls(app, 4)
			w.call(app, 4)
		}
		w.appWithCalls("quick", 1)
		w.Until("all apps hold what they can", func() bool {
			held := 0
			for _, app := range apps {
				held += slow.held(app)
			}
			return held == 7
		})
		w.call("quick", 1)
		w.Until("the late one's call is delivered", func() bool { return w.delivered("quick") })
		close(slow.release)
	})
}

// TestBacklogOfAnAppHidesNoNeighbour has hundreds of sessions of an app wait for NATS: the next look starts
// later work of another app in the same partition, and reads no more than without the backlog.
func TestBacklogOfAnAppHidesNoNeighbour(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 8)
		slow, neighbour := newSlow(), w.neighbours(1)[0]
		w.Events.Answer(func(delivery effect.Effect) effect.Outcome {
			if delivery.AppID == "clinic" {
				slow.hold("clinic")
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		w.enqueueEach("clinic", many(server, 500, 1_000))
		var widest atomic.Int64 // the most that Redis answered to one pipeline, in members of sorted sets
		_, replica := w.Replica(enginetest.Hook{Pipeline: func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
			err, members := next(ctx, cmds), 0
			for _, cmd := range cmds {
				if list, is := cmd.(*redis.ZSliceCmd); is {
					members += len(list.Val())
				}
			}
			widest.Store(max(widest.Load(), int64(members)))
			return err
		}})
		w.Run(replica)
		w.Until("as many are held as one app may have", func() bool { return slow.held("clinic") == 2 })
		w.enqueue(neighbour, "s", 1)
		w.Until("the neighbour's is published", func() bool { return len(w.order("s")) == 1 })
		require.Equal(t, 2, slow.held("clinic"))
		require.Less(t, widest.Load(), int64(20))
		close(slow.release)
		w.Rest()
	})
}
