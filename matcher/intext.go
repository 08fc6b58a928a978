package matcher

import (
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
	functionCall  = regexp.MustCompile(`(?s)<function=([^>\s]+)>(.*?)(?:</function>|$)`)
	functionValue = regexp.MustCompile(`(?s)<parameter=([^>]+)>\s*(.*?)\s*</parameter>`)

	fencedCall = regexp.MustCompile("(?s)```[A-Za-z_]*\\s*([\\[{].*?[\\]}])\\s*```")
	looksNamed = regexp.MustCompile(`"name"\s*:\s*"([^"]{1,128})"`)
)

// mostInText bounds the text that is searched for calls, in bytes.
const mostInText = 64 << 10

// readInText finds the calls that stand in a model's text, and returns the text
// without them. Calls between marks are taken whatever they name; JSON that stands
// bare or in a Markdown fence is a call only where known accepts its name, since it may
// as well be what the user asked to see.
func readInText(text string, known func(name string) bool) (calls []toolCall, rest string) {
	if len(text) > mostInText {
		return nil, text
	}
	s := inText{rest: text}
	s.take(functionCall, func(parts []string) ([]toolCall, bool) {
		return []toolCall{{Name: parts[1], Arguments: functionArguments(parts[2])}}, true
	})
	s.take(taggedCall, func(parts []string) ([]toolCall, bool) { return markedCalls(parts[1]), true })
	s.take(mistralCall, func(parts []string) ([]toolCall, bool) { return mistralCalls(parts[1]), true })
	s.take(fencedCall, func(parts []string) ([]toolCall, bool) { return knownCalls(parts[1], known) })
	if len(s.calls) == 0 {
		s.bare(known)
	}
	return s.calls, strings.TrimSpace(s.rest)
}

type inText struct {
	calls []toolCall
	rest  string
}

// take reads the calls out of every place that form matches, in order, and removes
// the places that read accepts.
func (s *inText) take(form *regexp.Regexp, read func(parts []string) ([]toolCall, bool)) {
	s.rest = form.ReplaceAllStringFunc(s.rest, func(place string) string {
		calls, accepted := read(form.FindStringSubmatch(place))
		if !accepted {
			return place
		}
		s.calls = append(s.calls, calls...)
		return ""
	})
}

// bare takes calls that stand in the text as JSON without any mark.
func (s *inText) bare(known func(string) bool) {
	var kept strings.Builder
	for rest := s.rest; ; {
		before, value, after, found := nextValue(rest)
		kept.WriteString(before)
		if !found {
			break
		}
		if calls, are := knownCalls(value, known); are {
			s.calls = append(s.calls, calls...)
		} else {
			kept.WriteString(value)
		}
		rest = after
	}
	if len(s.calls) > 0 {
		s.rest = strings.Trim(kept.String(), " \t\r\n;,")
	}
}

// markedCalls reads what stands between marks: one call, a list of them, or several
// one after the other. Where it cannot be read but for the name, the call is kept as
// it stands, so that it goes back to the model instead of getting lost.
func markedCalls(text string) []toolCall {
	var calls []toolCall
	for rest := text; ; {
		_, value, after, found := nextValue(rest)
		if !found {
			break
		}
		if read, are := callsOf(value); are {
			calls = append(calls, read...)
		}
		rest = after
	}
	if name := looksNamed.FindStringSubmatch(text); len(calls) == 0 && name != nil {
		return []toolCall{{Name: name[1], Arguments: text}}
	}
	return calls
}

// functionArguments returns what stands between the marks of a function as JSON.
// Values that have marks of their own are text, or JSON where they are no scalar.
func functionArguments(text string) string {
	marked := functionValue.FindAllStringSubmatch(text, -1)
	if marked == nil {
		return strings.TrimSpace(text)
	}
	arguments := map[string]any{}
	for _, one := range marked {
		arguments[one[1]] = one[2]
		if value, err := decodeStrict(one[2]); err == nil && strings.ContainsAny(one[2][:1], "{[") {
			arguments[one[1]] = value
		}
	}
	return encode(arguments)
}

func mistralCalls(text string) []toolCall {
	if named := mistralNamed.FindStringSubmatch(text); named != nil {
		arguments := text[len(named[0]):]
		if _, value, _, found := nextValue(arguments); found {
			arguments = value
		}
		return []toolCall{{Name: named[1], Arguments: arguments}}
	}
	return markedCalls(text)
}

// knownCalls reads calls all of which name known tools.
func knownCalls(text string, known func(string) bool) ([]toolCall, bool) {
	calls, are := callsOf(text)
	for _, call := range calls {
		are = are && known(call.Name)
	}
	return calls, are
}
