package explain

import (
	"cmp"
	"fmt"
	"strings"

	"earshot/matcher"
)

// Why describes in a sentence the outcome of a message with so many tools in scope.
func Why(d Decision, candidates int) string {
	const usual = 4 // names that need no allocation
	fired, rejected := make([]string, 0, usual), make([]string, 0, usual)
	for i, call := range d.Trace.Calls {
		name := call.Name
		if call.Tool != nil { // a model may write the name in another way
			name = call.Tool.Name
		}
		if call.Repository != nil {
			name = call.Repository.ID + "/" + name
		}
		switch verdict := d.verdict(i); verdict.Verdict {
		case Fired:
			if verdict.Only != "" {
				name += " (" + verdict.Only + ")"
			}
			fired = append(fired, name)
		case Rejected:
			rejected = append(rejected, name)
		}
	}
	switch {
	case len(fired) > 0 && len(rejected) > 0:
		return fmt.Sprintf("Fired %s; rejected %s for its values.", strings.Join(fired, ", "), strings.Join(rejected, ", "))
	case len(fired) > 0:
		return "Fired " + strings.Join(fired, ", ") + "."
	case len(rejected) > 0:
		return fmt.Sprintf("Nothing fired: %s was called for, and its values are not valid.", strings.Join(rejected, ", "))
	case len(d.Trace.Calls) > 0:
		last := len(d.Trace.Calls) - 1
		dropped := cmp.Or(d.verdict(last).Why, d.Trace.Calls[last].Dropped)
		return "Nothing fired: what was called for was dropped (" + strings.TrimSuffix(dropped, ".") + ")."
	case candidates == 0:
		return "Nothing fired: no tool is in scope."
	}
	return "Nothing fired: " + cmp.Or(d.Trace.Silence, "no tool was called for") + "."
}

// WhyFired returns why a call found by a stage of matching fires.
func WhyFired(stage string) string {
	switch stage {
	case matcher.StageExact:
		return "The text is that of the tool: its name, its description or one of its examples."
	case matcher.StageOffline:
		return "The words of the message call for it, with values that the tool takes."
	}
	return "The model called it, with values that the tool takes."
}

// WhyRejected returns the faults of a call's values.
func WhyRejected(rejected matcher.Rejected) string {
	var faults []string
	for _, fault := range rejected.Errors {
		faults = append(faults, strings.TrimSpace(fault.Parameter+" "+fault.Detail))
	}
	return "Its values are not valid: " + strings.Join(faults, "; ") + "."
}

// WhyDropped returns why a match does not fire while others do.
func WhyDropped(match matcher.Match, fires []matcher.Match) string {
	for _, other := range fires {
		if other.Repository.Options.Exclusive && !match.Repository.Options.Exclusive {
			return fmt.Sprintf("Repository %s is exclusive and its tool %s fires, so that no tool of other repositories does.", other.Repository.ID, other.Tool.Name)
		}
	}
	for _, other := range fires {
		if other.Repository == match.Repository {
			return fmt.Sprintf("Repository %s fires once, and its tool %s came first.", other.Repository.ID, other.Tool.Name)
		}
	}
	return "Another tool came first."
}
