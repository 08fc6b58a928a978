package matcher

// truth finds what makes a boolean true or false: the words of its parameter's name,
// denied or not ("with live music", "no pets"), or the user's yes or no to a question
// that has them.
func (p *passage) truth(name []word, want bool) (place, bool) {
	topic := topicOf(name)
	if len(topic) == 0 {
		return place{}, false
	}
	if said, found, ok := p.statement(topic); ok {
		// What the agent asked, the user's answer settles, which was looked at before.
		asked := p.actor != ActorUser && p.answer != nil && p.answer.replies()
		return found, said == want && !asked
	}
	if p.actor != ActorUser || p.question == nil {
		return place{}, false
	}
	yes, found, ok := p.reply()
	if !ok || yes != want {
		return place{}, false
	}
	_, _, asked := p.question.statement(topic)
	return found, asked
}

// topicOf holds the stems that a boolean is about: hasLiveMusic is about live and
// music.
func topicOf(name []word) map[string]bool {
	topic := map[string]bool{}
	for _, w := range name {
		if !booleanWords[w.norm] && !functionWords[w.norm] {
			topic[w.stem] = true
		}
	}
	if len(topic) == 0 && len(name) > 0 {
		topic[name[len(name)-1].stem] = true // "available", "enabled"
	}
	return topic
}

// statement finds the words of the topic, at least half of them near each other, and
// whether they are denied.
func (p *passage) statement(topic map[string]bool) (said bool, found place, ok bool) {
	for _, r := range p.pieces() {
		for i := range r.words {
			if !topic[r.words[i].stem] {
				continue
			}
			if first, end := r.about(i, topic); end > first {
				said, first, end = r.stance(first, end)
				return said, place{r.offset + r.words[first].start, r.offset + r.words[end-1].end}, true
			}
		}
	}
	return false, place{}, false
}

// about is the stretch around word i that has at least half of the topic, or an empty
// one.
func (r piece) about(i int, topic map[string]bool) (first, end int) {
	const near = 4
	seen := map[string]bool{}
	end = i
	for j := i; j < min(len(r.words), i+1+near); j++ {
		if topic[r.words[j].stem] {
			seen[r.words[j].stem] = true
			end = j + 1
		}
	}
	if 2*len(seen) < len(topic) {
		return i, i
	}
	return i, end
}

// stance reports whether the words are affirmed, and widens them by what says so.
func (r piece) stance(first, end int) (said bool, from, to int) {
	if yes := affirming[r.at(end)]; yes || refusing[r.at(end)] {
		return yes, first, end + 1
	}
	for j := max(0, first-4); j < first; j++ {
		if denials[r.at(j)] {
			return false, j, end
		}
	}
	return true, first, end
}

// reply reads the yes or no with which an answer begins.
func (p *passage) reply() (yes bool, found place, ok bool) {
	pieces := p.pieces()
	if len(pieces) == 0 {
		return false, place{}, false
	}
	const beginning = 6
	r := pieces[0]
	for i := range r.words[:min(len(r.words), beginning)] {
		w := r.words[i]
		if yes := affirming[w.norm]; yes || refusing[w.norm] {
			return yes, place{w.start, w.end}, true
		}
	}
	return false, place{}, false
}

func (p *passage) replies() bool {
	_, _, ok := p.reply()
	return ok
}

var (
	affirming = set(`yes yeah yep yup yea sure ok okay true on enabled definitely absolutely certainly correct right
		please ja gerne oui si claro certo`)
	refusing = set(`no nope nah not never false off disabled nein non unnecessary`)
)
