package llm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
	"earshot/repositories/parameters"
)

// checkedCall is one tool call of an answer, with the result of checking it.
type checkedCall struct {
	call      provider.Call
	candidate matcher.Candidate
	// known is false for a tool that is not in scope; duplicate is true for a call that
	// repeats an earlier one of the same answer.
	known     bool
	duplicate bool
	repaired  bool
	reading   parameters.Reading
	// given are the arguments by the names of the parameters; unread, that they cannot be
	// read. number is the call's among those of the trace.
	given  map[string]any
	unread bool
	number int
	// finds is true for a call that looks for tools by words.
	finds bool
	words string
}

// faulty reports whether the call must not set anything off as it is.
func (f checkedCall) faulty() bool { return f.known && !f.duplicate && len(f.reading.Errors) > 0 }

// sound reports whether the call is a match.
func (f checkedCall) sound() bool { return f.known && !f.duplicate && len(f.reading.Errors) == 0 }

// checkedAnswer is what an answer says, with every call checked.
type checkedAnswer struct {
	text  string
	calls []checkedCall
}

// read parses an answer. Calls inside the text count only if there are no others.
func (t *llmTurn) read(answer provider.Completion) checkedAnswer {
	text, calls := withoutThoughts(answer.Text), answer.Calls
	if len(calls) == 0 {
		calls, text = readInText(text, func(name string) bool {
			_, known := t.names.find(name)
			return known || name == t.finder && name != ""
		})
	}
	t.round++
	read := checkedAnswer{text: text}
	seen := map[string]bool{}
	for i, call := range calls {
		found := t.check(t.identified(i, call))
		key := found.key()
		found.duplicate = seen[key]
		seen[key] = true
		found.number = t.note(found)
		read.calls = append(read.calls, found)
	}
	return read
}

// identified gives the call an id where it has none, or one that is taken.
func (t *llmTurn) identified(i int, call provider.Call) provider.Call {
	if call.ID == "" || t.ids[call.ID] {
		call.ID = t.newID(strconv.Itoa(i), call.Name, call.Arguments)
	}
	t.ids[call.ID] = true
	return call
}

// check finds the tool that a call names and reads its arguments.
func (t *llmTurn) check(call provider.Call) checkedCall {
	found := checkedCall{call: call}
	if found.words, found.finds = t.finds(call); found.finds {
		return found
	}
	found.candidate, found.known = t.names.find(call.Name)
	if !found.known {
		return found
	}
	params := found.candidate.Tool.Params()
	arguments, repaired, err := arguments.Read(call.Arguments)
	if err != nil && !params.Infers() {
		// There is nothing to say to this tool, so that nothing is lost.
		arguments, repaired, err = nil, true, nil
	}
	found.repaired = repaired
	found.unread = err != nil
	found.given = offerOf(found.candidate, t.names.alias(found.candidate.Tool.Name)).named(arguments)
	whole := t.request.Complete(found.candidate, found.given)
	found.reading, _ = evidence.Read(t.request, whole, found.candidate.Tool)
	if err != nil {
		fault := parameters.ValueFault{Detail: err.Error()}
		found.reading.Errors = append([]parameters.ValueFault{fault}, found.reading.Errors...)
	}
	return found
}

// key is equal for calls of one tool with the same values. A call whose arguments cannot be
// read is equal to no other.
func (f checkedCall) key() string {
	if !f.known {
		return f.call.ID
	}
	if f.faulty() {
		return f.candidate.Tool.Name + " " + f.call.Arguments
	}
	return f.candidate.Tool.Name + " " + arguments.Encode(f.reading.Values)
}

// shownFaults returns the faults without those of parameters that are hidden from the
// model: it did not cause them, and must not learn even their names.
func (f checkedCall) shownFaults() []parameters.ValueFault {
	params := f.candidate.Tool.Params()
	shown := properties(params.ModelSchema())
	return slices.DeleteFunc(slices.Clone(f.reading.Errors), func(fault parameters.ValueFault) bool {
		return slices.Contains(params.Names(), fault.Parameter) && !slices.Contains(shown, fault.Parameter)
	})
}

// verdict is what the model is told about a call when its answer is sent back; about a search,
// what was found.
func (f checkedCall) verdict(found string) string {
	switch {
	case f.finds:
		return found
	case !f.known:
		return "There is no such tool. Do not call it."
	case !f.correctable():
		return "Accepted. Do not repeat this call."
	}
	var faults []string
	for _, fault := range f.shownFaults() {
		faults = append(faults, strings.TrimPrefix(fmt.Sprintf("%s: %s", fault.Parameter, fault.Detail), ": "))
	}
	return "Not accepted: " + strings.Join(faults, "; ") +
		". Call the tool again with this put right from what the conversation says. Leave out what nobody said; do not invent it."
}
