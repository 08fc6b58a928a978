package parameters

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"earshot/repositories/fault"
	"earshot/repositories/plaintext"
	"earshot/repositories/quantity"
)

// Alias is another word for an allowed value.
type Alias struct {
	Words string
	Value any
}

// spoken is what people call the values of a parameter, and what its numbers count.
type spoken struct {
	aliases []Alias        // by their words
	called  map[string]any // their values by the folded words
	unit    *quantity.Unit // nil for none
}

// translate replaces an alias by its value and an amount by its number, whoever says them,
// and in lists as well. It reports whether there was any.
func (p *compiledParameter) translate(value any) (any, bool) {
	if list, is := value.([]any); is && p.items != nil && p.kind == kindArray {
		changed := false
		for i := range list {
			meant, is := p.items.translate(list[i])
			list[i], changed = meant, changed || is
		}
		return list, changed
	}
	said, is := value.(string)
	switch {
	case !is:
		return value, false
	case p.kind == kindArray && p.items != nil:
		return p.items.translate(said)
	}
	return p.spoken.meant(said)
}

// meant is what a text stands for.
func (s *spoken) meant(said string) (any, bool) {
	if len(s.called) > 0 { // a long text costs what it takes to fold
		if value, is := s.called[foldWords(said)]; is && value != any(said) {
			return value, true
		}
	}
	if s.unit != nil {
		if number, err := s.unit.Read(said); err == nil {
			return number, true
		}
	}
	return said, false
}

// unread says why a text is no amount in the parameter's unit; empty where it is not for
// the unit to say.
func (s *spoken) unread(value any) string {
	said, is := value.(string)
	if !is || s.unit == nil || len(s.unit.Amounts(said)) == 0 {
		return ""
	}
	if _, err := s.unit.Read(said); err != nil {
		return err.Error()
	}
	return ""
}

// see lets the allowed values of a parameter, and those of an array's members, be given as they are
// seen, without their invisible characters.
func (p *compiledParameter) see() {
	if p.items != nil {
		p.items.see()
	}
	for _, value := range p.literals() {
		text, _ := value.(string)
		shown := plaintext.Text(text)
		if shown == text {
			continue
		}
		if p.called == nil {
			p.called = map[string]any{}
		}
		if _, taken := p.called[foldWords(shown)]; !taken {
			p.called[foldWords(shown)] = value
		}
	}
}

// foldWords makes words that differ in case, accents and spacing alone equal.
func foldWords(text string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(text)))
	return strings.Join(strings.Fields(folded), " ")
}

// aliases compiles other words for allowed values. Each stands for one value, which is
// allowed; read makes a value of a name, and says why it may be none.
func (f *faultCollector) aliases(p *compiledParameter, given map[string][]string, read func(name string) (any, string)) {
	if len(given) == 0 {
		return
	}
	p.called = map[string]any{}
	owners := map[string]string{}
	own := p.literals()
	for _, one := range p.allowed {
		own = append(own, one.given)
	}
	for _, name := range own {
		if text, is := name.(string); is {
			owners[foldWords(text)] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, flaw := read(name)
		if flaw != "" {
			f.faults.Add(f.at+fault.Point("aliases", name), "%s", flaw)
			continue
		}
		for i, words := range given[name] {
			f.alias(p, owners, name, i, Alias{words, value})
		}
	}
	slices.SortFunc(p.aliases, func(a, b Alias) int { return strings.Compare(a.Words, b.Words) })
}

// alias adds one alias of a value.
func (f *faultCollector) alias(p *compiledParameter, owners map[string]string, name string, i int, one Alias) {
	at, key := f.at+fault.Point("aliases", name, i), foldWords(one.Words)
	owner, taken := owners[key]
	switch {
	case key == "":
		f.faults.Add(at, "is empty")
	case taken && owner != name:
		f.faults.Add(at, "%s stands for %s and for %s: an alias has one value", fault.Show(one.Words), fault.Show(owner), fault.Show(name))
	default:
		owners[key], p.called[key] = name, one.Value
		p.aliases = append(p.aliases, one)
	}
}

// listAliases compiles the aliases of a list's parameter.
func (f *faultCollector) listAliases(d *definition, p *compiledParameter) {
	switch {
	case len(d.Aliases) == 0 || !f.fresh():
	case p.kind == kindArray:
		f.add("aliases", "is for single values; those of an array's members stand on items")
	case len(p.allowed) == 0:
		f.add("aliases", "stands beside allowedValues, whose other words it gives, and there are none")
	default:
		f.aliases(p, d.Aliases, func(name string) (any, string) {
			value, _ := p.kind.read(name)
			if flaws := p.check(value, ""); len(flaws) > 0 {
				return nil, flaws[0].detail
			}
			return value, ""
		})
	}
}

// propertyAliases compiles those of a property of a JSON Schema. What has another form is
// somebody else's, and says nothing here.
func (f *faultCollector) propertyAliases(p *compiledParameter, notes annotations) {
	var given map[string][]string
	if notes.Aliases == nil || json.Unmarshal(notes.Aliases, &given) != nil || p.property.Enum == nil {
		return
	}
	f.aliases(p, given, func(name string) (any, string) {
		value, _ := coerceProperty(name, p.property)
		if p.property.Validate(value) != nil {
			return nil, fmt.Sprintf("%s is not an allowed value", fault.Show(name))
		}
		return value, ""
	})
}

// listUnit takes the unit of a list's parameter.
func (f *faultCollector) listUnit(d *definition, p *compiledParameter) {
	if d.Unit == "" {
		return
	}
	if !p.kind.numeric() {
		f.add("unit", "is for numbers, and the type is %s", p.kind)
		return
	}
	p.count(d.Unit)
}

func (p *compiledParameter) count(name string) {
	unit := quantity.Of(name)
	p.unit = &unit
}

// Of the aliases a model is shown so many bytes.
const maxShownAliases = 600

// shownDescription is the description that a model sees, with the unit and the other words
// of the values: it hears them, and has to know what they stand for.
func (p *compiledParameter) shownDescription() string {
	sentences := []string{}
	if p.description != "" {
		sentences = append(sentences, p.description)
	}
	if p.unit != nil {
		sentences = append(sentences, "(in "+p.unit.String()+")")
	}
	if len(p.aliases) > 0 {
		also := make([]string, len(p.aliases))
		for i, one := range p.aliases {
			also[i] = fmt.Sprintf("%s = %v", one.Words, one.Value)
		}
		sentences = append(sentences, "Other words: "+fault.Cut(strings.Join(also, "; "), maxShownAliases))
	}
	return strings.Join(sentences, " ")
}
