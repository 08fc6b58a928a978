package parameters

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
	"earshot/repositories/schema"
)

// dialect is a form of parameter lists with its differences.
type dialect struct {
	Field    string // of the tool
	key      string // the member's field for the name
	required bool   // the default of required
	pasted   bool   // values become part of a statement's text
}

// List is one of a tool's lists of parameters, as JSON in one of the dialects.
type List struct {
	dialect
	Raw json.RawMessage
}

// Of returns a list in the dialect.
func (d dialect) Of(raw json.RawMessage) List { return List{d, raw} }

// The dialects of parameter lists, by their fields of a tool.
var (
	SERMAS     = dialect{Field: "schema", key: "parameter", required: false}
	Toolbox    = dialect{Field: "parameters", key: "name", required: true}
	Template   = dialect{Field: "templateParameters", key: "name", required: true, pasted: true}
	PathList   = dialect{Field: "pathParams", key: "name", required: true}
	QueryList  = dialect{Field: "queryParams", key: "name", required: true}
	BodyList   = dialect{Field: "bodyParams", key: "name", required: true}
	HeaderList = dialect{Field: "headerParams", key: "name", required: true}
)

// definition is one given member of a list. SERMAS names it "parameter".
type definition struct {
	Parameter      string              `json:"parameter"`
	Name           string              `json:"name"`
	Type           kind                `json:"type"`
	Description    string              `json:"description"`
	Required       *bool               `json:"required"`
	RequiredInBody bool                `json:"requiredInBody"`
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

func (l List) compile(with *Budget, of *Parameters) ([]*compiledParameter, fault.List) {
	var faults fault.List
	var list []json.RawMessage
	if err := json.Unmarshal(l.Raw, &list); err != nil {
		faults.Add(fault.Point(l.Field), "is not a list of parameters: %s", fault.Clip(err.Error()))
		return nil, faults
	}
	parameters := make([]*compiledParameter, 0, len(list))
	for i := range list {
		at := fault.Point(l.Field, i)
		d := &definition{}
		if err := exactjson.Unmarshal(list[i], d); err != nil {
			faults.Add(at, "is not the definition of a parameter: %s", fault.Clip(err.Error()))
			continue
		}

		p := d.rules(with)
		p.name, p.place, p.pasted = d.Name, at, l.pasted
		if l.key == "parameter" {
			p.name = d.Parameter
		}
		p.required, p.ignored, p.claims, p.grounded, p.ask = l.required, d.Ignore, d.AuthServices, d.Grounded, plaintext.Text(d.Ask)
		if d.Required != nil {
			p.required = *d.Required
		}
		found := newFaultCollector(&faults, of, at)
		found.rules(d, p)
		p.ofBody, p.inBody = l.Field == BodyList.Field, d.RequiredInBody
		if p.inBody {
			found.inBody(p, d.Required)
			p.required = false
		}
		p.fallback = found.fixed(p, "default", d.Default)
		p.static = found.fixed(p, "value", d.Value)
		found.unfillable(p)
		p.required = p.required && p.fallback == nil
		parameters = append(parameters, p)
	}
	return parameters, faults
}

func (d *definition) rules(with *Budget) *compiledParameter {
	p := &compiledParameter{
		description: plaintext.Text(d.Description), kind: d.Type, least: newBound(d.MinValue), most: newBound(d.MaxValue),
		allowed: newEntries(d.AllowedValues, with), excluded: newEntries(d.ExcludedValues, with),
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

// Enumerated values in the lists, in the order of error messages.
var (
	kinds      = []kind{kindString, kindNumber, kindInteger, kindFloat, kindBoolean, kindObject, kindArray, kindMap}
	valueKinds = []kind{kindString, kindInteger, kindFloat, kindNumber, kindBoolean}
	escapes    = []string{"single-quotes", "double-quotes", "backticks", "square-brackets"}
)

// faultCollector collects unsatisfiable rules, which are refused at registration.
type faultCollector struct {
	faults *fault.List
	of     *Parameters // collects faults that stored definitions may have, and oddities
	at     string
	before int // number of earlier faults
}

func newFaultCollector(faults *fault.List, of *Parameters, at string) *faultCollector {
	return &faultCollector{faults: faults, of: of, at: at, before: faults.Count() + of.unfit.Count()}
}

func (f *faultCollector) add(field, format string, args ...any) {
	f.faults.Add(f.at+fault.Point(field), format, args...)
}

// flaw reports why a value of the definition is none. Earlier versions checked the formats of fewer values.
func (f *faultCollector) flaw(field string, one violation, detail string) {
	into := f.faults
	if one.format {
		into = &f.of.unfit
	}
	into.Add(f.at+field, "%s", detail)
}

func (f *faultCollector) fresh() bool { return f.faults.Count()+f.of.unfit.Count() == f.before }

// rules reports contradictory rules. It compiles the format, the aliases and the unit.
func (f *faultCollector) rules(d *definition, p *compiledParameter) {
	if !slices.Contains(kinds, p.kind) {
		f.add("type", "%s is not a type: %s%s", fault.Show(p.kind), fault.OneOf(kinds), fault.DidYouMean(string(p.kind), kinds))
		return
	}
	f.misplaced(d)
	if d.Format != "" && p.kind != kindString {
		f.add("format", "is for a string, and the parameter is %s", schema.Article(string(p.kind)))
	} else {
		p.format = Format(d.Format)
	}
	if d.MinValue != "" && p.least == nil {
		f.add("minValue", "%s is out of the range of a number", fault.Clip(d.MinValue.String()))
	}
	if d.MaxValue != "" && p.most == nil {
		f.add("maxValue", "%s is out of the range of a number", fault.Clip(d.MaxValue.String()))
	}
	if p.least != nil && p.most != nil && p.least.number.Compare(p.most.number) > 0 {
		f.add("minValue", "%s is above the maxValue of %s: no value is left", p.least.given, p.most.given)
	}
	f.entries("allowedValues", p.allowed, p)
	f.entries("excludedValues", p.excluded, p)
	f.unreachable(p)
	f.listAliases(d, p)
	if d.Unit != "" && p.kind.numeric() {
		p.count(d.Unit)
	} else if d.Unit != "" {
		f.add("unit", "is for numbers, and the type is %s", p.kind)
	}
	if p.kind != kindArray {
		return
	}

	if d.Items == nil {
		f.faults.Miss(f.at+fault.Point("items"), ": an array says what its members are")
		p.items = &compiledParameter{}
		return
	}
	inner := newFaultCollector(f.faults, f.of, f.at+fault.Point("items"))
	inner.rules(d.Items, p.items)
	for _, field := range []struct {
		name  string
		given bool
	}{{"authServices", len(d.Items.AuthServices) > 0}, {"value", d.Items.Value != nil}, {"ignore", d.Items.Ignore}} {
		if field.given {
			inner.add(field.name, "is for parameters, not for the items of one")
		}
	}
}

func (f *faultCollector) misplaced(d *definition) {
	for _, field := range []struct {
		name, of      string
		given, placed bool
	}{
		{"minValue", "numbers", d.MinValue != "", d.Type.numeric()},
		{"maxValue", "numbers", d.MaxValue != "", d.Type.numeric()},
		{"escape", "strings", d.Escape != "", d.Type == kindString},
		{"items", "arrays", d.Items != nil, d.Type == kindArray},
		{"valueType", "maps", d.ValueType != "", d.Type.mapping()},
	} {
		if field.given && !field.placed {
			f.add(field.name, "is for %s, and the type is %s", field.of, d.Type)
		}
	}
	if d.Escape != "" && !slices.Contains(escapes, d.Escape) {
		f.add("escape", "%s is not an escape: %s%s", fault.Show(d.Escape), fault.OneOf(escapes), fault.DidYouMean(d.Escape, escapes))
	}
	if d.ValueType != "" && !slices.Contains(valueKinds, d.ValueType) {
		f.add("valueType", "%s is not a type of values: %s%s", fault.Show(d.ValueType), fault.OneOf(valueKinds), fault.DidYouMean(string(d.ValueType), valueKinds))
	}
}

// entries reports lists without any value of the type, expressions that are too large, and lists that exclude
// everything. It notes expressions that do not compile.
func (f *faultCollector) entries(field string, entries []entry, p *compiledParameter) {
	whole := p.kind == kindArray || p.kind.mapping()
	apt := len(entries) == 0
	for i, e := range entries {
		switch given := e.given.(type) {
		case string: // compared with the text of a scalar
			apt = apt || !whole
		case json.Number:
			apt = apt || p.kind.numeric() && exactjson.NumberFlaw(given) == ""
		default:
			apt = apt || p.kind.violation(given) == ""
		}
		if refused, noted := e.brokenRegex(); refused != "" {
			f.faults.Add(f.at+fault.Point(field, i), "%s", refused)
		} else if noted != "" {
			f.of.odd.Add(f.at+fault.Point(field, i), "%s", noted)
		}
		if e.given == any("") && field == "excludedValues" && !whole {
			f.faults.Add(f.at+fault.Point(field, i), `the empty text matches a part of every value and excludes all; "^$" excludes the empty value`)
		}
	}
	if apt {
		return
	}
	hint := ""
	if p.kind == kindArray {
		hint = "; rules about its members stand on items"
	}
	f.add(field, "none of them is %s, which is the type of the parameter%s", schema.Article(string(p.kind)), hint)
}

const noneAllowed = "no allowed value passes the other rules: "

// unreachable reports an allow-list whose literals all violate the other rules.
func (f *faultCollector) unreachable(p *compiledParameter) {
	if len(p.allowed) == 0 || p.kind == kindArray || p.kind.mapping() {
		return
	}
	var reason violation
	for _, e := range p.allowed {
		if e.pattern != nil {
			return
		}
		read, _ := p.kind.read(e.given)
		flaws := p.check(read, nil)
		if len(flaws) == 0 {
			return
		}
		reason = flaws[0]
	}
	if f.fresh() {
		f.flaw("/allowedValues", reason, noneAllowed+reason.detail)
	}
}

func (f *faultCollector) listAliases(d *definition, p *compiledParameter) {
	switch {
	case len(d.Aliases) == 0 || !f.fresh():
	case p.kind == kindArray:
		f.add("aliases", "is for single values; those of an array's members stand on items")
	case len(p.allowed) == 0:
		f.add("aliases", "stands beside allowedValues, whose other words it gives, and there are none")
	default:
		f.aliases(p, d.Aliases, func(name string) (any, []violation) {
			value, _ := p.kind.read(name)
			return value, p.check(value, nil)
		})
	}
}

// aliases compiles aliases of allowed values. read converts a name to a value, and tells why it is invalid.
func (f *faultCollector) aliases(p *compiledParameter, given map[string][]string, read func(name string) (any, []violation)) {
	p.called = map[string]any{}
	owners := map[string]string{}
	for _, name := range slices.Concat(p.literals(), p.givenAllowed()) {
		if text, ok := name.(string); ok {
			owners[foldWords(text)] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, flaws := read(name)
		if len(flaws) > 0 {
			f.flaw(fault.Point("aliases", name), flaws[0], flaws[0].detail)
			continue
		}
		for i, words := range given[name] {
			at, key := f.at+fault.Point("aliases", name, i), foldWords(words)
			owner, taken := owners[key]
			switch {
			case key == "":
				f.faults.Add(at, "is empty")
			case taken && owner != name:
				f.faults.Add(at, "%s stands for %s and for %s: an alias has one value", fault.Show(words), fault.Show(owner), fault.Show(name))
			default:
				owners[key], p.called[key] = name, value
				p.aliases = append(p.aliases, Alias{words, value})
			}
		}
	}
	slices.SortFunc(p.aliases, func(a, b Alias) int { return strings.Compare(a.Words, b.Words) })
}

// fixed compiles a default or a static value, which must satisfy the parameter's own rules.
func (f *faultCollector) fixed(p *compiledParameter, field string, given any) *fixed {
	if given == nil {
		return nil
	}
	given, _ = p.translate(given)
	if f.fresh() || slices.Contains(kinds, p.kind) && p.kind.violation(given) != "" { // faulty rules say nothing of a value of the type
		flaws := p.check(given, nil)
		for i, found := range p.faultsOf(flaws) {
			f.flaw(fault.Point(field), flaws[i], found.Detail)
		}
	}
	given, _ = p.format.read(given) // a stored 9:00
	return &fixed{given}
}

// unfillable reports a required parameter that can never be filled.
func (f *faultCollector) unfillable(p *compiledParameter) {
	if p.ignored && p.required && p.static == nil && p.fallback == nil && len(p.claims) == 0 {
		f.add("ignore", "the parameter is required and ignored, so that it never gets a value; give it a value or a default")
	}
	if len(p.claims) > 0 && p.static != nil {
		f.add("value", "stands against authServices: the value comes from one or the other")
	}
}

func (f *faultCollector) inBody(p *compiledParameter, required *bool) {
	switch {
	case !p.ofBody:
		f.add("requiredInBody", "is about a body, and only bodyParams are parts of one")
	case required != nil && *required:
		f.add("requiredInBody", "stands against required: true, which asks for a value whether there is a body or not; give one of them")
	}
}

// delimiters are an escape's opening and closing signs; a closing one inside a value is doubled.
var delimiters = map[string][2]string{
	"single-quotes": {"'", "'"}, "double-quotes": {`"`, `"`}, "backticks": {"`", "`"}, "square-brackets": {"[", "]"},
}

type quoting struct {
	Parameter, Name, Escape string
	Items                   *quoting
}

// Escapes reports whether a member has an escape. A list without one leaves values as they are.
func (l List) Escapes() bool {
	var members []quoting
	return json.Unmarshal(l.Raw, &members) == nil && slices.ContainsFunc(members, func(q quoting) bool { return q.any() })
}

// Escaped returns the values for a statement or a request, between the delimiters of the list's escapes. With
// backslashes, those between quotes are doubled: MySQL would take one before a quote as its escape. It works on
// uncompiled parameters.
func (l List) Escaped(values map[string]any, backslashes bool) map[string]any {
	var members []quoting
	if json.Unmarshal(l.Raw, &members) != nil {
		return values // a JSON Schema, which has no escapes, or not a list
	}
	changed := false
	for i := range members {
		name := cmp.Or(members[i].Name, members[i].Parameter)
		value, given := values[name]
		if !given || !members[i].any() {
			continue
		}
		if !changed {
			values, changed = maps.Clone(values), true
		}
		values[name] = members[i].escaped(value, backslashes)
	}
	return values
}

func (q *quoting) any() bool { return q.Escape != "" || q.Items != nil && q.Items.any() }

func (q *quoting) escaped(value any, backslashes bool) any {
	switch value := value.(type) {
	case string:
		if ends, asked := delimiters[q.Escape]; asked {
			if backslashes && strings.HasSuffix(q.Escape, "-quotes") {
				value = strings.ReplaceAll(value, `\`, `\\`)
			}
			return ends[0] + strings.ReplaceAll(value, ends[1], ends[1]+ends[1]) + ends[1]
		}
	case []any:
		if q.Items == nil {
			break
		}
		return lists.Map(value, func(one any) any { return q.Items.escaped(one, backslashes) })
	}
	return value
}
