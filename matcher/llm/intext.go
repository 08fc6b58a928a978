package llm

import (
	"regexp"
	"strings"

	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
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

// maxInText bounds the text that is searched for calls, in bytes.
const maxInText = 64 << 10

// readInText finds the calls that stand in a model's text, and returns the text without
// them. Calls between marks are taken whatever they name; Bare JSON, or JSON in a Markdown
// fence, is a call only if known accepts its name, since it may just as well be what the
// user asked to see.
func readInText(text string, known func(name string) bool) (calls []provider.Call, rest string) {
	if len(text) > maxInText {
		return nil, text
	}
	s := inText{rest: text}
	s.take(functionCall, func(parts []string) ([]provider.Call, bool) {
		return []provider.Call{{Name: parts[1], Arguments: functionArguments(parts[2])}}, true
	})
	s.take(taggedCall, func(parts []string) ([]provider.Call, bool) { return markedCalls(parts[1]), true })
	s.take(mistralCall, func(parts []string) ([]provider.Call, bool) { return mistralCalls(parts[1]), true })
	s.take(fencedCall, func(parts []string) ([]provider.Call, bool) { return knownCalls(parts[1], known) })
	if len(s.calls) == 0 {
		s.bare(known)
	}
	return s.calls, strings.TrimSpace(s.rest)
}

type inText struct {
	calls []provider.Call
	rest  string
}

// take reads the calls out of every place that form matches, in order, and removes
// the places that read accepts.
func (s *inText) take(form *regexp.Regexp, read func(parts []string) ([]provider.Call, bool)) {
	s.rest = form.ReplaceAllStringFunc(s.rest, func(place string) string {
		calls, accepted := read(form.FindStringSubmatch(place))
		if !accepted {
			return place
		}
		s.calls = append(s.calls, calls...)
		return ""
	})
}

// bare takes calls that are written in the text as JSON without any mark.
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

// markedCalls reads what stands between marks: one call, a list of them, or several one
// after the other. If only the name can be read, the call is kept as it is, so that it goes
// back to the model instead of getting lost.
func markedCalls(text string) []provider.Call {
	var calls []provider.Call
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
		return []provider.Call{{Name: name[1], Arguments: text}}
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
	given := map[string]any{}
	for _, one := range marked {
		given[one[1]] = one[2]
		if value, err := arguments.Decode(one[2]); err == nil && strings.ContainsAny(one[2][:1], "{[") {
			given[one[1]] = value
		}
	}
	return arguments.Encode(given)
}

func mistralCalls(text string) []provider.Call {
	if named := mistralNamed.FindStringSubmatch(text); named != nil {
		arguments := text[len(named[0]):]
		if _, value, _, found := nextValue(arguments); found {
			arguments = value
		}
		return []provider.Call{{Name: named[1], Arguments: arguments}}
	}
	return markedCalls(text)
}

// knownCalls reads calls all of which name known tools.
func knownCalls(text string, known func(string) bool) ([]provider.Call, bool) {
	calls, are := callsOf(text)
	for _, call := range calls {
		are = are && known(call.Name)
	}
	return calls, are
}

var (
	thought  = regexp.MustCompile(`(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	thinkEnd = regexp.MustCompile(`</think(?:ing)?>`)
)

// withoutThoughts removes a model's reasoning from its text: it is not meant for the user,
// and a call that is only considered there is not made. Some servers give the opening mark
// themselves, so that everything before a lone closing one is reasoning.
func withoutThoughts(text string) string {
	text = thought.ReplaceAllString(text, "")
	if ends := thinkEnd.FindAllStringIndex(text, -1); ends != nil {
		text = text[ends[len(ends)-1][1]:]
	}
	return strings.TrimSpace(text)
}

// maxOpenings bounds how many places of a text are tried for a JSON value, so that a
// text of nothing but brackets costs no more than reading it as often.
const maxOpenings = 32

// nextValue finds the first object or list in a text that ends within it, and returns
// what stands before it, itself, and what follows.
func nextValue(text string) (before, value, after string, found bool) {
	from := 0
	for range maxOpenings {
		at := strings.IndexAny(text[from:], "{[")
		if at < 0 {
			break
		}
		from += at
		if size := extent(text[from:]); size > 0 {
			return text[:from], text[from : from+size], text[from+size:], true
		}
		from++
	}
	return text, "", "", false
}

// extent returns the length of the object or list that the text begins with, or zero
// where it does not end. Brackets within strings do not count.
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

// callsOf reads a value as calls: an object with a name and its arguments, such an
// object under "function", several of them under "tool_calls", or a list of any.
func callsOf(text string) ([]provider.Call, bool) {
	value, _, err := arguments.ReadValue(text)
	if err != nil {
		return nil, false
	}
	return callsIn(value)
}

func callsIn(value any) ([]provider.Call, bool) {
	switch value := value.(type) {
	case []any:
		return callsInList(value)
	case map[string]any:
		for _, wrapper := range []string{"tool_calls", "function", "function_call", "tool_call"} {
			if inner, wrapped := value[wrapper]; wrapped {
				if _, named := inner.(string); !named {
					return callsIn(inner)
				}
			}
		}
		return callIn(value)
	default:
		return nil, false
	}
}

func callsInList(list []any) ([]provider.Call, bool) {
	var calls []provider.Call
	for _, item := range list {
		inner, are := callsIn(item)
		if !are {
			return nil, false
		}
		calls = append(calls, inner...)
	}
	return calls, len(calls) > 0
}

// callIn reads one call. An object without arguments is not a call: it could be anything
// that has a name.
func callIn(object map[string]any) ([]provider.Call, bool) {
	name, named := firstOf(object, "name", "function", "tool").(string)
	given := firstOf(object, "arguments", "parameters", "args")
	if !named || name == "" || given == nil {
		return nil, false
	}
	text, is := given.(string)
	if !is {
		text = arguments.Encode(given)
	}
	return []provider.Call{{Name: name, Arguments: text}}, true
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
