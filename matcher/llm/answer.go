package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
)

// checkedCall is one tool call of an answer with the result of its check.
type checkedCall struct {
	call      toolCall
	candidate matcher.Candidate
	// known is false for a tool out of scope. duplicate is true if the call repeats an earlier one of the answer.
	known     bool
	duplicate bool
	repaired  bool
	reading   parameters.Reading
	// shown are the faults except those of parameters that are hidden from the model: it did not cause them, and
	// must not even learn their names.
	shown []parameters.ValueFault
	// given are the arguments by parameter name; unread is why they cannot be read. number is the call's index in the
	// trace, from 1.
	given  map[string]any
	unread error
	number int
	finds  bool // true for a call of the tool search; words is its query
	words  string
}

// faulty reports whether the call has arguments that must not be used.
func (c checkedCall) faulty() bool { return c.known && !c.duplicate && len(c.reading.Errors) > 0 }

func (c checkedCall) sound() bool { return c.known && !c.duplicate && len(c.reading.Errors) == 0 }

// correctable reports whether the model can correct any of the call's faults.
func (c checkedCall) correctable() bool { return c.faulty() && len(c.shown) > 0 }

// key is equal for calls of one tool with the same values. A call with unreadable arguments equals only itself.
func (c checkedCall) key() string {
	if !c.known {
		return c.call.id
	}
	if c.faulty() {
		return c.candidate.Tool.Name + " " + c.call.arguments
	}
	return c.candidate.Tool.Name + " " + encodeJSON(normal(c.reading.Values))
}

// normal returns a value with its numbers in their normal form: 50 and 50.0 are the same amount.
func normal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		members := make(map[string]any, len(value))
		for name, member := range value {
			members[name] = normal(member)
		}
		return members
	case []any:
		return lists.Map(value, normal)
	case json.Number:
		if decimal, ok := exactjson.ParseDecimal(value.String()); ok {
			return json.Number(decimal.Normal())
		}
	}
	return value
}

// checkedAnswer is an answer with every call checked.
type checkedAnswer struct {
	text  string
	calls []checkedCall
}

func (a checkedAnswer) has(such func(checkedCall) bool) bool {
	return slices.ContainsFunc(a.calls, such)
}

func (a checkedAnswer) searches() bool { return a.has(func(c checkedCall) bool { return c.finds }) }

func (a checkedAnswer) onlyUnknown() bool {
	return len(a.calls) > 0 && !a.has(func(c checkedCall) bool { return c.known || c.finds })
}

// read parses an answer. Calls inside the text count only if there are no others. A missing or duplicate call id is
// replaced.
func (t *llmTurn) read(answer completion) checkedAnswer {
	text, calls := withoutThoughts(answer.text), answer.calls
	if len(calls) == 0 {
		calls, text = readInText(text, func(name string) bool {
			_, known := t.names.find(name)
			return known || name == t.finder && name != ""
		})
	}
	t.round++
	read, seen := checkedAnswer{text: text, calls: make([]checkedCall, 0, len(calls))}, map[string]bool{}
	for i, call := range calls {
		if call.id == "" || slices.Contains(t.ids, call.id) {
			call.id = t.newID(strconv.Itoa(i), call.name, call.arguments)
		} else {
			t.ids = append(t.ids, call.id)
		}
		found := t.check(call)
		if len(calls) > 1 {
			key := found.key()
			found.duplicate = seen[key]
			seen[key] = true
		}
		found.number = t.note(found)
		read.calls = append(read.calls, found)
	}
	return read
}

func (t *llmTurn) check(call toolCall) checkedCall {
	found := checkedCall{call: call}
	if found.words, found.finds = t.searchedFor(call); found.finds {
		return found
	}
	found.candidate, found.known = t.names.find(call.name)
	if !found.known {
		return found
	}
	params := found.candidate.Tool.Params()
	arguments, repaired, err := ReadArguments(call.arguments)
	if err != nil && !params.Infers() {
		// A tool without inferred values loses nothing.
		arguments, repaired, err = nil, true, nil
	}
	found.repaired, found.unread, found.given = repaired, err, arguments
	offered := offerOf(found.candidate, t.names.alias(found.candidate.Tool.Name))
	if len(offered.names) > 0 {
		found.given = make(map[string]any, len(arguments))
		for alias, value := range arguments {
			found.given[offered.parameter(alias)] = value
		}
	}
	whole := t.request.Complete(found.candidate, found.given)
	found.reading, _ = evidence.Read(t.request, whole, found.candidate.Tool)
	if err != nil {
		found.reading.Errors = append([]parameters.ValueFault{{Detail: unreadableDetail(found.candidate.Tool.Name, call.arguments, err)}}, found.reading.Errors...)
	}
	for _, fault := range found.reading.Errors {
		if !params.Hidden(fault.Parameter) {
			found.shown = append(found.shown, fault)
		}
	}
	return found
}

// searchedFor reports whether a call is of the tool search, and returns its query. If its name is only similar to
// the search's, a tool with that name takes precedence.
func (t *llmTurn) searchedFor(call toolCall) (words string, ok bool) {
	if t.finder == "" {
		return "", false
	}
	if call.name != t.finder {
		bare := strings.TrimSpace(withoutPrefix(call.name))
		if _, known := t.names.find(call.name); known || parameters.FoldName(bare) != parameters.FoldName(t.finder) {
			return "", false
		}
	}
	given, _, err := ReadArguments(call.arguments)
	if err != nil {
		return call.arguments, true // it contains the query
	}
	var query []string
	for _, value := range given { // under any name; the order of words does not matter
		query = append(query, textsIn(value)...)
	}
	slices.Sort(query)
	return strings.Join(query, " "), true
}

func textsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			texts = append(texts, textsIn(one)...)
		}
	}
	return texts
}

func (t *llmTurn) note(call checkedCall) int {
	if t.trace == nil {
		return 0
	}
	noted := matcher.Call{
		Candidate: call.candidate, Name: call.call.name, Arguments: call.given, Repaired: call.repaired,
		Coerced: call.reading.Coerced, Ignored: call.reading.Dropped, Errors: call.reading.Errors, Round: t.round,
	}
	if call.unread != nil || !call.known {
		noted.Unread = call.call.arguments
	}
	switch {
	case call.finds:
		noted.Dropped = fmt.Sprintf("The model looked for more tools, with the words %q.", call.words)
	case !call.known:
		noted.Dropped = "No tool in scope has this name: the model made it up."
	case call.duplicate:
		noted.Dropped = "It repeats an earlier call of the same answer."
	}
	return t.trace.Add(noted)
}

// sendBack renders the model's answer, followed by a verdict on each call. found is the verdict on a search: its
// result.
func (a checkedAnswer) sendBack(found string) []chatMessage {
	messages := []chatMessage{{role: roleAssistant, text: a.text}}
	for _, made := range a.calls {
		verdict := "Accepted. Do not repeat this call."
		switch {
		case made.finds:
			verdict = found
		case !made.known:
			verdict = "There is no such tool. Do not call it."
		case made.correctable():
			var faults []string
			shown := made.shown
			if made.unread != nil { // the rest is for people
				faults, shown = []string{made.unread.Error()}, shown[1:]
			}
			for _, fault := range shown {
				faults = append(faults, strings.TrimPrefix(fmt.Sprintf("%s: %s", fault.Parameter, fault.Detail), ": "))
			}
			verdict = "Not accepted: " + strings.Join(faults, "; ") +
				". Call the tool again with this put right from what the conversation says. Leave out what nobody said; do not invent it."
		}
		messages[0].calls = append(messages[0].calls, made.call)
		messages = append(messages, chatMessage{
			role: roleTool, callID: made.call.id, text: verdict, failed: !made.finds && !made.known || made.correctable(),
		})
	}
	return messages
}
