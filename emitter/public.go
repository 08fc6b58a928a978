package emitter

// public is an error of which everybody may read the text of Public: it says nothing of
// hosts, apps or subjects.
type public struct{ text, shown string }

// Error returns what operators read.
func (p *public) Error() string { return p.text }

// Public returns what everybody may read, to go on after the word NATS.
func (p *public) Public() string { return p.shown }
