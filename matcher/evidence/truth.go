package evidence

import (
	"earshot/matcher"
	"earshot/matcher/text"
)

// truth finds what makes a boolean true or false: the words of its parameter's name,
// denied or not ("with live music", "no pets"), or the user's yes or no to a question
// that has them.
func (p *message) truth(name []text.Word, want bool) (span, bool) {
	topic := topicOf(name)
	if len(topic) == 0 {
		return span{}, false
	}
	if said, found, ok := p.statement(topic); ok {
		// A question of the agent is settled by the user's answer, which was looked at
		// before.
		asked := p.actor != matcher.ActorUser && p.answer != nil && p.answer.replies()
		return found, said == want && !asked
	}
	if p.actor != matcher.ActorUser || p.question == nil {
		return span{}, false
	}
	yes, found, ok := p.reply()
	if !ok || yes != want {
		return span{}, false
	}
	_, _, asked := p.question.statement(topic)
	return found, asked
}

// topicOf holds the stems that a boolean is about: hasLiveMusic is about live and
// music.
func topicOf(name []text.Word) map[string]bool {
	topic := map[string]bool{}
	for _, w := range name {
		if !text.BooleanWords.Has(w.Norm) && !text.StopWords.Has(w.Norm) {
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
func (p *message) statement(topic map[string]bool) (said bool, found span, ok bool) {
	for _, r := range p.segments() {
		for i := range r.Words {
			if !topic[r.Words[i].Stem] {
				continue
			}
			if first, end := r.about(i, topic); end > first {
				said, first, end = r.stance(first, end)
				return said, span{r.offset + r.Words[first].Start, r.offset + r.Words[end-1].End}, true
			}
		}
	}
	return false, span{}, false
}

// about is the stretch around word i that has at least half of the topic, or an empty
// one.
func (r segment) about(i int, topic map[string]bool) (first, end int) {
	const near = 4
	seen := map[string]bool{}
	end = i
	for j := i; j < min(len(r.Words), i+1+near); j++ {
		if topic[r.Words[j].Stem] {
			seen[r.Words[j].Stem] = true
			end = j + 1
		}
	}
	if 2*len(seen) < len(topic) {
		return i, i
	}
	return i, end
}

// stance reports whether the words are affirmed, and widens them by what says so.
func (r segment) stance(first, end int) (said bool, from, to int) {
	if yes := text.AffirmingWords.Has(r.At(end)); yes || text.RefusingWords.Has(r.At(end)) {
		return yes, first, end + 1
	}
	for j := max(0, first-4); j < first; j++ {
		if text.Denials.Has(r.At(j)) {
			return false, j, end
		}
	}
	return true, first, end
}

// reply reads the yes or no with which an answer begins.
func (p *message) reply() (yes bool, found span, ok bool) {
	segments := p.segments()
	if len(segments) == 0 {
		return false, span{}, false
	}
	const beginning = 6
	r := segments[0]
	for i := range r.Words[:min(len(r.Words), beginning)] {
		w := r.Words[i]
		if yes := text.AffirmingWords.Has(w.Norm); yes || text.RefusingWords.Has(w.Norm) {
			return yes, span{w.Start, w.End}, true
		}
	}
	return false, span{}, false
}

func (p *message) replies() bool {
	_, _, ok := p.reply()
	return ok
}
