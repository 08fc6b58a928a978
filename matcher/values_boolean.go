package matcher

// readBooleans fills parameters that the text names: "with breakfast", "no pets",
// "refundable: yes".
func (r *valueReader) readBooleans() {
	for _, s := range r.slots(func(s *slot) bool { return s.Type == "boolean" }) {
		if value, first, end, ok := r.truth(s); ok {
			r.fill(s, value, first, end)
		}
	}
}

func (r *valueReader) truth(s *slot) (value bool, first, end int, ok bool) {
	topic := r.topic(s)
	if !r.speaksOf(topic) {
		return false, 0, 0, false
	}
	for i, w := range r.words {
		if !topic[w.stem] || r.taken[i] {
			continue
		}
		if said, ok := r.answer(i); ok {
			return said, i, i + 2, true
		}
		if r.denied(i) {
			return false, i, i + 1, true
		}
		return true, i, i + 1, true
	}
	return false, 0, 0, false
}

// answer reads the yes or no after the word: "refundable: yes".
func (r *valueReader) answer(i int) (value, ok bool) {
	if i+1 >= len(r.words) {
		return false, false
	}
	next := r.words[i+1].norm
	return yesWords[next], yesWords[next] || noWords[next]
}

// denied reports whether one of the two words before says no.
func (r *valueReader) denied(i int) bool {
	for j := max(0, i-2); j < i; j++ {
		if denials[r.words[j].norm] {
			return true
		}
	}
	return false
}

// topic is what a boolean is about: hasLiveMusic is about live and music. The tool's
// own name says nothing about its parameters.
func (r *valueReader) topic(s *slot) map[string]bool {
	found := map[string]bool{}
	for _, w := range s.name {
		if !booleanWords[w.norm] && !functionWords[w.norm] && !r.name[w.stem] {
			found[w.stem] = true
		}
	}
	return found
}

// speaksOf reports whether the text has at least half of the topic's words.
func (r *valueReader) speaksOf(topic map[string]bool) bool {
	said := map[string]bool{}
	for _, w := range r.words {
		if topic[w.stem] {
			said[w.stem] = true
		}
	}
	return len(said) > 0 && 2*len(said) >= len(topic)
}

var (
	yesWords = set(`yes true on enabled ja oui si`)
	noWords  = set(`no false off disabled nein`)
)
