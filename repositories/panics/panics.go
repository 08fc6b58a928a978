// Package panics confines a panic to the entry that caused it: a message, an effect, an event or a
// request that a program trips over must not end the process, and with it the work on all others.
package panics

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"earshot/repositories/failpoint"
)

// caught counts panics over the whole process, by what was worked on.
var caught = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "earshot_panics_total",
	Help: "Panics that were caught, by the work in progress, such as turns, calls, webhooks or http. The process continues; the log has the stack in panic.caught.",
}, []string{"in"})

// places are all kinds of work. Each has a counter before anything is counted: Prometheus sees no
// increase in one that begins with 1.
var places = []string{
	"look", "turns", "calls", "outboxes", "held", "settlements", "expiry", "sweep", "refresh",
	"events", "answers", "nats", "mqtt", "http",
}

func init() {
	for _, in := range places {
		caught.WithLabelValues(in)
	}
}

// Metrics is the counter of caught panics, to be registered.
func Metrics() prometheus.Collector { return caught }

// Run does something to one entry, and reports whether that came to its end. A panic is counted and
// logged with the entry and the stack; its value is left out unless it is the runtime's own, since
// it may hold what a user said.
func Run(log *slog.Logger, in, entry string, do func()) (ended bool) {
	defer func() {
		if fault := recover(); fault != nil {
			Caught(log, in, entry, fault)
		}
	}()
	failpoint.Panic(in)
	do()
	return true
}

// Count counts a panic that its caller logs.
func Count(in string) { caught.WithLabelValues(in).Inc() }

// Caught counts and logs a panic that was recovered from.
func Caught(log *slog.Logger, in, entry string, fault any) {
	caught.WithLabelValues(in).Inc()
	log.LogAttrs(context.Background(), slog.LevelError, "panic.caught",
		slog.String("in", in), slog.String("entry", entry), slog.String("panic", Text(fault)), slog.String("stack", string(debug.Stack())))
}

// Text shows a panic: in the runtime's own words, any other value by its type alone.
func Text(fault any) string {
	if err, is := fault.(runtime.Error); is {
		return err.Error()
	}
	return fmt.Sprintf("%T", fault)
}
