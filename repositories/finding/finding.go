// Package finding is what a check of a server finds: how it is, how good that is, and what to
// change. A start logs it, and earshot doctor prints it.
package finding

// Grade is how good something is.
type Grade int

const (
	// Good is as it should be.
	Good Grade = iota
	// Notable works, and a person should know of it.
	Notable
	// Doubtful may lose what was accepted, or could not be looked at.
	Doubtful
	// Unusable does not work.
	Unusable
)

// Finding is one thing that was looked at.
type Finding struct {
	Check string // what: eviction, permissions
	At    string // which server of several; empty if there is one
	Grade Grade
	Value string // what was found
	// Advice says what is wrong and what to change; empty if nothing is wrong.
	Advice string
	Event  string // the name of it in a log
}

// Text is the advice, with the server that it is about.
func (f Finding) Text() string {
	if f.At == "" {
		return f.Advice
	}
	return f.At + ": " + f.Advice
}
