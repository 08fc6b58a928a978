package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// load is clients that post one message after the other until they are told to stop.
// A client that is told 503 sends the same message again, as it is asked to.
type load struct {
	t       *testing.T
	world   *world
	stop    chan struct{}
	clients sync.WaitGroup

	answered atomic.Int64
	refused  atomic.Int64
	mu       sync.Mutex
	answers  map[string]posted // by message
	wrong    []string          // answers that no client may get
}

// pressed starts clients that book in sessions of their own, on all replicas by turns.
func pressed(w *world, clients int) *load {
	l := &load{t: w.t, world: w, stop: make(chan struct{}), answers: map[string]posted{}}
	for c := range clients {
		l.clients.Go(func() {
			for n := 0; !l.over(); n++ {
				l.post(fmt.Sprint("s", c), fmt.Sprintf("m%d-%d", c, n), fmt.Sprintf(`call book {"day":"%d"}`, n))
			}
		})
	}
	w.t.Cleanup(l.end)
	return l
}

func (l *load) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// post sends a message until it is decided, each time to the next replica.
func (l *load) post(session, id, text string) {
	for try := 0; ; try++ {
		got := l.world.ask(l.world.replicas[try%len(l.world.replicas)], "POST", messages(session), message(id, text))
		switch {
		case got.Err == nil && got.Status == http.StatusOK:
			l.note(id, read[posted](l.t, got))
			return
		case got.Err == nil && got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "":
			l.refused.Add(1)
		default:
			l.mu.Lock()
			l.wrong = append(l.wrong, fmt.Sprint(id, " ", got.Status, " ", got.Body, got.Err))
			l.mu.Unlock()
			return
		}
	}
}

func (l *load) note(id string, answer posted) {
	l.mu.Lock()
	l.answers[id] = answer
	l.mu.Unlock()
	l.answered.Add(1)
}

// more waits until n more messages are decided.
func (l *load) more(n int64) {
	l.t.Helper()
	enough := l.answered.Load() + n
	l.world.until(fmt.Sprint(n, " more messages are decided"), func() bool { return l.answered.Load() >= enough })
}

// end stops the clients when their messages are decided, and checks what they were told.
func (l *load) end() {
	if l.over() {
		return
	}
	close(l.stop)
	l.clients.Wait()
	require.Empty(l.t, l.wrong)
}
