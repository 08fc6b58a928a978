package values

import (
	"earshot/matcher/datetime"
	"earshot/repositories"
)

// Kinds are the parameters of a tool that a model may fill, by what their values can be.
type Kinds struct {
	All []string // the names of all
	// Free are those whose value can be any words.
	Free []string
	// Chosen are those whose value no other words can be: numbers, and values among a few.
	Chosen []string
	// Formatted are those whose value has a form that the words of users do not have: dates, times, durations.
	Formatted []string
	// Timed says that one of them holds a date, a time of day or an amount of time.
	Timed bool
}

// KindsOf tells the parameters of a tool apart. The lists are shared, and not to be changed.
func KindsOf(tool *repositories.Tool) Kinds { return askedBy(tool).kinds }

// Mention is a value that a text names, in the words from First to before End.
type Mention struct {
	Value      any
	First, End int
}

// Choices lists by parameter the values among the allowed ones that a text names, where it names
// more than one: a list takes them all, and any other parameter none.
func Choices(said *datetime.Text, tool *repositories.Tool) map[string][]Mention {
	found := map[string][]Mention{}
	r := choiceReader{newFiller(said, tool)}
	for _, s := range r.open {
		if len(s.Allowed) == 0 || s.Type == "array" || s.Type == "boolean" {
			continue
		}
		if all := r.mentions(s, s.Allowed); len(all) > 1 {
			for _, m := range all {
				found[s.Name] = append(found[s.Name], Mention{m.value, m.first, m.end})
			}
		}
	}
	return found
}
