package files

import (
	"github.com/goccy/go-yaml/ast"
)

// object reads a map: its own fields, then what << merges into it.
func (r *yamlReader) object(from ast.Node, values []*ast.MappingValueNode, depth int) (*node, error) {
	made := newObject(r.placeOf(from.GetToken()))
	seen := map[string]place{}
	var merged []*node
	for i, pair := range values {
		at := r.placeOf(pair.Key.GetToken())
		if i == 0 && !isFlow(from) {
			made.at = at // the parser's place of a block is that of its first colon
		}
		value, err := r.read(valueOf(pair), depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		if name, ok := r.key(pair.Key, at); ok {
			addField(made, name, at, value, seen, r.faults)
		}
	}
	for _, from := range merged {
		r.merge(made, from)
	}
	return made, nil
}

func isFlow(from ast.Node) bool {
	mapping, is := from.(*ast.MappingNode)
	return is && mapping.IsFlowStyle
}

// valueOf is never nil: a key without a value has the value null.
func valueOf(pair *ast.MappingValueNode) ast.Node {
	if pair.Value == nil {
		return ast.Null(pair.Key.GetToken())
	}
	return pair.Value
}

// key reads a key. JSON has texts as keys and nothing else; an unquoted 1 is "1".
func (r *yamlReader) key(from ast.MapKeyNode, at place) (string, bool) {
	asWritten := *r.env
	asWritten.lookup = nil // placeholders are for values
	keys := *r
	keys.env = &asWritten
	var key ast.Node = from
	if mapping, is := from.(*ast.MappingKeyNode); is {
		key = mapping.Value
	}
	value, err := keys.read(key, 0)
	if err != nil {
		return "", false
	}
	if name, ok := value.word(); ok {
		return name, true
	}
	if value.kind == null && value.plain != "" {
		return value.plain, true
	}
	r.faults.add(at, "the key of a map is %s; it must be a text", value.kind)
	return "", false
}

// merge adds the fields of << that the map does not have itself.
func (r *yamlReader) merge(to, from *node) {
	switch from.kind {
	case list:
		for _, item := range from.items {
			r.merge(to, item)
		}
	case object:
		for _, f := range from.fields {
			if to.field(f.name) == nil {
				to.fields = append(to.fields, f)
			}
		}
	default:
		r.faults.add(from.at, "<< merges maps, and this is %s", from.kind)
	}
}
