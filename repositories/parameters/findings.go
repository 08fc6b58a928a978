package parameters

import (
	"encoding/json"
	"slices"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// faultCollector collects the faults of a definition that can never be satisfied, so that it is
// refused at registration and not when somebody needs it.
type faultCollector struct {
	faults *fault.List
	at     string
	before int // how many faults there were before
}

func newFaultCollector(faults *fault.List, at string) *faultCollector {
	return &faultCollector{faults: faults, at: at, before: faults.Count()}
}

func (f *faultCollector) add(field, format string, args ...any) {
	f.faults.Add(f.at+fault.Point(field), format, args...)
}

// rules reports rules of a definition that contradict each other.
func (f *faultCollector) rules(d *definition, p *compiledParameter) {
	if !slices.Contains(kinds, p.kind) {
		f.add("type", "%s is not a type: %s%s", fault.Show(p.kind), fault.OneOf(kinds), fault.DidYouMean(string(p.kind), kinds))
		return
	}
	f.misplaced(d)
	f.format(d.Format, p)
	f.bounds(d, p)
	f.entries("allowedValues", p.allowed, p)
	f.entries("excludedValues", p.excluded, p)
	f.unreachable(p)
	f.listAliases(d, p)
	f.listUnit(d, p)
	if p.kind == kindArray {
		f.items(d, p)
	}
}

// misplaced reports fields that the type has no use for.
func (f *faultCollector) misplaced(d *definition) {
	if d.MinValue != "" && !d.Type.numeric() {
		f.add("minValue", "is for numbers, and the type is %s", d.Type)
	}
	if d.MaxValue != "" && !d.Type.numeric() {
		f.add("maxValue", "is for numbers, and the type is %s", d.Type)
	}
	if d.Escape != "" && d.Type != kindString {
		f.add("escape", "is for strings, and the type is %s", d.Type)
	}
	if d.Items != nil && d.Type != kindArray {
		f.add("items", "is for arrays, and the type is %s", d.Type)
	}
	if d.ValueType != "" && !d.Type.mapping() {
		f.add("valueType", "is for maps, and the type is %s", d.Type)
	}
	if opening, _ := delimiters(d.Escape); d.Escape != "" && opening == "" {
		f.add("escape", "%s is not an escape: %s%s", fault.Show(d.Escape), fault.OneOf(escapes), fault.DidYouMean(d.Escape, escapes))
	}
	if d.ValueType != "" && !slices.Contains(valueKinds, d.ValueType) {
		f.add("valueType", "%s is not a type of values: %s%s", fault.Show(d.ValueType), fault.OneOf(valueKinds), fault.DidYouMean(string(d.ValueType), valueKinds))
	}
}

func (f *faultCollector) bounds(d *definition, p *compiledParameter) {
	if d.MinValue != "" && p.least == nil {
		f.add("minValue", "%s is out of the range of a number", fault.Clip(d.MinValue.String()))
	}
	if d.MaxValue != "" && p.most == nil {
		f.add("maxValue", "%s is out of the range of a number", fault.Clip(d.MaxValue.String()))
	}
	if p.least != nil && p.most != nil && p.least.number.Compare(p.most.number) > 0 {
		f.add("minValue", "%s is above the maxValue of %s: no value is left", p.least.given, p.most.given)
	}
}

// entries reports lists of values of which none can ever equal a value of the type,
// regular expressions that do not compile, and the one that excludes everything.
func (f *faultCollector) entries(field string, entries []entry, p *compiledParameter) {
	apt := len(entries) == 0
	for i, e := range entries {
		apt = apt || p.comparable(e.given)
		if broken := e.brokenRegex(); broken != "" {
			f.faults.Add(f.at+fault.Point(field, i), "%s", broken)
		}
		if e.given == any("") && field == "excludedValues" && !p.kind.mapping() && p.kind != kindArray {
			f.faults.Add(f.at+fault.Point(field, i), `the empty text matches a part of every value, so that none is left; "^$" excludes the empty value`)
		}
	}
	if !apt {
		f.add(field, "none of them is %s, which is the type of the parameter%s", p.kind.article(), p.wholeHint())
	}
}

func (p *compiledParameter) wholeHint() string {
	if p.kind == kindArray {
		return "; rules about its members stand on items"
	}
	return ""
}

// comparable reports whether an entry can apply to values of the type: it is of the type,
// or a text that is compared with a scalar's.
func (p *compiledParameter) comparable(given any) bool {
	switch given := given.(type) {
	case string:
		return p.kind != kindArray && !p.kind.mapping()
	case json.Number:
		return p.kind.numeric() && exactjson.NumberFlaw(given) == ""
	default:
		return p.kind.violation(given) == ""
	}
}

// unreachable reports an allow-list of literals that the other rules all refuse.
func (f *faultCollector) unreachable(p *compiledParameter) {
	if len(p.allowed) == 0 || p.kind == kindArray || p.kind.mapping() {
		return
	}
	var reason string
	for _, e := range p.allowed {
		if !e.literal() {
			return
		}
		read, _ := p.kind.read(e.given)
		flaws := p.check(read, "")
		if len(flaws) == 0 {
			return
		}
		reason = flaws[0].detail
	}
	if f.fresh() {
		f.add("allowedValues", "no allowed value passes the other rules: %s", reason)
	}
}

// fresh reports whether nothing has been found about this definition so far.
func (f *faultCollector) fresh() bool {
	return f.faults.Count() == f.before
}

func (f *faultCollector) items(d *definition, p *compiledParameter) {
	if d.Items == nil {
		f.add("items", "is missing: an array says what its members are")
		p.items = &compiledParameter{}
		return
	}
	inner := newFaultCollector(f.faults, f.at+fault.Point("items"))
	inner.rules(d.Items, p.items)
	if len(d.Items.AuthServices) > 0 {
		inner.add("authServices", "is for parameters, not for the items of one")
	}
	if d.Items.Value != nil {
		inner.add("value", "is for parameters, not for the items of one")
	}
	if d.Items.Ignore {
		inner.add("ignore", "is for parameters, not for the items of one")
	}
}

// fixed compiles a default or a static value, which has to pass the parameter's own
// rules. Null is none.
func (f *faultCollector) fixed(p *compiledParameter, field string, given any) *fixed {
	if given == nil {
		return nil
	}
	given, _ = p.translate(given)
	if f.fresh() {
		for _, found := range p.check(given, "") {
			f.add(field, "%s", p.faultsOf([]violation{found})[0].Detail)
		}
	}
	return &fixed{given}
}

// unfillable reports a required parameter that can never be filled.
func (f *faultCollector) unfillable(p *compiledParameter) {
	if p.ignored && p.required && p.static == nil && p.fallback == nil && len(p.claims) == 0 {
		f.add("ignore", "nobody fills the parameter: it is required and ignored; give it a value or a default")
	}
	if len(p.claims) > 0 && p.static != nil {
		f.add("value", "stands against authServices: the value comes from one or the other")
	}
}
