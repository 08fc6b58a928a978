package llm

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Forms in which models without tool calling write calls as their text. RE2 has no back references: an opening
// mark ends at the next closing one, or at the end of a text cut by a stop sequence.
var (
	// Hermes, Qwen and many others.
	taggedCall = regexp.MustCompile(`(?s)^<\|?(?:tool_calls?|function_calls?)\|?>(.*?)(?:<\|?/(?:tool_calls?|function_calls?)\|?>|$)`)
	// Mistral: a list of calls, or name[ARGS]{…}.
	mistralMark  = regexp.MustCompile(`^\[TOOL_CALLS\]\s*`)
	mistralNamed = regexp.MustCompile(`^\[TOOL_CALLS\]\s*([A-Za-z0-9_.:/-]+)\s*\[ARGS\]\s*`)
	// Llama with JSON between the marks, Qwen's coders with marks around each value.
	functionCallMark = regexp.MustCompile(`(?s)^<function=([^>\s]+)>(.*?)(?:</function>|$)`)
	functionValue    = regexp.MustCompile(`(?s)<parameter=([^>]+)>\s*(.*?)\s*</parameter>`)

	fencedCall = regexp.MustCompile("(?s)^```[A-Za-z_]*\\s*([\\[{].*?[\\]}])\\s*```")
	cutCall    = regexp.MustCompile(`^\s*\{\s*"name"\s*:\s*"([^"]{1,128})"\s*,\s*"(?:arguments|parameters|args)"\s*:`)
)

// maxInText bounds the text that is read as calls, in bytes.
const maxInText = 64 << 10

// between are the characters that may stand between calls.
const between = " \t\r\n;,"

// readInText reads a model's text as calls. If anything else is in it, the text is returned whole, with no calls:
// models also quote calls, for example those of a page or of the user, and refuse them. Marked calls count whatever
// tool they name. Bare or fenced JSON counts only if known accepts its name, because it may be content that the user
// asked for.
func readInText(text string, known func(name string) bool) (calls []toolCall, rest string) {
	text = strings.TrimSpace(text)
	if len(text) > maxInText {
		return nil, text
	}
	unknown := func(call toolCall) bool { return !known(call.name) }
	calls = onlyCalls(strings.TrimSuffix(text, "</s>"), func(text string) ([]toolCall, int) {
		found, size, marked := firstCalls(text)
		if !marked && slices.ContainsFunc(found, unknown) {
			return nil, 0
		}
		return found, size
	})
	if len(calls) == 0 || len(calls) > maxCalls {
		return nil, text
	}
	return calls, ""
}

// onlyCalls reads a text that consists of calls, or returns none. first reads those that a text begins with, and
// returns their length.
func onlyCalls(text string, first func(text string) ([]toolCall, int)) (calls []toolCall) {
	for text = strings.Trim(text, between); text != ""; text = strings.TrimLeft(text, between) {
		found, size := first(text)
		if len(found) == 0 {
			return nil
		}
		calls, text = append(calls, found...), text[size:]
	}
	return calls
}

func firstCalls(text string) (calls []toolCall, size int, marked bool) {
	if calls, size = markedFunction(text); size > 0 {
		return calls, size, true
	}
	if tagged := taggedCall.FindStringSubmatch(text); tagged != nil {
		return markedCalls(tagged[1]), len(tagged[0]), true
	}
	if named := mistralNamed.FindStringSubmatch(text); named != nil {
		arguments := text[len(named[0]):]
		if !strings.HasPrefix(arguments, "{") {
			return nil, 0, true
		}
		arguments = arguments[:cmp.Or(extent(arguments), len(arguments))]
		return []toolCall{{name: named[1], arguments: arguments}}, len(named[0]) + len(arguments), true
	}
	if fenced := fencedCall.FindStringSubmatch(text); fenced != nil {
		return onlyCalls(fenced[1], bareCalls), len(fenced[0]), false
	}
	mark := len(mistralMark.FindString(text))
	calls, size = bareCalls(text[mark:])
	return calls, mark + size, mark > 0
}

func bareCalls(text string) ([]toolCall, int) {
	size := extent(text)
	calls, _ := callsOf(text[:size])
	return calls, size
}

// markedCalls reads the text between marks. If a single call was cut, it is kept with its raw text, so that it is
// sent back to the model.
func markedCalls(text string) []toolCall {
	if name := cutCall.FindStringSubmatch(text); name != nil && extent(strings.TrimSpace(text)) == 0 {
		return []toolCall{{name: name[1], arguments: text}}
	}
	return onlyCalls(text, func(text string) ([]toolCall, int) {
		if calls, size := markedFunction(text); size > 0 {
			return calls, size
		}
		return bareCalls(text)
	})
}

// markedFunction reads the call between a function's marks that a text begins with. An object in it may be cut.
func markedFunction(text string) ([]toolCall, int) {
	parts := functionCallMark.FindStringSubmatch(text)
	if parts == nil {
		return nil, 0
	}
	given := strings.TrimSpace(functionValue.ReplaceAllString(parts[2], ""))
	if size := extent(given); given != "" && (given[0] != '{' || size > 0 && size < len(given)) {
		return nil, 0
	}
	return []toolCall{{name: parts[1], arguments: functionArguments(parts[2])}}, len(parts[0])
}

// functionArguments returns the text between a function's marks as JSON. Values with their own marks are text, or
// JSON if they are objects or lists.
func functionArguments(text string) string {
	marked := functionValue.FindAllStringSubmatch(text, -1)
	if marked == nil {
		return strings.TrimSpace(text)
	}
	given := map[string]any{}
	for _, one := range marked {
		given[one[1]] = one[2]
		if value, err := decodeJSON(one[2]); err == nil && strings.ContainsAny(one[2][:1], "{[") {
			given[one[1]] = value
		}
	}
	return encodeJSON(given)
}

var (
	thought  = regexp.MustCompile(`(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	thinkEnd = regexp.MustCompile(`</think(?:ing)?>`)
)

// withoutThoughts removes a model's reasoning, which is not meant for the user, and whose calls are only
// considered. Some servers write the opening mark themselves, so all text before a lone closing mark is reasoning.
func withoutThoughts(text string) string {
	if !strings.Contains(text, "think") {
		return strings.TrimSpace(text)
	}
	text = thought.ReplaceAllString(text, "")
	if ends := thinkEnd.FindAllStringIndex(text, -1); ends != nil {
		text = text[ends[len(ends)-1][1]:]
	}
	return strings.TrimSpace(text)
}

// extent returns the length of the object or list that the text begins with, or zero if it begins with none or does
// not end. Brackets within strings do not count.
func extent(text string) int {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return 0
	}
	depth, inString, escaped := 0, false, false
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func callsOf(text string) ([]toolCall, bool) {
	value, _, err := readValue(text)
	if err != nil {
		return nil, false
	}
	return callsIn(value)
}

// callsIn reads a value as calls: an object with nothing but a name and arguments, such an object under "function",
// several of them under "tool_calls", or a list of any. The id and the type of a call may stand beside. An object
// with other members is no call: a line of a log and the definition of a tool have a name and parameters, too.
func callsIn(value any) (calls []toolCall, are bool) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			inner, are := callsIn(item)
			if !are {
				return nil, false
			}
			calls = append(calls, inner...)
		}
		return calls, len(calls) > 0
	case map[string]any:
		members := maps.Clone(value)
		delete(members, "id")
		if members["type"] == "function" {
			delete(members, "type")
		}
		if len(members) == 1 {
			return callsIn(firstOf(members, "tool_calls", "function", "function_call", "tool_call"))
		}
		name, named := firstOf(members, "name", "function", "tool").(string)
		given := firstOf(members, "arguments", "parameters", "args")
		if len(members) != 2 || !named || name == "" || given == nil || isSchema(given) {
			return nil, false
		}
		arguments, ok := given.(string)
		if !ok {
			arguments = encodeJSON(given)
		}
		return []toolCall{{name: name, arguments: arguments}}, true
	}
	return nil, false
}

// isSchema reports whether the value is a JSON Schema of parameters, as a definition has it.
func isSchema(given any) bool {
	object, _ := given.(map[string]any)
	_, lists := object["properties"].(map[string]any)
	return object["type"] == "object" && lists
}

func firstOf(object map[string]any, members ...string) any {
	for _, member := range members {
		if value, ok := object[member]; ok {
			return value
		}
	}
	return nil
}
