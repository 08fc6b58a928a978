package bodies

import (
	"encoding/json"

	"earshot/repositories/exactjson"
)

// readFlawless reads a body that has nothing for a treeReader to find: it is JSON, in which
// no field is given twice and every number can be used, within all bounds. It takes half of
// the time, and bodies are mostly so. Where ok is false, nothing is known of the body.
func readFlawless(body []byte) (tree any, ok bool) {
	fields, ok := outline(body)
	if !ok {
		return nil, false
	}
	tree, err := exactjson.Decode(body)
	if err != nil {
		return nil, false
	}
	kept, ok := keptFields(tree)
	return tree, ok && kept == fields // fewer where one was given twice
}

// outline counts the colons outside of texts, of which JSON has one for each field, and
// reports whether no more can be in the text than a treeReader takes.
func outline(body []byte) (fields int, ok bool) {
	values, depth := 1, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		case ':':
			fields++
		case ',':
			values++
		case '{', '[':
			values++
			depth++
			if depth > maxNesting {
				return 0, false
			}
		case '}', ']':
			depth--
		}
	}
	return fields, values <= maxValues
}

// keptFields counts the fields of all objects in a tree; ok is false where a number cannot
// be used.
func keptFields(tree any) (fields int, ok bool) {
	ok = true
	add := func(member any) {
		more, fine := keptFields(member)
		fields, ok = fields+more, ok && fine
	}
	switch value := tree.(type) {
	case map[string]any:
		fields = len(value)
		for _, member := range value {
			add(member)
		}
	case []any:
		for _, member := range value {
			add(member)
		}
	case json.Number:
		ok = exactjson.NumberFlaw(value) == ""
	}
	return fields, ok
}
