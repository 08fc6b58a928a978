// Package finding is the result of a check of a server: the state, its grade, and advice. The start logs it, and
// earshot doctor prints it.
package finding

// Grade rates a state.
type Grade int

const (
	Good Grade = iota // as it should be
	// Notable works, but people should know.
	Notable
	// Doubtful may lose accepted data, or could not be checked.
	Doubtful
	// Unusable does not work.
	Unusable
)

// Finding is the result of one check.
type Finding struct {
	Check string // such as eviction or permissions
	At    string // which of several servers; empty for a single one
	Grade Grade
	Value string // the found state
	// Advice describes the problem and the solution; empty without one.
	Advice string
	Event  string // its name in a log
}

// Text returns the advice, with its server.
func (f Finding) Text() string {
	if f.At == "" {
		return f.Advice
	}
	return f.At + ": " + f.Advice
}
