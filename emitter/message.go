package emitter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
)

// message returns the event as a CloudEvent in binary mode: attributes in headers,
// data as the payload. Header names of NATS keep their case.
func message(delivery effect.Effect) *nats.Msg {
	event := delivery.Event
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
	if delivery.TraceParent != "" {
		out.Header.Set("traceparent", escape(delivery.TraceParent))
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

// isEventSubject reports whether the stream takes messages of the subject. One that it does
// not take would wait for an acknowledgement for ever.
func isEventSubject(subject string) bool {
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
	return len(tokens) > 2 && tokens[0] == "tool" && isToolKind(tokens[1])
}

func isToolKind(token string) bool {
	switch token {
	case "trigger", "result", "rejected", "notmatching", "changed":
		return true
	}
	return false
}

var errNotAnEvent = errors.New("not an event of ours")

// readEvent reads a message of the stream. Whose it is stands in its subject, which
// only we and those whom the broker lets may publish on. The subject of an emitter's
// event and of tool.changed has no session; there ce-source names it.
func readEvent(msg jetstream.Msg) (effect.Published, audience, error) {
	metadata, err := msg.Metadata()
	if err != nil {
		return effect.Published{}, audience{}, err
	}
	of, err := audienceOf(msg.Subject(), msg.Headers().Get("ce-source"))
	return effect.Published{
		Sequence: metadata.Sequence.Stream, Subject: msg.Subject(), SessionID: of.session, Data: msg.Data(),
	}, of, err
}

func audienceOf(subject, source string) (audience, error) {
	tokens := strings.Split(subject, ".")
	switch {
	case !isEventSubject(subject):
		return audience{}, errNotAnEvent
	case tokens[0] == "app":
		return audience{tokens[1], sessionOf(source, tokens[1])}, nil
	case tokens[1] == "changed":
		return audience{tokens[2], sessionOf(source, tokens[2])}, nil
	case len(tokens) < 4:
		return audience{}, errNotAnEvent
	case tokens[3] == keyspace.NoSession:
		return audience{app: tokens[2]}, nil
	}
	return audience{tokens[2], tokens[3]}, nil
}

// sessionOf reads the session out of a ce-source of the app.
func sessionOf(source, appID string) string {
	session, ok := strings.CutPrefix(source, "/apps/"+appID+"/sessions/")
	if !ok || session == keyspace.NoSession {
		return ""
	}
	return session
}

// filters are the subjects on which events of an audience may be. Those of a session's
// that name no session are sorted out by their ce-source.
func (a audience) filters() []string {
	of := a.app + ".>"
	if a.session != "" {
		of = a.app + "." + a.session
	}
	filters := []string{"tool.changed." + a.app + ".*", "app." + a.app + ".*.*"}
	for _, kind := range []string{"trigger", "result", "rejected", "notmatching"} {
		subject := "tool." + kind + "." + of
		if a.session != "" && kind != "notmatching" {
			subject += ".*"
		}
		filters = append(filters, subject)
	}
	return filters
}

// hears reports whether the audience may see an event of another.
func (a audience) hears(of audience) bool {
	return a.app == of.app && (a.session == "" || a.session == of.session)
}
