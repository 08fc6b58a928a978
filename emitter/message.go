package emitter

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"earshot/trigger/effect"
)

// message returns the event as a CloudEvent in binary mode: attributes in headers,
// data as the payload. Header names of NATS keep their case.
func message(effect effect.Effect) *nats.Msg {
	event := effect.Event
	out := nats.NewMsg(event.Subject)
	out.Data = event.Data
	for name, value := range map[string]string{
		"ce-specversion": "1.0",
		"ce-id":          event.ID,
		"ce-type":        event.Type,
		"ce-source":      event.Source,
		"ce-time":        event.Time.UTC().Format(time.RFC3339Nano),
	} {
		out.Header.Set(name, escape(value))
	}
	out.Header.Set("content-type", "application/json")
	if effect.TraceParent != "" {
		out.Header.Set("traceparent", escape(effect.TraceParent))
	}
	return out
}

// escape percent-encodes what a header may not hold, as the CloudEvents bindings ask
// for it: all but printable ASCII, the space, the double quote, the percent sign.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c <= ' ', c > '~', c == '"', c == '%':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ours reports whether the stream takes messages of the subject. One that it does
// not take would wait for an acknowledgement for ever.
func ours(subject string) bool {
	if strings.ContainsAny(subject, "*> \t\r\n") {
		return false
	}
	tokens := strings.Split(subject, ".")
	for _, token := range tokens {
		if token == "" {
			return false
		}
	}
	if tokens[0] == "app" {
		return len(tokens) == 4
	}
	return len(tokens) > 2 && tokens[0] == "tool" && toolSubject(tokens[1])
}

func toolSubject(token string) bool {
	switch token {
	case "trigger", "result", "rejected", "notmatching", "changed":
		return true
	}
	return false
}
