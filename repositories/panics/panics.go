// Package panics confines a panic to the entry that caused it: a message, an effect, an event or a request. One
// faulty entry must not end the process and all other work.
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

// caught counts panics of the process, by the kind of work.
var caught = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "earshot_panics_total",
	Help: "Panics that were caught, by the work in progress, such as turns, calls, webhooks or http. The process continues; the log has the stack in panic.caught.",
}, []string{"in"})

// places are all kinds of work. Each counter exists from the start, because Prometheus sees no increase in one that
// begins with 1.
var places = []string{
	"look", "turns", "calls", "outboxes", "held", "settlements", "expiry", "sweep", "refresh",
	"events", "answers", "nats", "mqtt", "http",
}

func init() {
	for _, in := range places {
		caught.WithLabelValues(in)
	}
}

// Metrics returns the counter of caught panics, to be registered.
func Metrics() prometheus.Collector { return caught }

// Run processes one entry, and reports whether it finished. A panic is counted and logged with the entry and the
// stack. Only the runtime's own panic values are logged, because others may contain a user's words.
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

// Caught counts and logs a recovered panic.
func Caught(log *slog.Logger, in, entry string, fault any) {
	Count(in)
	log.LogAttrs(context.Background(), slog.LevelError, "panic.caught",
		slog.String("in", in), slog.String("entry", entry), slog.String("panic", Text(fault)), slog.String("stack", string(debug.Stack())))
}

// Text describes a panic: the runtime's own by its text, any other value by its type.
func Text(fault any) string {
	if err, ok := fault.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", fault)
}
