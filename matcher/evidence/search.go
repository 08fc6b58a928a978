package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/repositories/parameters"
)

// maxParts bounds how many scalars one search looks up: each may cost a reading of
// the whole conversation, and a model may send a list of any length.
const maxParts = 512

// search looks values up in one conversation. It keeps what it has read of each message, so
// that further values cost little. It is not safe for concurrent use.
type search struct {
	request  matcher.Request
	messages []message // newest first
	parts    int       // looked up so far
}

func newSearch(request matcher.Request) *search {
	s := &search{request: request, messages: make([]message, 1, 1+len(request.History))}
	s.messages[0] = message{actor: matcher.ActorUser, said: request.Text}
	for _, one := range slices.Backward(request.History) {
		s.messages = append(s.messages, message{id: one.ID, actor: one.Actor, said: one.Text})
	}
	return s
}

// part is a scalar inside a value, with its path, as in [2].day, and what is known of it.
type part struct {
	of    parameters.Parameter
	at    string
	value any
}

// hit is a place where a scalar was found.
type hit struct {
	message int // index of the message
	words   string
}

// value finds all parts of a parameter's value. missing is the first part that was found
// nowhere; a value without parts has neither evidence nor a missing part.
func (s *search) value(of parameters.Parameter, value any) (evidence *matcher.Evidence, missing *part) {
	var all []hit
	for _, one := range partsOf(nil, part{of: of, value: value}) {
		found := s.part(one)
		if found == nil {
			return nil, &one
		}
		all = append(all, found...)
	}
	return s.evidence(all), nil
}

// evidence joins what was found of the parts; words that stand for several are named
// once.
func (s *search) evidence(all []hit) *matcher.Evidence {
	if len(all) == 0 {
		return nil
	}
	newest := len(s.messages)
	var words []string
	seen := map[string]bool{}
	for _, found := range all {
		newest = min(newest, found.message)
		if !seen[found.words] {
			seen[found.words] = true
			words = append(words, found.words)
		}
	}
	return &matcher.Evidence{MessageID: s.messages[newest].id, Words: strings.Join(words, " … ")}
}

// partsOf lists the scalars of a value, in a stable order and one more than are looked
// up at most. A member of an object is spoken of by its own name.
func partsOf(parts []part, whole part) []part {
	switch value := whole.value.(type) {
	case nil:
	case []any:
		item := parameters.Parameter{}
		if whole.of.Items != nil {
			item = *whole.of.Items
		}
		item.Name = whole.of.Name
		for i := 0; i < len(value) && len(parts) <= maxParts; i++ {
			parts = partsOf(parts, part{item, fmt.Sprintf("%s[%d]", whole.at, i), value[i]})
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if len(parts) <= maxParts {
				parts = partsOf(parts, part{parameters.Parameter{Name: name}, whole.at + "." + name, value[name]})
			}
		}
	default:
		parts = append(parts, whole)
	}
	return parts
}

// part finds a scalar: as a whole or, if it is a date with a time, in two places.
func (s *search) part(one part) []hit {
	if s.parts++; s.parts > maxParts {
		return nil
	}
	want := formsOf(one.of, one.value, s.request.Now)
	if found, ok := s.find(want); ok {
		return []hit{found}
	}
	if len(want.days) == 0 || len(want.hours) == 0 {
		return nil
	}
	day, ok := s.find(&forms{meant: want.days})
	hour, also := s.find(&forms{meant: want.hours})
	if !ok || !also {
		return nil
	}
	return []hit{day, hour}
}

// find returns the newest place of a scalar.
func (s *search) find(want *forms) (hit, bool) {
	for i := range s.messages {
		m := &s.messages[i]
		at, ok := m.has(want, s.request.Now)
		if !ok && want.truth != nil {
			at, ok = s.truth(i, want)
		}
		if ok {
			return hit{i, m.said[at.from:at.to]}, true
		}
	}
	return hit{}, false
}
