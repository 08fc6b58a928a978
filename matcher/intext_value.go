package matcher

import "strings"

// mostOpenings bounds how many places of a text are tried for a JSON value, so that a
// text of nothing but brackets costs no more than reading it as often.
const mostOpenings = 32

// nextValue finds the first object or list in a text that ends within it, and returns
// what stands before it, itself, and what follows.
func nextValue(text string) (before, value, after string, found bool) {
	from := 0
	for range mostOpenings {
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
func callsOf(text string) ([]toolCall, bool) {
	value, _, err := readValue(text)
	if err != nil {
		return nil, false
	}
	return callsIn(value)
}

func callsIn(value any) ([]toolCall, bool) {
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

func callsInList(list []any) ([]toolCall, bool) {
	var calls []toolCall
	for _, item := range list {
		inner, are := callsIn(item)
		if !are {
			return nil, false
		}
		calls = append(calls, inner...)
	}
	return calls, len(calls) > 0
}

// callIn reads one call. An object without arguments is none: it could be anything
// that has a name.
func callIn(object map[string]any) ([]toolCall, bool) {
	name, named := firstOf(object, "name", "function", "tool").(string)
	arguments := firstOf(object, "arguments", "parameters", "args")
	if !named || name == "" || arguments == nil {
		return nil, false
	}
	text, is := arguments.(string)
	if !is {
		text = encode(arguments)
	}
	return []toolCall{{Name: name, Arguments: text}}, true
}

// firstOf returns the first member of the object that is there.
func firstOf(object map[string]any, members ...string) any {
	for _, member := range members {
		if value, has := object[member]; has {
			return value
		}
	}
	return nil
}
