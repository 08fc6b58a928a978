package matcher

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories"
)

// finding is one call of an answer and what was made of it.
type finding struct {
	call      toolCall
	candidate Candidate
	// known is false for a tool that is not in scope; duplicate is true for a call
	// that an earlier one of the same answer equals.
	known     bool
	duplicate bool
	repaired  bool
	reading   repositories.Reading
}

// faulty reports whether the call must not set anything off as it is.
func (f finding) faulty() bool { return f.known && !f.duplicate && len(f.reading.Errors) > 0 }

// sound reports whether the call is a match.
func (f finding) sound() bool { return f.known && !f.duplicate && len(f.reading.Errors) == 0 }

// readAnswer is what an answer says, with every call checked.
type readAnswer struct {
	text     string
	findings []finding
}

// read takes an answer apart. Calls in the text count where there are no others.
func (t *turn) read(answer completion) readAnswer {
	text, calls := withoutThoughts(answer.Text), answer.Calls
	if len(calls) == 0 {
		calls, text = readInText(text, func(name string) bool {
			_, known := t.names.find(name)
			return known
		})
	}
	read := readAnswer{text: text}
	seen := map[string]bool{}
	for i, call := range calls {
		found := t.check(t.identified(i, call))
		key := found.key()
		found.duplicate = seen[key]
		seen[key] = true
		read.findings = append(read.findings, found)
	}
	return read
}

// identified gives the call an id where it has none, or one that is taken.
func (t *turn) identified(i int, call toolCall) toolCall {
	if call.ID == "" || t.ids[call.ID] {
		call.ID = t.newID(strconv.Itoa(i), call.Name, call.Arguments)
	}
	t.ids[call.ID] = true
	return call
}

// check finds the tool that a call names and reads its arguments.
func (t *turn) check(call toolCall) finding {
	found := finding{call: call}
	found.candidate, found.known = t.names.find(call.Name)
	if !found.known {
		return found
	}
	params := found.candidate.Tool.Params()
	arguments, repaired, err := readArguments(call.Arguments)
	if err != nil && !params.Infers() {
		// There is nothing to say to this tool, so that nothing is lost.
		arguments, repaired, err = nil, true, nil
	}
	found.repaired = repaired
	given := unalias(arguments, params.ModelSchema())
	found.reading = params.Read(t.request.completed(found.candidate, given))
	if err != nil {
		fault := repositories.ValueFault{Detail: err.Error()}
		found.reading.Errors = append([]repositories.ValueFault{fault}, found.reading.Errors...)
	}
	found.reading.Errors = append(found.reading.Errors, Ungrounded(t.request, found.reading, found.candidate.Tool)...)
	return found
}

// key is equal for calls of one tool with the same values. What cannot be read
// equals only itself.
func (f finding) key() string {
	if !f.known {
		return f.call.ID
	}
	if f.faulty() {
		return f.candidate.Tool.Name + " " + f.call.Arguments
	}
	return f.candidate.Tool.Name + " " + encode(f.reading.Values)
}

// shownFaults returns the faults but for those of parameters that the model is not
// shown: they are none of its making, and not even their names are its business.
func (f finding) shownFaults() []repositories.ValueFault {
	params := f.candidate.Tool.Params()
	shown := properties(params.ModelSchema())
	return slices.DeleteFunc(slices.Clone(f.reading.Errors), func(fault repositories.ValueFault) bool {
		return slices.Contains(params.Names(), fault.Parameter) && !slices.Contains(shown, fault.Parameter)
	})
}

// verdict is what the model is told of a call when its answer goes back.
func (f finding) verdict() string {
	switch {
	case !f.known:
		return "There is no such tool. Do not call it."
	case !f.curable():
		return "Accepted. Do not repeat this call."
	}
	var faults []string
	for _, fault := range f.shownFaults() {
		faults = append(faults, strings.TrimPrefix(fmt.Sprintf("%s: %s", fault.Parameter, fault.Detail), ": "))
	}
	return "Not accepted: " + strings.Join(faults, "; ") +
		". Call the tool again with this put right from what the conversation says. Leave out what nobody said; do not invent it."
}
