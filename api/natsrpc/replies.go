package natsrpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DefaultReplies is the default inbox prefix of NATS clients.
const DefaultReplies = "_INBOX"

// anywhere allows every subject except the service's own.
const anywhere = ">"

// ownTopics are the first words of subjects on which a reply would be taken for an event, an answer or a
// request.
var ownTopics = []string{"tool", "app", "chat", "answer", "earshot"}

// isOurs reports whether a subject belongs to the service or to NATS.
func isOurs(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	return slices.Contains(ownTopics, first) || strings.HasPrefix(first, "$")
}

// Replies are the allowed prefixes of reply subjects. A publisher chooses the reply subject of its request, and
// NATS does not check that it may publish there itself.
type Replies []string

// ParseReplies reads comma-separated prefixes, such as _INBOX,_INBOX_web; > allows every subject except the
// service's own. Empty means DefaultReplies.
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
