package llm

import (
	"cmp"
	"iter"
	"regexp"
	"strings"
)

// Forms in which models without tool calling write calls into their text. RE2 has no back references: an opening
// mark ends at the next closing one, or at the end of a text cut by a stop sequence.
var (
	// Hermes, Qwen and many others.
	taggedCall = regexp.MustCompile(`(?s)<\|?(?:tool_calls?|function_calls?)\|?>(.*?)(?:<\|?/(?:tool_calls?|function_calls?)\|?>|$)`)
	// Mistral: a list of calls, or name[ARGS]{…}, to the end of the text.
	mistralCall  = regexp.MustCompile(`(?s)\[TOOL_CALLS\](.*)$`)
	mistralNamed = regexp.MustCompile(`^\s*([A-Za-z0-9_.:/-]+)\s*\[ARGS\]`)
	// Llama with JSON between the marks, Qwen's coders with marks around each value.
	functionCallMark = regexp.MustCompile(`(?s)<function=([^>\s]+)>(.*?)(?:</function>|$)`)
	functionValue    = regexp.MustCompile(`(?s)<parameter=([^>]+)>\s*(.*?)\s*</parameter>`)

	fencedCall = regexp.MustCompile("(?s)```[A-Za-z_]*\\s*([\\[{].*?[\\]}])\\s*```")
	looksNamed = regexp.MustCompile(`"name"\s*:\s*"([^"]{1,128})"`)
)

// maxInText bounds the text that is searched for calls, in bytes.
const maxInText = 64 << 10

// readInText finds the calls in a model's text, and returns the text without them. Marked calls count whatever tool
// they name. Bare or fenced JSON counts only if known accepts its name, because it may be content that the user
// asked for.
func readInText(text string, known func(name string) bool) (calls []toolCall, rest string) {
	if len(text) > maxInText {
		return nil, text
	}
	knownCalls := func(text string) ([]toolCall, bool) {
		found, are := callsOf(text)
		for _, call := range found {
			are = are && known(call.name)
		}
		return found, are
	}
	// take reads the calls at every match of form, in order, and removes the matches that read accepts.
	take := func(form *regexp.Regexp, read func(parts []string) ([]toolCall, bool)) {
		text = form.ReplaceAllStringFunc(text, func(place string) string {
			found, accepted := read(form.FindStringSubmatch(place))
			if !accepted {
				return place
			}
			calls = append(calls, found...)
			return ""
		})
	}
	take(functionCallMark, func(parts []string) ([]toolCall, bool) {
		return []toolCall{{name: parts[1], arguments: functionArguments(parts[2])}}, true
	})
	take(taggedCall, func(parts []string) ([]toolCall, bool) { return markedCalls(parts[1]), true })
	take(mistralCall, func(parts []string) ([]toolCall, bool) { return mistralCalls(parts[1]), true })
	take(fencedCall, func(parts []string) ([]toolCall, bool) { return knownCalls(parts[1]) })
	if len(calls) > 0 {
		return calls, strings.TrimSpace(text)
	}

	var kept strings.Builder // the text without calls
	for before, value := range valuesIn(text) {
		kept.WriteString(before)
		if bare, are := knownCalls(value); are {
			calls = append(calls, bare...)
		} else {
			kept.WriteString(value)
		}
	}
	if len(calls) > 0 {
		text = strings.Trim(kept.String(), " \t\r\n;,")
	}
	return calls, strings.TrimSpace(text)
}

// markedCalls reads the text between marks: one call, a list, or several in a row. If only the name is readable,
// the call is kept with its raw text, so that it is sent back to the model.
func markedCalls(text string) (calls []toolCall) {
	for _, value := range valuesIn(text) {
		if read, are := callsOf(value); are {
			calls = append(calls, read...)
		}
	}
	if name := looksNamed.FindStringSubmatch(text); len(calls) == 0 && name != nil {
		return []toolCall{{name: name[1], arguments: text}}
	}
	return calls
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

func mistralCalls(text string) []toolCall {
	named := mistralNamed.FindStringSubmatch(text)
	if named == nil {
		return markedCalls(text)
	}
	arguments := text[len(named[0]):]
	for _, value := range valuesIn(arguments) {
		return []toolCall{{name: named[1], arguments: cmp.Or(value, arguments)}}
	}
	return nil
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

// maxOpenings bounds the attempts to read a JSON value in a text, against texts full of brackets.
const maxOpenings = 32

// valuesIn iterates over the complete objects and lists in a text, each with the text before it, and finally over
// the remaining text with no value.
func valuesIn(text string) iter.Seq2[string, string] {
	return func(yield func(before, value string) bool) {
		for from, tried := 0, 0; tried < maxOpenings; tried++ {
			at := strings.IndexAny(text[from:], "{[")
			if at < 0 {
				break
			}
			from += at
			size := extent(text[from:])
			if size == 0 {
				from++
				continue
			}
			if !yield(text[:from], text[from:from+size]) {
				return
			}
			text, from, tried = text[from+size:], 0, -1
		}
		yield(text, "")
	}
}

// extent returns the length of the object or list that the text begins with, or zero if it does not end. Brackets
// within strings do not count.
func extent(text string) int {
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

// callsIn reads a value as calls: an object with a name and arguments, such an object under "function", several of
// them under "tool_calls", or a list of any. An object without arguments is no call: many objects have a name.
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
		for _, wrapper := range []string{"tool_calls", "function", "function_call", "tool_call"} {
			if inner, wrapped := value[wrapper]; wrapped {
				if _, named := inner.(string); !named {
					return callsIn(inner)
				}
			}
		}
		name, named := firstOf(value, "name", "function", "tool").(string)
		given := firstOf(value, "arguments", "parameters", "args")
		if !named || name == "" || given == nil {
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

// firstOf returns the first of the named members that the object has.
func firstOf(object map[string]any, members ...string) any {
	for _, member := range members {
		if value, ok := object[member]; ok {
			return value
		}
	}
	return nil
}
