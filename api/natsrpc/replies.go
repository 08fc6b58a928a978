package natsrpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// DefaultReplies is where the clients of NATS wait for replies by default.
const DefaultReplies = "_INBOX"

// anywhere stands for every subject but those of the service itself.
const anywhere = ">"

// ownTopics are the first words of subjects on which a reply would be taken for an event, an
// answer or a request.
var ownTopics = []string{"tool", "app", "chat", "answer", "earshot"}

// isOurs reports whether a subject is the service's, or the server's own.
func isOurs(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	return slices.Contains(ownTopics, first) || strings.HasPrefix(first, "$")
}

// Replies are the prefixes of the subjects that replies may go to. The publisher of a request chooses
// where its reply goes, and NATS does not ask whether it could publish there itself.
type Replies []string

// ParseReplies reads prefixes with commas between them, as in _INBOX,_INBOX_web; > is every subject
// but the service's own. Empty is DefaultReplies.
func ParseReplies(text string) (Replies, error) {
	if text == "" {
		return Replies{DefaultReplies}, nil
	}
	var list Replies
	var faults []error
	for prefix := range strings.SplitSeq(text, ",") {
		prefix = strings.TrimSuffix(strings.TrimSpace(prefix), ".>")
		switch {
		case prefix == anywhere:
		case prefix == "" || strings.ContainsAny(prefix, " \t*>") || slices.Contains(strings.Split(prefix, "."), ""):
			faults = append(faults, fmt.Errorf("%q is no prefix of subjects: name whole words without * in them, as in _INBOX_web", prefix))
		case isOurs(prefix):
			faults = append(faults, fmt.Errorf("%q is a subject of the service or of NATS: a reply there would be an event or a command", prefix))
		}
		list = append(list, prefix)
	}
	return list, errors.Join(faults...)
}

func (r Replies) allow(subject string) bool {
	if isOurs(subject) {
		return false
	}
	return slices.ContainsFunc(r, func(prefix string) bool { return prefix == anywhere || strings.HasPrefix(subject, prefix+".") })
}

// refuse logs and counts a request that was not done, since its reply may not go to its subject.
func (s *Service) refuse(e *endpoint, message *nats.Msg) {
	why := "replies go to " + strings.Join(s.options.Replies, " and ") + " alone: where clients have another inbox prefix, name it in EARSHOT_NATS_REPLIES (--nats-replies)"
	if isOurs(message.Reply) {
		why = "a reply there would be an event or a command of this service"
	}
	s.options.Logger.Warn("ingress.refused", "subject", message.Subject, "reply", message.Reply, "error", why+"; nothing was done")
	e.count(0, "a reply may not go to the subject that was named for it")
	s.refused.Inc()
}
