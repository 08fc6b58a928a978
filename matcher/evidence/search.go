package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories/parameters"
)

// maxParts bounds how many scalars one search looks up: each may cost a reading of
// the whole conversation, and a model may send a list of any length.
const maxParts = 512

// search looks values up in one conversation. It keeps what it has read of each message, so
// that further values cost little. It is not safe for concurrent use.
type search struct {
	messages []message // newest first
	now      time.Time
	parts    int                  // looked up so far
	of       parameters.Parameter // whose value is looked up
}

func newSearch(request matcher.Request) *search {
	s := &search{now: request.Now, messages: make([]message, 0, 1+len(request.History))}
	s.add("", matcher.ActorUser, request.Text)
	for _, said := range slices.Backward(request.History) {
		s.add(said.ID, said.Actor, said.Text)
	}
	return s
}

// add takes the next older message in. The list is as long as it will be, so that messages
// can point at their neighbours.
func (s *search) add(id, actor, text string) {
	n := len(s.messages)
	s.messages = append(s.messages, message{id: id, actor: actor, text: text, now: s.now})
	if n > 0 {
		s.messages[n].answer = &s.messages[n-1]
		s.messages[n-1].question = &s.messages[n]
	}
}

// hit is a place where a scalar was found.
type hit struct {
	message int // index of the message
	words   string
}

// value finds all parts of a value. missing is the first part that was found nowhere; a
// value without parts has neither evidence nor a missing part.
func (s *search) value(of parameters.Parameter, name string, value any) (evidence *matcher.Evidence, missing *part) {
	s.of = of
	parts := partsOf(nil, "", value)
	var all []hit
	for i := range parts {
		found, ok := s.part(name, parts[i])
		if !ok {
			return nil, &parts[i]
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
// up at most.
func partsOf(parts []part, at string, value any) []part {
	switch value := value.(type) {
	case nil:
	case []any:
		for i := range value {
			if len(parts) > maxParts {
				break
			}
			parts = partsOf(parts, fmt.Sprintf("%s[%d]", at, i), value[i])
		}
	case map[string]any:
		for _, name := range sortedNames(value) {
			if len(parts) > maxParts {
				break
			}
			parts = partsOf(parts, at+"."+name, value[name])
		}
	default:
		parts = append(parts, part{at, value})
	}
	return parts
}

// part finds a scalar: as a whole or, if it is a date with a time, in two places.
func (s *search) part(name string, p part) ([]hit, bool) {
	if s.parts++; s.parts > maxParts {
		return nil, false
	}
	if i := strings.LastIndexByte(p.at, '.'); i >= 0 {
		name = p.at[i+1:] // a member of an object is spoken of by its own name
	}
	want := newQuery(name, p.value, s.now)
	want.inWordsOf(s.described(p.at), p.value)
	if found, ok := s.find(want); ok {
		return []hit{found}, true
	}
	want.read()
	if len(want.days) == 0 || len(want.hours) == 0 {
		return nil, false
	}
	day, ok := s.find(&query{dates: want.days})
	hour, also := s.find(&query{clocks: want.hours})
	return []hit{day, hour}, ok && also
}

// described is what is known of the scalar at a place in the value: of the value itself, or
// of a list's members.
func (s *search) described(at string) parameters.Parameter {
	switch {
	case at == "":
		return s.of
	case s.of.Items != nil && !strings.ContainsRune(at, '.') && strings.Count(at, "[") == 1:
		return *s.of.Items
	}
	return parameters.Parameter{}
}

// find returns the newest place of a scalar.
func (s *search) find(want *query) (hit, bool) {
	for i := range s.messages {
		if words, ok := want.in(&s.messages[i]); ok {
			return hit{i, words}, true
		}
	}
	return hit{}, false
}

func sortedNames(values map[string]any) []string { return slices.Sorted(maps.Keys(values)) }
