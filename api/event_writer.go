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
	writeTime  = 10 * time.Second // how long a client may take for one event
	retryAfter = 2000             // when a browser whose stream broke off connects again, in ms
)

// eventWriter writes a stream of server-sent events.
type eventWriter struct {
	out  http.ResponseWriter
	with *http.ResponseController
	text bytes.Buffer
}

// begin sends the header and, before any event, the id to resume from: else a client that has seen nothing
// would lose what comes while it is gone.
func (w *eventWriter) begin(after uint64) error {
	w.out.Header().Set("Content-Type", "text/event-stream")
	w.out.Header().Set("X-Accel-Buffering", "no") // nginx would collect events
	w.out.WriteHeader(http.StatusOK)
	fmt.Fprintf(&w.text, "retry: %d\nid: %d\n\n", retryAfter, after)
	return w.flush()
}

// event sends one event: its sequence, the first two words of its subject, its payload.
func (w *eventWriter) event(event effect.Published) error {
	words := strings.SplitN(event.Subject, ".", 3)
	fmt.Fprintf(&w.text, "id: %d\nevent: %s\n", event.Sequence, strings.Join(words[:min(2, len(words))], "."))
	// A payload of ours is one line; what others publish must not end the event. It is not copied: a
	// stream that does not read would hold its copy for as long as it is open.
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

// notice sends an event of the service itself, without an id: the client resumes behind the last of the stream.
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
