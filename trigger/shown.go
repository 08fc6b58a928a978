package trigger

import "slices"

// A match has one word for its state, which follows from the effects that it shows: in the answer
// to a message, in a list, and in the record.

// due reports whether the effects of a match are not kept back, and it has some of its own.
func (m Match) due() bool {
	switch m.State {
	case "", StateDelivered, StateFailed, stateDry:
		return true
	case StatePending:
		return m.DueAt == nil
	}
	return false
}

// shown is a match with the state that its effects come to, where it is due.
func (m Match) shown() Match {
	if !m.due() {
		return m
	}
	m.State = StateDelivered
	var states []string
	for _, event := range []*EventState{m.Event, m.Emitter} {
		if event != nil {
			states = append(states, event.State)
		}
	}
	if m.Call != nil {
		states = append(states, m.Call.State)
	}
	for _, worse := range []string{StatePending, StateFailed, stateDry} {
		if slices.Contains(states, worse) {
			m.State = worse
		}
	}
	return m
}

// shown is an answer as its clients see it.
func (a Answer) shown() Answer {
	a.Matches = slices.Clone(a.Matches)
	for i, match := range a.Matches {
		a.Matches[i] = match.shown()
	}
	return a
}
