package emitter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/keyspace"
	"earshot/repositories/version"
	"earshot/trigger/effect"
)

// messageOf returns the event as a CloudEvent in binary mode. NATS header names are case-sensitive. The
// expected stream keeps another stream with our subjects from acknowledging.
func messageOf(delivery effect.Effect) *nats.Msg {
	event := delivery.Event
	h := headers{make(nats.Header, maxHeaders), make([]string, 0, maxHeaders)}
	h.set("ce-specversion", "1.0")
	h.set("ce-id", escape(event.ID))
	h.set("ce-type", escape(event.Type))
	h.set("ce-source", escape(event.Source))
	h.set("ce-time", escape(event.Time.UTC().Format(time.RFC3339Nano)))
	h.set("ce-earshotversion", escape(version.Current().Version))
	h.set("content-type", "application/json")
	if delivery.TraceParent != "" {
		h.set("traceparent", escape(delivery.TraceParent))
	}
	h.set(jetstream.MsgIDHeader, delivery.ID)
	h.set(jetstream.ExpectedStreamHeader, Stream)
	return &nats.Msg{Subject: event.Subject, Header: h.Header, Data: event.Data}
}

const maxHeaders = 10

// headers stores the one-value lists of a header in one slice.
type headers struct {
	nats.Header
	values []string
}

func (h *headers) set(name, value string) {
	h.values = append(h.values, value)
	last := len(h.values)
	h.Header[name] = h.values[last-1 : last : last]
}

// escape percent-encodes all but printable ASCII, and the space, the double quote and the percent sign
// (CloudEvents).
func escape(value string) string {
	first := strings.IndexFunc(value, func(r rune) bool { return mustEscape(byte(min(r, 0xff))) })
	if first < 0 {
		return value
	}
	var b strings.Builder
	b.WriteString(value[:first])
	for _, c := range []byte(value[first:]) {
		if mustEscape(c) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func mustEscape(c byte) bool { return c <= ' ' || c > '~' || c == '"' || c == '%' }

// isEventSubject reports whether the stream accepts the subject; other events would wait forever.
func isEventSubject(subject string) bool {
	if strings.ContainsAny(subject, "*> \t\r\n") || strings.Contains(subject, "..") || strings.HasSuffix(subject, ".") {
		return false
	}
	first, rest, _ := strings.Cut(subject, ".")
	second, _, _ := strings.Cut(rest, ".")
	switch first {
	case "app":
		return strings.Count(subject, ".") == 3
	case "chat":
		return (second == "message" || second == "failed") && strings.Count(subject, ".") == 3
	}
	return first == "tool" && slices.Contains(toolKinds, second) && strings.Count(subject, ".") > 1
}

// toolKinds lists the second words of subjects under tool.
var toolKinds = []string{"trigger", "result", "rejected", "notmatching", "changed", "confirm", "cancelled", "duplicate", "webhook"}

// audience is the scope of an event or a subscription: a session, or without one the whole app.
type audience struct{ app, session string }

var errNotAnEvent = errors.New("not an event of ours")

// readEvent parses a stream message. Its audience comes from its subject, as only we may publish on it. The
// subjects of emitters' events, tool.changed and tool.webhook have no session; ce-source names it.
func readEvent(msg jetstream.Msg) (effect.Published, audience, error) {
	metadata, err := msg.Metadata()
	if err != nil {
		return effect.Published{}, audience{}, err
	}
	target, err := audienceOf(msg.Subject(), msg.Headers().Get("ce-source"))
	return effect.Published{
		Sequence: metadata.Sequence.Stream, Subject: msg.Subject(), SessionID: target.session, Time: timeOf(msg.Headers(), metadata.Timestamp), Data: msg.Data(),
	}, target, err
}

// timeOf returns the time of an event. Another publisher may give none: it is then when it was stored.
func timeOf(header nats.Header, stored time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, header.Get("ce-time")); err == nil {
		return at
	}
	return stored
}

func audienceOf(subject, source string) (target audience, err error) {
	tokens := strings.Split(subject, ".")
	switch {
	case !isEventSubject(subject):
		err = errNotAnEvent
	case tokens[0] == "app":
		target = audience{tokens[1], sessionOf(source, tokens[1])}
	case tokens[1] == "changed", tokens[1] == "webhook":
		target = audience{tokens[2], sessionOf(source, tokens[2])}
	case len(tokens) < 4:
		err = errNotAnEvent
	case tokens[3] == keyspace.NoSession:
		target = audience{app: tokens[2]}
	default:
		target = audience{tokens[2], tokens[3]}
	}
	return target, err
}

// sessionOf returns the session in a ce-source of the app.
func sessionOf(source, appID string) string {
	session, ok := strings.CutPrefix(source, "/apps/"+appID+"/sessions/")
	if !ok || session == keyspace.NoSession {
		return ""
	}
	return session
}

// filters returns the subjects of an audience's events; those without a session must be filtered by ce-source.
func (a audience) filters() []string {
	suffix := a.app + ".>"
	if a.session != "" {
		suffix = a.app + "." + a.session
	}
	session := cmp.Or(a.session, "*")
	filters := []string{"app." + a.app + ".*.*", "chat.message." + a.app + "." + session, "chat.failed." + a.app + "." + session}
	for _, kind := range toolKinds {
		subject := "tool." + kind + "." + suffix
		switch {
		case kind == "changed", kind == "webhook":
			subject = "tool." + kind + "." + a.app + ".*"
		case a.session != "" && kind != "notmatching":
			subject += ".*"
		}
		filters = append(filters, subject)
	}
	return filters
}
