package parameters

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"earshot/repositories/fault"
	"earshot/repositories/plaintext"
)

// Compile compiles a tool's lists of parameters into one form; the Toolbox list may be a JSON Schema instead. The
// needed parameters are in the path of a URL: they are required and never empty. Pointers of faults are relative to
// the tool. With faults the result may be nil, and is only good for its names.
func Compile(lists []List, with *Budget, needed ...string) (*Parameters, fault.List) {
	lists = slices.DeleteFunc(slices.Clone(lists), func(l List) bool { return !Present(l.Raw) })
	root, faults := schemaOf(lists)
	compiled := &Parameters{}
	switch {
	case len(faults) > 0:
		return nil, faults
	case root != nil:
		compiled, faults = compileRoot(root, with, needed)
	default:
		seen := map[string]bool{}
		for _, in := range lists {
			list, found := in.compile(with, compiled)
			faults.Join(found)
			for i, p := range list {
				if p.name != "" && seen[p.name] {
					faults.Add(fault.Point(in.Field, i, in.key), "%s is the name of another parameter as well", fault.Show(p.name))
				}
				seen[p.name] = true
			}
			compiled.list = append(compiled.list, list...)
		}
		markInPath(compiled.list, needed)
		var err error
		if compiled.model, err = listModel(compiled.list); err != nil && len(faults) == 0 {
			faults.Add("", "cannot be shown to a model: %s", err)
		}
	}
	if len(faults) == 0 {
		compiled.index()
	}
	return compiled, faults
}

// Present reports whether a field was sent and is not null.
func Present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// schemaOf returns the JSON Schema in place of a list, or nil. It excludes other lists, and SERMAS's and Toolbox's
// exclude each other.
func schemaOf(lists []List) (json.RawMessage, fault.List) {
	var root json.RawMessage
	var others []string
	for _, l := range lists {
		if l.Field != Toolbox.Field {
			others = append(others, l.Field)
		} else if slices.Contains(others, SERMAS.Field) { // the first of the lists
			return nil, fault.List{{Pointer: fault.Point(Toolbox.Field), Detail: "stands beside schema: a tool's parameters are given in one way"}}
		} else if bytes.HasPrefix(bytes.TrimSpace(l.Raw), []byte("{")) {
			root = l.Raw
		}
	}
	if root != nil && len(others) > 0 {
		return nil, fault.List{{Pointer: fault.Point(others[0]), Detail: "stands beside a JSON Schema: give parameters as a list"}}
	}
	return root, nil
}

func (p *Parameters) index() {
	p.derived = &sync.Map{}
	p.byName = make(map[string]*compiledParameter, len(p.list))
	p.seen = map[string]string{}
	p.folded = make(map[string]string, len(p.list))
	shared := map[string]bool{}
	for _, parameter := range p.list {
		p.byName[parameter.name] = parameter
		p.authenticated = p.authenticated || len(parameter.claims) > 0
		parameter.allowVisible()
		if seen := plaintext.Text(parameter.name); seen != parameter.name && !parameter.hidden() {
			p.seen[seen] = parameter.name
		}
		key := FoldName(parameter.name)
		if _, taken := p.folded[key]; taken {
			shared[key] = true
		}
		p.folded[key] = parameter.name
	}
	for seen := range p.seen {
		if p.byName[seen] != nil {
			delete(p.seen, seen)
		}
	}
	for key, name := range p.folded {
		if shared[key] || p.byName[name].hidden() {
			delete(p.folded, key)
		}
	}
}
