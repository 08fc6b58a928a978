package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories/parameters"
)

// maxParts bounds the scalars of one search: each may require reading the whole conversation, and a model's list
// may have any length.
const maxParts = 512

// search looks up values in one conversation. It caches readings of messages. It is not safe for concurrent use.
type search struct {
	request  matcher.Request
	messages []message // newest first
	parts    int       // looked up so far
}

func newSearch(request matcher.Request) *search {
	s := &search{request: request, messages: make([]message, 1, 1+len(request.History))}
	s.messages[0] = message{id: request.ID, actor: matcher.ActorUser, said: request.Text}
	for _, one := range slices.Backward(request.History) {
		s.messages = append(s.messages, message{id: one.ID, actor: one.Actor, said: one.Text})
	}
	return s
}

// part is a scalar inside a value with its path, such as [2].day.
type part struct {
	of    parameters.Parameter
	at    string
	value any
}

// partsOf lists the scalars of a value in a stable order, at most one more than are searched. A member of an object
// has its own name.
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

// value finds all parts of a parameter's value; words of several parts are listed once. missing is the first part
// without evidence. A value without parts has neither.
func (s *search) value(of parameters.Parameter, value any) (evidence *matcher.Evidence, missing *part) {
	newest := len(s.messages)
	words := make([]string, 0, 4)
	parts := partsOf(nil, part{of: of, value: value})
	for i := range parts {
		places := s.places(parts[i])
		if places == nil {
			return nil, &parts[i]
		}
		for _, at := range places {
			newest = min(newest, at.message)
			if !slices.Contains(words, at.words) {
				words = append(words, at.words)
			}
		}
	}
	if len(words) == 0 {
		return nil, nil
	}
	return &matcher.Evidence{MessageID: s.messages[newest].id, Words: strings.Join(words, " … ")}, nil
}

type place struct {
	message int // its index
	words   string
}

// places finds a scalar as a whole or, if it is a date with a time, in two places.
func (s *search) places(one part) []place {
	if s.parts++; s.parts > maxParts {
		return nil
	}
	want := formsOf(one.of, one.value, s.request.Now)
	found := s.find(nil, want)
	if found == nil && len(want.days) > 0 && len(want.hours) > 0 {
		if found = s.find(nil, &forms{meant: want.days}); found != nil {
			if found = s.find(found, &forms{meant: want.hours}); len(found) < 2 {
				return nil
			}
		}
	}
	return found
}

// find appends the newest place of a scalar, if any.
func (s *search) find(found []place, want *forms) []place {
	for i := range s.messages {
		m := &s.messages[i]
		at, ok := m.has(want, s.request.Now)
		if !ok && want.truth != nil {
			at, ok = s.truth(i, want)
		}
		if ok {
			return append(found, place{i, m.said[at.from:at.to]})
		}
	}
	return found
}

// truth finds evidence for a boolean in a message: the words of its parameter's name, denied or not ("with live
// music", "no pets"), or the user's yes or no to a question with them.
func (s *search) truth(i int, want *forms) (span, bool) {
	name, topic := text.Split(text.Identifier(want.topic)), map[string]bool{} // hasLiveMusic is about live and music
	for _, w := range name {
		if !w.Is(text.BooleanWords, text.StopWords) {
			topic[w.Stem] = true
		}
	}
	switch {
	case len(name) == 0:
		return span{}, false
	case len(topic) == 0: // "available", "enabled"
		topic[name[len(name)-1].Stem] = true
	}
	byUser := s.messages[i].actor == matcher.ActorUser
	if said, found, ok := s.statement(i, topic); ok {
		answered := false // the user's answer, already searched, settles the agent's question
		if !byUser && i > 0 {
			_, _, answered = s.reply(i - 1)
		}
		return found, said == *want.truth && !answered
	}
	if !byUser || i+1 == len(s.messages) {
		return span{}, false
	}
	yes, found, ok := s.reply(i)
	if !ok || yes != *want.truth {
		return span{}, false
	}
	_, _, asked := s.statement(i+1, topic)
	return found, asked
}

// statement finds at least half of the topic's words near each other, and whether they are denied.
func (s *search) statement(i int, topic map[string]bool) (said bool, found span, ok bool) {
	const near = 5
	for _, r := range s.messages[i].readers(s.request.Now) {
		for first, w := range r.Words {
			if !topic[w.Stem] {
				continue
			}
			seen, end := map[string]bool{}, 0
			for j := first; j < min(len(r.Words), first+near); j++ {
				if stem := r.Words[j].Stem; topic[stem] {
					seen[stem], end = true, j+1
				}
			}
			if 2*len(seen) >= len(topic) {
				said, first, end = r.stance(first, end)
				return said, span{r.offset + r.Words[first].Start, r.offset + r.Words[end-1].End}, true
			}
		}
	}
	return false, span{}, false
}

// stance reports whether the words are affirmed, and extends their range by the affirming or denying words.
func (r reader) stance(first, end int) (said bool, from, to int) {
	if yes := r.At(end).Is(text.AffirmingWords); yes || r.At(end).Is(text.RefusingWords) {
		return yes, first, end + 1
	}
	for j := max(0, first-4); j < first; j++ {
		if r.Words[j].Is(text.Denials) {
			return false, j, end
		}
	}
	return true, first, end
}

func (s *search) reply(i int) (yes bool, found span, ok bool) {
	const beginning = 6
	words := s.messages[i].readers(s.request.Now)[0].Words
	for _, w := range words[:min(len(words), beginning)] {
		if yes := w.Is(text.AffirmingWords); yes || w.Is(text.RefusingWords) {
			return yes, span{w.Start, w.End}, true
		}
	}
	return false, span{}, false
}
