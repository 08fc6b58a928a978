package emitter

import (
	"slices"
	"strings"
)

// Permissions are the subjects on which a user of NATS must be allowed to publish, and those to
// which to subscribe: deploy/package/nats-permissions.conf has these and no others.
type Permissions struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// AskUser is where a server says what the user may who asks.
const AskUser = "$SYS.REQ.USER.INFO"

// Needed are the permissions for events and answers, and where requests over NATS are taken those
// for them as well.
func Needed(ingress bool) Permissions {
	needed := Permissions{Publish: slices.Concat([]string{"tool.*.>", "app.*.*.*"}, chatSubjects, apiOf(Stream), apiOf(StreamIn)), Subscribe: []string{"_INBOX.>"}}
	needed.Publish = append(needed.Publish, "$JS.API.CONSUMER.DELETE."+Stream+".*", "$JS.API.STREAM.MSG.GET."+StreamIn, "$JS.ACK."+StreamIn+".>", "$JS.API.INFO", AskUser)
	if ingress {
		needed.Publish = append(needed.Publish, "_INBOX.>")
		needed.Subscribe = append(needed.Subscribe, "earshot.v1.>", "$SRV.>")
	}
	return needed
}

// apiOf are the requests about a stream.
func apiOf(name string) (subjects []string) {
	for _, what := range []string{"STREAM.CREATE.#", "STREAM.INFO.#", "STREAM.UPDATE.#", "STREAM.MSG.DELETE.#", "CONSUMER.CREATE.#.>", "CONSUMER.INFO.#.*", "CONSUMER.MSG.NEXT.#.*"} {
		subjects = append(subjects, "$JS.API."+strings.Replace(what, "#", name, 1))
	}
	return subjects
}

// within reports whether all subjects that a pattern stands for are among those of another.
func within(pattern, other string) bool {
	words, of := strings.Split(pattern, "."), strings.Split(other, ".")
	for i, word := range of {
		switch {
		case word == ">":
			return len(words) > i
		case i >= len(words) || words[i] == ">":
			return false
		case word != "*" && word != words[i]:
			return false
		}
	}
	return len(words) == len(of)
}

// collide reports whether some subject is of both patterns.
func collide(a, b string) bool {
	first, second := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(first) && i < len(second); i++ {
		switch {
		case first[i] == ">" || second[i] == ">":
			return true
		case first[i] != "*" && second[i] != "*" && first[i] != second[i]:
			return false
		}
	}
	return len(first) == len(second)
}

// allowance is what a server allows, and denies; it allows everything where it names nothing.
type allowance struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// lacks are those of the needed subjects that are not allowed, or not all of them.
func (a *allowance) lacks(needed []string) (missing []string) {
	for _, subject := range needed {
		if a == nil {
			return nil
		}
		allowed := len(a.Allow) == 0 || slices.ContainsFunc(a.Allow, func(one string) bool { return within(subject, one) })
		if !allowed || slices.ContainsFunc(a.Deny, func(one string) bool { return collide(subject, one) }) {
			missing = append(missing, subject)
		}
	}
	return missing
}
