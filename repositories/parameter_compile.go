package repositories

import (
	"bytes"
	"encoding/json"

	"earshot/repositories/fault"
)

// Compile compiles the parameters of all tools. A repository that comes from a store
// needs it; one from a decoder has been compiled. It fails where a record was written
// by a version that took what this one refuses, and then names all of it as Faults.
func (r *Repository) Compile() error {
	var faults fault.List
	with := &patterns{}
	for i := range r.Tools {
		_, found := r.Tools[i].compile(with)
		for _, one := range found {
			faults.Add(fault.Point("tools", i)+one.Pointer, "%s", one.Detail)
		}
	}
	return faults.Err()
}

// compile makes the tool's one form of parameters. The faults' pointers begin at the
// tool; with faults, what is returned is of use for its names alone, and may be nil.
func (t *Tool) compile(with *patterns) (*Parameters, fault.List) {
	if given(t.Schema) && given(t.Parameters) {
		return nil, fault.List{{Pointer: fault.Point("parameters"), Detail: "stands beside schema: a tool's parameters are given in one way"}}
	}
	for _, in := range t.lists()[2:] {
		if given(in.raw) && t.hasSchema() {
			return nil, fault.List{{Pointer: fault.Point(in.field), Detail: "stands beside a JSON Schema: give parameters as a list"}}
		}
	}
	compile := compileLists
	if t.hasSchema() {
		compile = compileRoot
	}
	parameters, faults := compile(t, with)
	if len(faults) == 0 {
		parameters.index()
		t.params = parameters
	}
	return parameters, faults
}

// given reports whether a field was sent and is not null.
func given(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// hasSchema reports whether the parameters are a JSON Schema and not a list.
func (t *Tool) hasSchema() bool {
	return bytes.HasPrefix(bytes.TrimSpace(t.Parameters), []byte("{"))
}

func compileLists(t *Tool, with *patterns) (*Parameters, fault.List) {
	var faults fault.List
	parameters := &Parameters{}
	seen := map[string]bool{}
	for _, in := range t.lists() {
		if !given(in.raw) {
			continue
		}
		list, found := compileList(in.raw, in.dialect, with)
		faults.Join(found)
		faults.Join(duplicates(list, in.dialect, seen))
		parameters.list = append(parameters.list, list...)
	}
	model, err := listModel(parameters.list)
	if err != nil && len(faults) == 0 {
		faults.Add("", "cannot be shown to a model: %s", err)
	}
	parameters.model = model
	return parameters, faults
}

func duplicates(list []*parameter, in dialect, seen map[string]bool) fault.List {
	var faults fault.List
	for i, p := range list {
		if p.name != "" && seen[p.name] {
			faults.Add(fault.Point(in.field, i, in.key), "%s is the name of another parameter as well", fault.Show(p.name))
		}
		seen[p.name] = true
	}
	return faults
}

// index prepares the look-ups by name.
func (p *Parameters) index() {
	p.byName = make(map[string]*parameter, len(p.list))
	p.folded = make(map[string]string, len(p.list))
	shared := map[string]bool{}
	for _, parameter := range p.list {
		p.byName[parameter.name] = parameter
		p.authenticated = p.authenticated || len(parameter.claims) > 0
		key := fold(parameter.name)
		if _, taken := p.folded[key]; taken {
			shared[key] = true
		}
		p.folded[key] = parameter.name
	}
	for key, name := range p.folded {
		if shared[key] || p.byName[name].hidden() {
			delete(p.folded, key)
		}
	}
}

// coerce and check choose between the rules of the lists and those of a schema.
func (p *Parameters) coerce(of *parameter, value any) (any, bool) {
	if of.property != nil {
		return coerceProperty(value, of.property)
	}
	return of.coerce(value)
}

// check also reports whether the value can be used: one that a schema will judge as
// part of the whole can, even with a flaw, so that all its flaws are found.
func (p *Parameters) check(of *parameter, value any) (flaws []flaw, usable bool) {
	if of.property == nil {
		flaws = of.check(value, "")
		return flaws, len(flaws) == 0
	}
	if flaws = checkAnything(value, ""); len(flaws) > 0 {
		return flaws, false
	}
	return checkIntegers(value, of.property, ""), true
}

// unmarshalNumbers is json.Unmarshal that keeps numbers as written.
func unmarshalNumbers(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}
