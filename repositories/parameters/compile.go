package parameters

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/plaintext"
)

// Compile compiles a tool's lists of parameters, in their order, into one form; the Toolbox
// list may be a JSON Schema instead. Those that are named as needed stand in the path of a
// URL: no call can be made without them, so that they are required whatever their list says,
// and an empty text is none of their values. The faults' pointers are relative to the tool.
// If there are faults, the result is only good for its names, and may be nil.
func Compile(lists []List, with *Budget, needed ...string) (*Parameters, fault.List) {
	lists = slices.DeleteFunc(slices.Clone(lists), func(l List) bool { return !Present(l.Raw) })
	root, faults := schemaOf(lists)
	if len(faults) > 0 {
		return nil, faults
	}
	var compiled *Parameters
	if root != nil {
		compiled, faults = compileRoot(root, with, needed)
	} else {
		compiled, faults = compileLists(lists, with, needed)
	}
	if len(faults) == 0 {
		compiled.index()
	}
	return compiled, faults
}

// schemaOf returns the JSON Schema that is given in place of a list, nil where there is
// none. Nothing but the list of SERMAS, which is a fault, may stand beside either.
func schemaOf(lists []List) (json.RawMessage, fault.List) {
	var root json.RawMessage
	fields := map[string]bool{}
	for _, l := range lists {
		fields[l.Field] = true
		if l.Field == Toolbox.Field && bytes.HasPrefix(bytes.TrimSpace(l.Raw), []byte("{")) {
			root = l.Raw
		}
	}
	if fields[SERMAS.Field] && fields[Toolbox.Field] {
		return nil, fault.List{{Pointer: fault.Point(Toolbox.Field), Detail: "stands beside schema: a tool's parameters are given in one way"}}
	}
	if root == nil {
		return nil, nil
	}
	for _, l := range lists {
		if l.Field != Toolbox.Field {
			return nil, fault.List{{Pointer: fault.Point(l.Field), Detail: "stands beside a JSON Schema: give parameters as a list"}}
		}
	}
	return root, nil
}

// Present reports whether a field was sent and is not null.
func Present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

func compileLists(lists []List, with *Budget, needed []string) (*Parameters, fault.List) {
	var faults fault.List
	parameters := &Parameters{}
	seen := map[string]bool{}
	for _, in := range lists {
		list, found := compileList(in.Raw, in.dialect, with)
		faults.Join(found)
		faults.Join(duplicates(list, in.dialect, seen))
		parameters.list = append(parameters.list, list...)
	}
	parameters.need(needed)
	model, err := listModel(parameters.list)
	if err != nil && len(faults) == 0 {
		faults.Add("", "cannot be shown to a model: %s", err)
	}
	parameters.model = plaintext.JSON(model)
	return parameters, faults
}

func duplicates(list []*compiledParameter, in dialect, seen map[string]bool) fault.List {
	var faults fault.List
	for i, p := range list {
		if p.name != "" && seen[p.name] {
			faults.Add(fault.Point(in.Field, i, in.key), "%s is the name of another parameter as well", fault.Show(p.name))
		}
		seen[p.name] = true
	}
	return faults
}

// index prepares the look-ups by name.
func (p *Parameters) index() {
	p.derived = &sync.Map{}
	p.byName = make(map[string]*compiledParameter, len(p.list))
	p.seen = map[string]string{}
	p.folded = make(map[string]string, len(p.list))
	shared := map[string]bool{}
	for _, parameter := range p.list {
		p.byName[parameter.name] = parameter
		p.authenticated = p.authenticated || len(parameter.claims) > 0
		parameter.see()
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

// coerce and check choose between the rules of the lists and those of a schema.
func (p *Parameters) coerce(of *compiledParameter, value any) (any, bool) {
	meant, also := of.translate(value)
	read, changed := meant, false
	if of.property != nil {
		read, changed = coerceProperty(meant, of.property)
	} else {
		read, changed = of.coerce(meant)
	}
	if changed { // a list may have been sent as a text
		read, _ = of.translate(read)
	}
	return read, changed || also
}

// check also reports whether the value can be used: a value that a schema will validate as
// part of the whole is usable even with a flaw, so that all its flaws are found.
func (p *Parameters) check(of *compiledParameter, value any) (flaws []violation, usable bool) {
	if of.property == nil {
		flaws = of.check(value, "")
		return flaws, len(flaws) == 0
	}
	if flaws = checkAnything(value, ""); len(flaws) > 0 {
		return flaws, false
	}
	if why := of.unread(value); why != "" {
		return []violation{{"", why}}, false
	}
	flaws = checkIntegers(value, of.property, "")
	if flaw := of.formatFlaw(value); flaw != "" {
		flaws = append(flaws, violation{"", flaw})
	}
	return flaws, true
}

// definition is one member of a list of parameters as it was given. SERMAS calls the
// name "parameter"; all else has one word in both lists.
type definition struct {
	Parameter      string              `json:"parameter"`
	Name           string              `json:"name"`
	Type           kind                `json:"type"`
	Description    string              `json:"description"`
	Required       *bool               `json:"required"`
	Ignore         bool                `json:"ignore"`
	Grounded       bool                `json:"grounded"`
	Value          any                 `json:"value"`
	Default        any                 `json:"default"`
	AllowedValues  []any               `json:"allowedValues"`
	ExcludedValues []any               `json:"excludedValues"`
	MinValue       json.Number         `json:"minValue"`
	MaxValue       json.Number         `json:"maxValue"`
	Items          *definition         `json:"items"`
	ValueType      kind                `json:"valueType"`
	Escape         string              `json:"escape"`
	Ask            string              `json:"ask"`
	Aliases        map[string][]string `json:"aliases"`
	Unit           string              `json:"unit"`
	Format         string              `json:"format"`
	AuthServices   []Claim             `json:"authServices"`
}

// dialect is a language of parameter lists: what the lists differ in.
type dialect struct {
	Field    string // of the tool
	key      string // of the name
	required bool   // where it is not said
	pasted   bool   // values become a part of a statement's text
}

// List is one of a tool's lists of parameters, as JSON in one of the dialects.
type List struct {
	dialect
	Raw json.RawMessage
}

// Of returns a list in the dialect.
func (d dialect) Of(raw json.RawMessage) List { return List{d, raw} }

// The dialects of parameter lists, by the fields of a tool in which they are given.
var (
	SERMAS     = dialect{Field: "schema", key: "parameter", required: false}
	Toolbox    = dialect{Field: "parameters", key: "name", required: true}
	Template   = dialect{Field: "templateParameters", key: "name", required: true, pasted: true}
	PathList   = dialect{Field: "pathParams", key: "name", required: true}
	QueryList  = dialect{Field: "queryParams", key: "name", required: true}
	BodyList   = dialect{Field: "bodyParams", key: "name", required: true}
	HeaderList = dialect{Field: "headerParams", key: "name", required: true}
)

// compileList compiles the definitions of one list. The faults' pointers begin at
// the tool.
func compileList(raw json.RawMessage, in dialect, with *Budget) ([]*compiledParameter, fault.List) {
	var faults fault.List
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		faults.Add(fault.Point(in.Field), "is not a list of parameters: %s", fault.Clip(err.Error()))
		return nil, faults
	}
	parameters := make([]*compiledParameter, 0, len(list))
	for i := range list {
		at := fault.Point(in.Field, i)
		d := &definition{}
		if err := exactjson.Unmarshal(list[i], d); err != nil {
			faults.Add(at, "is not the definition of a parameter: %s", fault.Clip(err.Error()))
			continue
		}
		parameters = append(parameters, d.compile(in, with, at, &faults))
	}
	return parameters, faults
}

// compile compiles the parameter and reports rules that can never be satisfied.
func (d *definition) compile(in dialect, with *Budget, at string, faults *fault.List) *compiledParameter {
	p := d.rules(with)
	p.name, p.place, p.pasted = d.Name, at, in.pasted
	if in.key == "parameter" {
		p.name = d.Parameter
	}
	p.required, p.ignored, p.claims, p.grounded, p.ask = in.required, d.Ignore, d.AuthServices, d.Grounded, plaintext.Text(d.Ask)
	if d.Required != nil {
		p.required = *d.Required
	}
	found := newFaultCollector(faults, at)
	found.rules(d, p)
	p.fallback = found.fixed(p, "default", d.Default)
	p.static = found.fixed(p, "value", d.Value)
	found.unfillable(p)
	p.required = p.required && p.fallback == nil
	return p
}

// rules compiles the rules that parameters and the items of arrays have in common.
func (d *definition) rules(with *Budget) *compiledParameter {
	p := &compiledParameter{
		description: plaintext.Text(d.Description),
		kind:        d.Type,
		allowed:     newEntries(d.AllowedValues, with),
		excluded:    newEntries(d.ExcludedValues, with),
		least:       newBound(d.MinValue),
		most:        newBound(d.MaxValue),
	}
	if d.Items != nil {
		p.items = d.Items.rules(with)
	}
	if d.ValueType != "" {
		p.values = &compiledParameter{kind: d.ValueType}
	}
	return p
}

func newBound(given json.Number) *bound {
	number, ok := exactjson.ParseDecimal(given.String())
	if !ok {
		return nil
	}
	return &bound{given: given.String(), number: number}
}

// The words of the lists, in the order in which an error names them.
var (
	kinds      = []kind{kindString, kindNumber, kindInteger, kindFloat, kindBoolean, kindObject, kindArray, kindMap}
	valueKinds = []kind{kindString, kindInteger, kindFloat, kindNumber, kindBoolean}
	escapes    = []string{escapeSingleQuotes, escapeDoubleQuotes, escapeBackticks, escapeSquareBrackets}
)

// need marks the parameters that stand in the path of a URL. An empty default is none there, and
// so is an empty value, as SERMAS writes it.
func (p *Parameters) need(names []string) {
	needed := make(map[string]bool, len(names))
	for _, name := range names {
		needed[name] = true
	}
	for _, parameter := range p.list {
		if !needed[parameter.name] {
			continue
		}
		parameter.inPath = true
		if parameter.static != nil && parameter.static.given == "" {
			parameter.static = nil
		}
		if parameter.fallback != nil && parameter.fallback.given != "" {
			continue
		}
		parameter.fallback, parameter.required = nil, true
	}
}

// Unfillable finds the parameters in the path of a URL that no message can fill, since they are
// hidden from models and have no value: only a program can fire their tool. The pointers begin
// at the tool.
func (p *Parameters) Unfillable() (pointers []string) {
	for _, one := range p.list {
		if one.inPath && len(one.claims) == 0 && one.static == nil && one.ignored && one.fallback == nil {
			pointers = append(pointers, one.place+fault.Point("ignore"))
		}
	}
	return pointers
}
