package refresh_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/trigger/refresh"
)

// listened is a rig with a replica that listens.
type listened struct {
	*rig
	listens chan func()   // changed, of each time that it begins to listen
	ended   chan struct{} // one of each time that it was ended from here
	minutes chan struct{} // each lets a look pass whether the source is still there
	mu      sync.Mutex
	pauses  []time.Duration // before it listens again
	stop    func()          // and waits for the end
}

// listening starts a replica; hear is what becomes of a stream.
func listening(t *testing.T, hear func(ctx context.Context) (bool, error)) *listened {
	l := &listened{rig: newRig(t, redistest.Mini(t)), listens: make(chan func(), 100), ended: make(chan struct{}, 100), minutes: make(chan struct{})}
	l.put("", "r", `{"from":"crm"}`)
	l.offers(func() ([]string, error) { return []string{"find"}, nil })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		refresh.New(refresh.Options{
			Store: l.store, Offer: l.offer, Logger: slog.New(slog.NewJSONHandler(l.log, nil)), Pause: l.pause,
			Listen: func(ctx context.Context, _ *repositories.App, source string, changed func()) (bool, error) {
				l.listens <- changed
				defer func() { l.ended <- struct{}{} }()
				return hear(ctx)
			},
		}).Run(ctx)
	})
	l.stop = func() { cancel(); running.Wait() }
	t.Cleanup(l.stop)
	return l
}

func (l *listened) pause(ctx context.Context, d time.Duration) error {
	switch d {
	case time.Minute:
		select {
		case <-l.minutes:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case time.Second, 5 * time.Second: // a tick, and after a piece of news
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pauses = append(l.pauses, d)
	}
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func untilItEnds(ctx context.Context) (bool, error) {
	<-ctx.Done()
	return true, nil
}

func TestWhatAServerSaysIsLookedAtAtOnce(t *testing.T) {
	t.Parallel()
	l := listening(t, untilItEnds)
	changed := <-l.listens
	for _, names := range [][]string{{"add", "find"}, {"find", "update"}} {
		l.offers(func() ([]string, error) { return names, nil })
		changed()
		require.Eventually(t, func() bool { found := l.tools("", "r"); return len(found) == 2 && found[0] == names[0] }, time.Minute, time.Millisecond)
	}
	require.Empty(t, l.listens, "it listens once")
	l.stop()
	require.Len(t, l.ended, 1, "a service that ends waits for its listeners")
}

func TestAnAppLeavesListenersForOthers(t *testing.T) {
	t.Parallel()
	l := listening(t, untilItEnds)
	<-l.listens
	var sources []string
	for i := range 70 {
		sources = append(sources, fmt.Sprintf(`{"name":"s%d","type":"mcp","url":"https://crm.example/mcp"}`, i))
	}
	l.app(`{"sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp","refresh":"1m"},` + strings.Join(sources, ",") + `]}`)
	for i := range sources {
		l.put("", fmt.Sprint("r", i), fmt.Sprintf(`{"from":"s%d"}`, i))
	}
	for range 63 {
		<-l.listens
	}
	rival := testbed.Got(repositories.DecodeApp("rival", []byte(`{"sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp"}]}`)))(t)
	_, err := l.store.PutApp(t.Context(), rival)
	require.NoError(t, err)
	_, err = l.store.PutRepository(t.Context(), testbed.Got(repositories.DecodeRepository(repositories.Scope{AppID: "rival"}, "r", []byte(`{"from":"crm"}`)))(t))
	require.NoError(t, err)
	<-l.listens
	l.stop()
	require.Empty(t, l.listens, "the other app has one, and the first a quarter of all")
}

func TestAStreamThatEndsIsBegunAgainWithPauses(t *testing.T) {
	t.Parallel()
	l := listening(t, func(context.Context) (bool, error) { return true, nil })
	for range 30 {
		<-l.listens
	}
	l.stop()
	require.Less(t, l.pauses[0], 2*time.Second)
	require.Greater(t, l.pauses[20], 2*time.Minute)
}

func TestNobodyListensForNothing(t *testing.T) {
	t.Parallel()
	l := listening(t, func(context.Context) (bool, error) { return false, nil })
	<-l.listens
	<-l.ended
	for range 3 {
		l.minutes <- struct{}{}
	}
	require.Empty(t, l.listens, "it is not asked again")

	for name, change := range map[string]func(l *listened){
		"another server": func(l *listened) {
			l.app(`{"sources":[{"name":"crm","type":"mcp","url":"https://other.example/mcp","refresh":"1m"}]}`)
		},
		"nothing is from it": func(l *listened) {
			require.NoError(t, l.store.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic"}, "r"))
		},
		"no app": func(l *listened) { require.NoError(t, l.store.DeleteApp(t.Context(), "clinic")) },
	} {
		l := listening(t, untilItEnds)
		<-l.listens
		l.minutes <- struct{}{}
		l.minutes <- struct{}{} // it is as it was
		change(l)
		for over := false; !over; {
			select {
			case l.minutes <- struct{}{}:
			case <-l.ended:
				over = true
			case <-time.After(time.Minute):
				t.Fatal("it goes on to listen", name)
			}
		}
		l.stop()
	}
}
