package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

const (
	// writeTime is how long a client may take for one event. One that takes nothing
	// for so long is gone, or too slow.
	writeTime = 10 * time.Second
	// retryAfter is when a browser whose stream broke off connects again, in ms.
	retryAfter = 2000
)

// eventWriter writes a stream of server-sent events.
type eventWriter struct {
	out  http.ResponseWriter
	with *http.ResponseController
	text bytes.Buffer
}

func newEventWriter(out http.ResponseWriter) *eventWriter {
	return &eventWriter{out: out, with: http.NewResponseController(out)}
}

// begin sends the header and, before any event, the id that the client is to resume
// from: else what comes while it is gone would be lost to one that has seen nothing.
func (w *eventWriter) begin(after uint64) error {
	w.out.Header().Set("Content-Type", "text/event-stream")
	w.out.Header().Set("X-Accel-Buffering", "no") // nginx would collect events
	w.out.WriteHeader(http.StatusOK)
	fmt.Fprintf(&w.text, "retry: %d\nid: %d\n\n", retryAfter, after)
	return w.flush()
}

// event sends one event: its sequence, the first two words of its subject, its payload.
func (w *eventWriter) event(event effect.Published) error {
	fmt.Fprintf(&w.text, "id: %d\nevent: %s\n", event.Sequence, firstWords(event.Subject))
	// A payload of ours is one line. What others may publish is not to end the event. It
	// is written as it is: many streams hold the same one, and a copy for each of those
	// that do not read would be a copy for as long as they are open.
	for rest, more := event.Data, true; more; {
		end := bytes.IndexAny(rest, "\r\n")
		line := rest
		if more = end >= 0; more {
			line, rest = rest[:end], bytes.TrimPrefix(rest[end:], []byte("\r"))
			rest = bytes.TrimPrefix(rest, []byte("\n"))
		}
		w.text.WriteString("data: ")
		if err := w.write(line); err != nil {
			return err
		}
		w.text.WriteByte('\n')
	}
	w.text.WriteByte('\n')
	return w.flush()
}

// notice sends what the service itself has to say. It has no id, so that the client goes on
// behind the last event of the stream.
func (w *eventWriter) notice(name string, data tokenEnd) error {
	text, err := exactjson.Encode(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.text, "event: %s\ndata: %s\n\n", name, text)
	return w.flush()
}

// beat sends a comment, which keeps the connection from being taken for dead.
func (w *eventWriter) beat() error {
	w.text.WriteString(": alive\n\n")
	return w.flush()
}

// write sends what is collected and then a text that is not copied for it.
func (w *eventWriter) write(text []byte) error {
	defer w.text.Reset()
	_ = w.with.SetWriteDeadline(time.Now().Add(writeTime)) // a recorder has none
	if _, err := w.out.Write(w.text.Bytes()); err != nil {
		return err
	}
	_, err := w.out.Write(text)
	return err
}

func (w *eventWriter) flush() error {
	if err := w.write(nil); err != nil {
		return err
	}
	return w.with.Flush()
}

func firstWords(subject string) string {
	words := strings.SplitN(subject, ".", 3)
	return strings.Join(words[:min(2, len(words))], ".")
}
