package parameters

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
	"earshot/repositories/quantity"
)

// Alias is another word for an allowed value.
type Alias struct {
	Words string
	Value any
}

// spoken holds the aliases of a parameter's values, and the unit of its numbers.
type spoken struct {
	aliases []Alias        // by words
	called  map[string]any // values by folded alias
	unit    *quantity.Unit // nil for none
}

func (s *spoken) count(unit string) {
	of := quantity.Of(unit)
	s.unit = &of
}

// translate replaces an alias by its value and an amount by its number, and reports whether it did.
func (p *compiledParameter) translate(value any) (any, bool) {
	list, isList := value.([]any)
	text, isText := value.(string)
	switch {
	case isList && p.kind == kindArray && p.items != nil:
		changed := false
		for i := range list {
			converted, ok := p.items.translate(list[i])
			list[i], changed = converted, changed || ok
		}
		return list, changed
	case !isText:
		return value, false
	case p.kind == kindArray && p.items != nil:
		return p.items.translate(value)
	}
	if len(p.called) > 0 { // folding a long text is expensive
		if converted, ok := p.called[foldWords(text)]; ok && converted != value {
			return converted, true
		}
	}
	if p.unit != nil {
		if number, err := p.unit.Read(text); err == nil {
			return number, true
		}
	}
	return value, false
}

// amountFlaw returns why a text with amounts has none in the parameter's unit; empty if it has one.
func (s *spoken) amountFlaw(value any) string {
	text, ok := value.(string)
	if !ok || s.unit == nil || len(s.unit.Amounts(text)) == 0 {
		return ""
	}
	if _, err := s.unit.Read(text); err != nil {
		return err.Error()
	}
	return ""
}

// literals returns the allowed values, or nil if a pattern is among them.
func (p *compiledParameter) literals() []any {
	if p.property != nil && p.property.Enum != nil {
		return p.property.Enum.Values
	}
	var values []any
	for _, e := range p.allowed {
		if e.pattern != nil {
			return nil
		}
		values = append(values, e.given)
	}
	return values
}

// allowVisible allows values without their invisible characters, as people see them.
func (p *compiledParameter) allowVisible() {
	if p.items != nil {
		p.items.allowVisible()
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

// foldWords removes differences in case, accents and spacing.
func foldWords(text string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(text)))
	return strings.Join(strings.Fields(folded), " ")
}

const maxShownAliases = 600

// shownDescription returns the description for models, with the unit and the aliases.
func (p *compiledParameter) shownDescription() string {
	sentences := []string{}
	if p.description != "" {
		sentences = append(sentences, p.description)
	}
	if p.unit != nil {
		sentences = append(sentences, "(in "+p.unit.String()+")")
	}
	if len(p.aliases) > 0 {
		also := lists.Map(p.aliases, func(one Alias) string { return fmt.Sprintf("%s = %v", one.Words, one.Value) })
		sentences = append(sentences, "Other words: "+fault.Cut(strings.Join(also, "; "), maxShownAliases))
	}
	if p.inBody {
		sentences = append(sentences, "(required if there is a value for any other part of the body)")
	}
	return strings.Join(sentences, " ")
}
