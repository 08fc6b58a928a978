package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// report is what a restart came to.
type report struct {
	requests int
	retried  []string // what the first attempt of a request came to
	failed   []string // requests that failed twice
	triggers int
	streams  int      // event streams that were followed
	wrong    []string // tools and events that were lost, or came twice
}

// end lets the clients end what they are at, waits until nothing is owed, and counts.
func (l *load) end(ctx context.Context) *report {
	l.pause(ctx)
	events, err := l.published(ctx)
	if err != nil {
		l.wrong = append(l.wrong, err.Error())
	}
	calls := map[string]int{}
	for _, call := range l.stage.Sink.Calls() {
		calls[call.ID]++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for session, ids := range l.sessions {
		l.triggers += len(ids)
		l.streams++
		if !slices.Equal(ids, l.followed[session]) {
			l.wrong = append(l.wrong, fmt.Sprintf("session %s set off %d tools, and its followers got %d events", session, len(ids), len(l.followed[session]))+difference(ids, l.followed[session]))
		}
		for _, id := range ids {
			if calls[id] != 1 || events[id] != 1 {
				l.wrong = append(l.wrong, fmt.Sprintf("%s was called %d times and published %d times", id, calls[id], events[id]))
			}
			delete(calls, id)
			delete(events, id)
		}
	}
	if l.failed == nil && len(calls)+len(events) > 0 {
		l.wrong = append(l.wrong, fmt.Sprintf("%d calls and %d events are of triggers that no answer names", len(calls), len(events)))
	}
	return &l.report
}

// difference names the first ids in which two lists differ.
func difference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			return fmt.Sprintf("; the first that differs is the %dth: %s and %s", i+1, want[i:min(i+3, len(want))], got[min(i, len(got)):min(i+3, len(got))])
		}
	}
	return ""
}

// pause ends the clients when all that they set off has been called, published and followed, or
// patience has ended. They talk no more meanwhile.
func (l *load) pause(ctx context.Context) {
	l.quiet.Store(true)
	for end := time.Now().Add(patience); time.Now().Before(end) && !l.done(); {
		wait(ctx, checkEvery)
	}
	l.stop()
	l.running.Wait()
}

func (l *load) done() bool {
	calls := len(l.stage.Sink.Calls())
	l.mu.Lock()
	defer l.mu.Unlock()
	fired, heard := 0, 0
	for session, ids := range l.sessions {
		fired, heard = fired+len(ids), heard+len(l.followed[session])
	}
	return l.talking == 0 && calls >= fired && heard >= fired
}

// published counts the events of triggers in the stream, by trigger.
func (l *load) published(ctx context.Context) (map[string]int, error) {
	conn, err := nats.Connect(l.stage.NATS.URL())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	consumer, err := js.OrderedConsumer(ctx, "EARSHOT", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"tool.trigger.>"}})
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for left := consumer.CachedInfo().NumPending; left > 0; left-- {
		message, err := consumer.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			return nil, fmt.Errorf("read the stream: %w", err)
		}
		id, _, _ := strings.Cut(message.Headers().Get("ce-id"), ".")
		counts[id]++
	}
	return counts, nil
}

// fault is an error where anything went wrong.
func (r *report) fault() error {
	switch {
	case len(r.failed)+len(r.wrong) > 0:
		return errors.New("the restart was noticed: " + strings.Join(append(r.failed, r.wrong...)[:min(5, len(r.failed)+len(r.wrong))], "\n"))
	case r.triggers == 0:
		return errors.New("no tool was set off")
	default:
		return nil
	}
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%d requests, %d sent twice, %d failed\n", r.requests, len(r.retried), len(r.failed))
	for _, first := range r.retried[:min(5, len(r.retried))] {
		fmt.Fprintf(out, "  sent twice after: %s\n", strings.TrimSpace(first))
	}
	fmt.Fprintf(out, "%d tools set off, each called and published once but for %d; %d event streams followed\n", r.triggers, len(r.wrong), r.streams)
}
