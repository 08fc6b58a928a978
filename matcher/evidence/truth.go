package evidence

import (
	"earshot/matcher"
	"earshot/matcher/text"
)

// truth finds in a message what makes a boolean true or false: the words of its parameter's
// name, denied or not ("with live music", "no pets"), or the user's yes or no to a question
// that has them.
func (s *search) truth(i int, want *forms) (span, bool) {
	topic := topicOf(text.Split(text.Identifier(want.topic)))
	if len(topic) == 0 {
		return span{}, false
	}
	byUser := s.messages[i].actor == matcher.ActorUser
	if said, found, ok := s.statement(i, topic); ok {
		// A question of the agent is settled by the user's answer, which was looked at
		// before.
		answered := false
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

// topicOf holds the stems that a boolean is about: hasLiveMusic is about live and
// music.
func topicOf(name []text.Word) map[string]bool {
	topic := map[string]bool{}
	for _, w := range name {
		if !w.Is(text.BooleanWords, text.StopWords) {
			topic[w.Stem] = true
		}
	}
	if len(topic) == 0 && len(name) > 0 {
		topic[name[len(name)-1].Stem] = true // "available", "enabled"
	}
	return topic
}

// statement finds the words of the topic, at least half of them near each other, and
// whether they are denied.
func (s *search) statement(i int, topic map[string]bool) (said bool, found span, ok bool) {
	for _, r := range s.messages[i].readers(s.request.Now) {
		for first := range r.Words {
			if end := r.about(first, topic); end > first {
				said, first, end = r.stance(first, end)
				return said, span{r.offset + r.Words[first].Start, r.offset + r.Words[end-1].End}, true
			}
		}
	}
	return false, span{}, false
}

// about is the end of the stretch from a word of the topic on that has at least half of it;
// the word itself if there is none.
func (r reader) about(first int, topic map[string]bool) (end int) {
	const near = 5
	if !topic[r.Words[first].Stem] {
		return first
	}
	seen := map[string]bool{}
	for j := first; j < min(len(r.Words), first+near); j++ {
		if stem := r.Words[j].Stem; topic[stem] {
			seen[stem], end = true, j+1
		}
	}
	if 2*len(seen) < len(topic) {
		return first
	}
	return end
}

// stance reports whether the words are affirmed, and widens them by what says so.
func (r reader) stance(first, end int) (said bool, from, to int) {
	if yes := text.AffirmingWords.Has(r.Norm(end)); yes || text.RefusingWords.Has(r.Norm(end)) {
		return yes, first, end + 1
	}
	for j := max(0, first-4); j < first; j++ {
		if text.Denials.Has(r.Norm(j)) {
			return false, j, end
		}
	}
	return true, first, end
}

// reply reads the yes or no with which a message begins.
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
