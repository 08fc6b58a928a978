package llm

import (
	"cmp"
	"iter"
	"regexp"
	"strings"
)

// Forms in which models without tool calling write calls into their text. RE2 has no
// back references: an opening mark is taken to end at the next closing one, or with
// the text where a stop sequence ate it.
var (
	// Hermes, Qwen and many after them.
	taggedCall = regexp.MustCompile(`(?s)<\|?(?:tool_calls?|function_calls?)\|?>(.*?)(?:<\|?/(?:tool_calls?|function_calls?)\|?>|$)`)
	// Mistral: a list of calls, or name[ARGS]{…}, to the end of the text.
	mistralCall  = regexp.MustCompile(`(?s)\[TOOL_CALLS\](.*)$`)
	mistralNamed = regexp.MustCompile(`^\s*([A-Za-z0-9_.:/-]+)\s*\[ARGS\]`)
	// Llama with JSON between the marks, Qwen's coders with marks for each value.
	functionCallMark = regexp.MustCompile(`(?s)<function=([^>\s]+)>(.*?)(?:</function>|$)`)
	functionValue    = regexp.MustCompile(`(?s)<parameter=([^>]+)>\s*(.*?)\s*</parameter>`)

	fencedCall = regexp.MustCompile("(?s)```[A-Za-z_]*\\s*([\\[{].*?[\\]}])\\s*```")
	looksNamed = regexp.MustCompile(`"name"\s*:\s*"([^"]{1,128})"`)
)

// maxInText bounds the text that is searched for calls, in bytes.
const maxInText = 64 << 10

// readInText finds the calls that stand in a model's text, and returns the text without them. Calls
// between marks are taken whatever they name. Bare JSON, or JSON in a Markdown fence, is a call
// only if known accepts its name, since it may just as well be what the user asked to see.
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
	// take reads the calls out of every place that form matches, in order, and removes the places
	// that read accepts.
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

	var kept strings.Builder // what is no call
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

// markedCalls reads what stands between marks: one call, a list of them, or several one
// after the other. If only the name can be read, the call is kept as it is, so that it goes
// back to the model instead of getting lost.
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

// functionArguments returns what stands between the marks of a function as JSON.
// Values that have marks of their own are text, or JSON if they are no scalar.
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

// withoutThoughts removes a model's reasoning from its text: it is not meant for the user,
// and a call that is only considered there is not made. Some servers give the opening mark
// themselves, so that everything before a lone closing one is reasoning.
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

// maxOpenings bounds how many places of a text are tried for a JSON value, so that a
// text of nothing but brackets costs no more than reading it as often.
const maxOpenings = 32

// valuesIn iterates over the objects and lists in a text that end within it, each with what stands
// before it, and then over what is left, with no value.
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

// extent returns the length of the object or list that the text begins with, or zero
// if it does not end. Brackets within strings do not count.
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

// callsOf reads a text as calls.
func callsOf(text string) ([]toolCall, bool) {
	value, _, err := readValue(text)
	if err != nil {
		return nil, false
	}
	return callsIn(value)
}

// callsIn reads a value as calls: an object with a name and its arguments, such an object under
// "function", several of them under "tool_calls", or a list of any. An object without arguments
// is no call: it could be anything that has a name.
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
		arguments, is := given.(string)
		if !is {
			arguments = encodeJSON(given)
		}
		return []toolCall{{name: name, arguments: arguments}}, true
	}
	return nil, false
}

// firstOf returns the first of the named members that the object has.
func firstOf(object map[string]any, members ...string) any {
	for _, member := range members {
		if value, has := object[member]; has {
			return value
		}
	}
	return nil
}
