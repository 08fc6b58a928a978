package emitter

import (
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories"
	"earshot/trigger/effect"
)

var errForeign = errors.New("not an event of ours")

// published reads a message of the stream. Whose it is stands in its subject, which
// only we and those whom the broker lets may publish on. The subject of an emitter's
// event and of tool.changed has no session; there ce-source names it.
func published(message jetstream.Msg) (effect.Published, audience, error) {
	metadata, err := message.Metadata()
	if err != nil {
		return effect.Published{}, audience{}, err
	}
	of, err := audienceOf(message.Subject(), message.Headers().Get("ce-source"))
	return effect.Published{
		Sequence: metadata.Sequence.Stream, Subject: message.Subject(), SessionID: of.session, Data: message.Data(),
	}, of, err
}

func audienceOf(subject, source string) (audience, error) {
	tokens := strings.Split(subject, ".")
	switch {
	case !ours(subject):
		return audience{}, errForeign
	case tokens[0] == "app":
		return audience{tokens[1], sessionOf(source, tokens[1])}, nil
	case tokens[1] == "changed":
		return audience{tokens[2], sessionOf(source, tokens[2])}, nil
	case len(tokens) < 4:
		return audience{}, errForeign
	case tokens[3] == repositories.NoSession:
		return audience{app: tokens[2]}, nil
	}
	return audience{tokens[2], tokens[3]}, nil
}

// sessionOf reads the session out of a ce-source of the app.
func sessionOf(source, appID string) string {
	session, ok := strings.CutPrefix(source, "/apps/"+appID+"/sessions/")
	if !ok || session == repositories.NoSession {
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
