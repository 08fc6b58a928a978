package parameters

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/schema"
)

// kind is the type of a parameter, as named in the lists.
type kind string

const (
	kindString  kind = "string"
	kindNumber  kind = "number"
	kindInteger kind = "integer"
	kindFloat   kind = "float"
	kindBoolean kind = "boolean"
	kindObject  kind = "object"
	kindArray   kind = "array"
	kindMap     kind = "map"
)

func (k kind) numeric() bool { return k == kindNumber || k == kindInteger || k == kindFloat }

func (k kind) mapping() bool { return k == kindObject || k == kindMap }

func (k kind) schemaType() string {
	switch k {
	case kindFloat:
		return "number"
	case kindMap:
		return "object"
	default:
		return string(k)
	}
}

// compiledParameter is one compiled parameter. A property of a JSON Schema has its rules in the schema.
type compiledParameter struct {
	name        string
	place       string // JSON Pointer within the tool
	description string
	kind        kind
	required    bool // and without default
	ignored     bool
	grounded    bool // a model's value needs evidence in the conversation
	claims      []Claim
	pasted      bool   // into a statement
	ofBody      bool   // of a request
	inBody      bool   // required if another part of the body has a value
	inPath      bool   // of a URL, which allows no empty value
	ask         string // question for the user
	format      Format // of a string

	fallback *fixed // default
	static   *fixed // value

	allowed  []entry
	excluded []entry
	least    *bound
	most     *bound
	items    *compiledParameter // of an array
	values   *compiledParameter // of a map with valueType; nil for any

	property *jsonschema.Schema // nil for lists
	spoken
	nullable bool // the property may be null
	refused  any  // a default that the schema refuses
	refusal  string
}

// Claim refers to a field of a verified ID token, as listed in authServices.
type Claim struct {
	Service string `json:"name"`
	Field   string `json:"field"`
}

type fixed struct{ given any }

type bound struct {
	given  string
	number exactjson.Decimal
}

// hidden reports whether models neither see nor fill the parameter.
func (p *compiledParameter) hidden() bool {
	return p.ignored || p.static != nil || len(p.claims) > 0
}

// markInPath marks the parameters in the path of a URL as required, and removes an empty default or value.
func markInPath(list []*compiledParameter, names []string) {
	for _, p := range list {
		if !slices.Contains(names, p.name) {
			continue
		}
		p.inPath = true
		if p.static != nil && p.static.given == "" {
			p.static = nil
		}
		if p.fallback == nil || p.fallback.given == "" {
			p.fallback, p.required = nil, true
		}
	}
}

// entries returns how many allowed and excluded values a part of a value is compared with.
func (p *compiledParameter) entries() int {
	if p == nil {
		return 0
	}
	return max(len(p.allowed)+len(p.excluded), p.items.entries(), p.values.entries())
}

// Limits of comparisons with rules: of values, and of the bytes of texts, each counted once for each rule.
const (
	maxComparisons = 1_000_000
	maxTextChecks  = 64 << 20
)

// sizeFlaw returns why a value has too many parts, or too long texts, for so many rules; empty if it has not. Most bounds
// the parts, each counted once for each rule.
func sizeFlaw(value any, rules, most int) string {
	if rules == 0 {
		return ""
	}
	if parts := most / rules; schema.Weight(value, parts+1) > parts {
		return fmt.Sprintf("the values are too many to check: with this schema at most %d, those in lists and objects counted", parts)
	}
	if bytes := maxTextChecks / rules; textBytes(value) > bytes {
		return fmt.Sprintf("the texts are too long to check: with this schema at most %d bytes together", bytes)
	}
	return ""
}

// textBytes returns the length of all texts and names in a value.
func textBytes(value any) (total int) {
	switch value := value.(type) {
	case string:
		return len(value)
	case []any:
		for _, member := range value {
			total += textBytes(member)
		}
	case map[string]any:
		for name, member := range value {
			total += len(name) + textBytes(member)
		}
	}
	return total
}

func (p *compiledParameter) faultsOf(flaws []violation) []ValueFault {
	return lists.Map(flaws, func(found violation) ValueFault { return faultAt(p.name, p.name, found) })
}

// check validates a value strictly by the rules of a list, in the contract's order: type, allowed, excluded,
// minimum, maximum. It reports the first violation for each member of a list or map.
func (p *compiledParameter) check(value any, at place) []violation {
	if p.pasted {
		if flaws := controlFlaws(value, at); len(flaws) > 0 {
			return flaws
		}
	}
	detail := p.kind.violation(value)
	if detail == "" {
		detail = p.ruleFlaw(value)
	} else if why := p.amountFlaw(value); why != "" {
		detail = why
	}
	if detail != "" {
		return []violation{{at: at, detail: detail, meant: p.meant(value), format: detail == p.formatFlaw(value)}}
	}
	return inParts(value, at, func(member, token any, at place) []violation {
		of := p.values
		if _, isIndex := token.(int); isIndex {
			of = p.items
		}
		if of == nil {
			return checkAnything(member, at)
		}
		return of.check(member, at)
	})
}

func (p *compiledParameter) meant(value any) fault.Meant {
	text, ok := value.(string)
	switch {
	case p.kind.violation(value) != "":
		return fault.Meant{Code: fault.WrongType}
	case !ok || len(p.allowed) == 0 || slices.ContainsFunc(p.allowed, func(e entry) bool { return e.allows(value) }):
		return fault.Meant{}
	}
	return fault.DidYouMean(text, lists.Of[string](p.givenAllowed()[:min(len(p.allowed), fault.Most)]))
}

// violation returns why a value is not of the type; empty if it is. Nothing is converted.
func (k kind) violation(value any) string {
	number, isNumber := value.(json.Number)
	switch {
	case isNumber && k.numeric():
		detail := exactjson.NumberFlaw(number)
		if detail == "" && k == kindInteger {
			detail = exactjson.IntegerFlaw(number)
		}
		return detail
	case !isNumber && jsonType(value, nil) == k.schemaType():
		return ""
	}
	return fault.Show(value) + " is not " + schema.Article(string(k))
}

// maxShownAllowed is how many allowed values a fault lists; with more, none.
const maxShownAllowed = 12

func (p *compiledParameter) ruleFlaw(value any) string {
	if len(p.allowed) > 0 && !slices.ContainsFunc(p.allowed, func(e entry) bool { return e.allows(value) }) {
		detail := fault.Show(value) + " is not an allowed value"
		if len(p.allowed) > maxShownAllowed {
			return detail
		}
		return detail + "; allowed: " + fault.ShowAll(p.givenAllowed())
	}
	if flaw := p.formatFlaw(value); flaw != "" {
		return flaw
	}
	if slices.ContainsFunc(p.excluded, func(e entry) bool { return e.excludes(value) }) {
		return fault.Show(value) + " is an excluded value"
	}
	given, ok := value.(json.Number)
	if !ok || p.least == nil && p.most == nil {
		return ""
	}
	number, _ := exactjson.ParseDecimal(given.String())
	if p.least != nil && number.Compare(p.least.number) < 0 {
		return fault.Show(value) + " is under the minimum of " + p.least.given
	}
	if p.most != nil && number.Compare(p.most.number) > 0 {
		return fault.Show(value) + " is above the maximum of " + p.most.given
	}
	return ""
}

func (p *compiledParameter) formatFlaw(value any) string {
	if text, ok := value.(string); ok {
		return p.format.Flaw(text)
	}
	return ""
}

// coerce converts a model's value to a list's type without loss, and reports whether it did. An inconvertible value
// is returned unchanged, for check to report.
func (p *compiledParameter) coerce(value any) (any, bool) {
	value, changed := p.kind.read(value)
	if whole, short := p.format.read(value); short {
		value, changed = whole, true
	}
	list, isList := value.([]any)
	values, isMap := value.(map[string]any)
	switch {
	case isList:
		for i := 0; i < len(list) && p.items != nil; i++ {
			item, also := p.items.coerce(list[i])
			list[i], changed = item, changed || also
		}
	case p.kind == kindArray && (p.items == nil || value == nil):
		return value, false
	case p.kind == kindArray: // a single value, which must be valid as the only member
		if item, _ := p.items.coerce(value); len(p.items.check(item, nil)) == 0 {
			return []any{item}, true
		}
		return value, false
	case isMap && p.values != nil:
		for key := range values {
			inner, also := p.values.coerce(values[key])
			values[key], changed = inner, changed || also
		}
	case !isMap && len(p.allowed) > 0:
		text, ok := value.(string)
		if !ok || p.ruleFlaw(text) == "" {
			break
		}
		var candidates []any
		for _, e := range p.allowed {
			if e.pattern == nil {
				candidates = append(candidates, e.given)
			}
		}
		if converted, ok := uniqueMatch(text, candidates); ok {
			return converted, true
		}
	}
	return value, changed
}

// uniqueMatch returns the one candidate equal to the text without surrounding space, or also without case.
func uniqueMatch(text string, candidates []any) (string, bool) {
	text = strings.TrimSpace(text)
	if slices.Contains(candidates, any(text)) {
		return text, true
	}
	match, count := "", 0
	for _, candidate := range candidates {
		if known, ok := candidate.(string); ok && strings.EqualFold(known, text) {
			match, count = known, count+1
		}
	}
	return match, count == 1
}

// read converts a value to the type without loss: a number or boolean to a string as written, true and false in any
// case to a boolean, JSON text to a list or an object.
func (k kind) read(value any) (any, bool) {
	switch {
	case k == kindString:
		switch value := value.(type) {
		case json.Number:
			return value.String(), true
		case bool:
			return scalarTexts(value)[0], true
		}
		return value, false
	case k == kindInteger:
		return readInteger(value)
	case k.numeric():
		return readNumber(value)
	case k == kindBoolean:
		text, _ := value.(string)
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
		return value, false
	}
	opening := "{"
	if k == kindArray {
		opening = "["
	}
	text, _ := value.(string)
	if text = strings.TrimSpace(text); strings.HasPrefix(text, opening) {
		if decoded, err := exactjson.Decode([]byte(text)); err == nil {
			return decoded, true
		}
	}
	return value, false
}

func readNumber(value any) (any, bool) {
	text, ok := value.(string)
	if !ok || !exactjson.NumberPattern.MatchString(strings.TrimSpace(text)) {
		return value, false
	}
	return json.Number(strings.TrimSpace(text)), true
}

// readInteger also accepts 5.0 and 1e2, which are whole, and converts them to integers.
func readInteger(value any) (any, bool) {
	read, changed := readNumber(value)
	number, ok := read.(json.Number)
	if !ok || !strings.ContainsAny(number.String(), ".eE") {
		return read, changed
	}
	parsed, ok := exactjson.ParseDecimal(number.String())
	if !ok || !parsed.Whole() {
		return read, changed
	}
	return json.Number(parsed.String()), true
}
