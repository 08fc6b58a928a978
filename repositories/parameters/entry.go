package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
	"earshot/repositories/quantity"
)

// entry is a member of allowedValues or excludedValues: a text is both a literal and a regular expression (RE2).
type entry struct {
	given   any
	pattern *regexp.Regexp // nil for a literal only
	broken  error          // why a text did not compile
}

func newEntries(given []any, in *Budget) []entry {
	return lists.Map(given, func(given any) entry {
		e := entry{given: given}
		if text, ok := given.(string); ok && regexp.QuoteMeta(text) != text {
			if e.pattern, e.broken = in.compile(text); e.broken == nil {
				// The longest match decides whether the pattern covers a value; anchors could change its meaning.
				e.pattern.Longest()
			}
		}
		return e
	})
}

// allows reports whether the entry equals the value or matches all of it.
func (e entry) allows(value any) bool {
	return e.is(value, func(text string) bool {
		if e.pattern == nil {
			return text == e.given
		}
		found := e.pattern.FindStringIndex(text)
		return found != nil && found[0] == 0 && found[1] == len(text)
	})
}

// excludes reports whether the entry equals the value or matches any part of it.
func (e entry) excludes(value any) bool {
	return e.is(value, func(text string) bool {
		if e.pattern != nil {
			return e.pattern.MatchString(text)
		}
		return text == e.given || e.broken == nil && strings.Contains(text, e.given.(string))
	})
}

// is compares an entry with a value and, if the entry is a text, with the texts of a scalar.
func (e entry) is(value any, matches func(string) bool) bool {
	if equal(e.given, value) {
		return true
	}
	_, isText := e.given.(string)
	return isText && slices.ContainsFunc(scalarTexts(value), matches)
}

// scalarTexts returns the texts of a value for patterns: none for lists and maps, and two for a number, so that 1.0
// cannot evade a rule about 1.
func scalarTexts(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case bool:
		return []string{strconv.FormatBool(value)}
	case json.Number:
		number, ok := exactjson.ParseDecimal(value.String())
		if plain := number.String(); ok && plain != value.String() {
			return []string{value.String(), plain}
		}
		return []string{value.String()}
	}
	return nil
}

// regexSigns are sequences that no literal has: options, a class, a repeated dot, a repetition, an anchor.
var regexSigns = regexp.MustCompile(`\(\?[:=!<PiUms]|\\[dDwWsSbBpP]|\.[*+]|\\[1-9]|\{[0-9]+,?[0-9]*\}|^\^|[^\\]\$$`)

// brokenRegex returns the fault of an expression that is too large, and the note on an entry that looks like an
// expression and counts as text.
func (e entry) brokenRegex() (refused, noted string) {
	if e.broken == nil {
		return "", ""
	}
	var malformed *syntax.Error
	text, _ := e.given.(string)
	reason := "does not compile as RE2: " + fault.Clip(strings.TrimPrefix(e.broken.Error(), "error parsing regexp: "))
	switch {
	case !errors.As(e.broken, &malformed):
		return "the regular expression " + fault.Show(text) + " " + reason, ""
	case regexSigns.MatchString(text):
		return "", fault.Show(text) + " counts as text: it " + reason
	}
	return "", ""
}

// Limits of the sizes of regular expressions, in steps of some 40 bytes: x{1000} has a thousand.
const (
	maxPatternSteps    = 5_000   // of one expression
	maxRepositorySteps = 200_000 // of all expressions of a repository
)

var (
	errPatternSize  = errors.New("it is too large once its repetitions are written out")
	errPatternsSize = errors.New("together the repository's regular expressions are too large")
)

// Budget bounds the regular expressions and the JSON Schemas of one repository.
type Budget struct{ steps, values atomic.Int64 }

// compile compiles RE2 within the limits. Syntax errors are *syntax.Error.
func (b *Budget) compile(text string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	steps := patternSteps(parsed)
	if steps > maxPatternSteps {
		return nil, errPatternSize
	}
	if b.steps.Add(int64(steps)) > maxRepositorySteps {
		return nil, errPatternsSize
	}
	return regexp.Compile(text)
}

// patternSteps estimates the size of a compiled expression.
func patternSteps(re *syntax.Regexp) int {
	steps := len(re.Rune)
	for _, sub := range re.Sub {
		steps += patternSteps(sub)
	}
	if re.Op == syntax.OpRepeat {
		steps *= max(re.Min, re.Max, 1)
	}
	return min(1+steps, maxPatternSteps+1)
}

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
	if text, ok := value.(string); ok && s.unit != nil && len(s.unit.Amounts(text)) > 0 {
		if _, err := s.unit.Read(text); err != nil {
			return err.Error()
		}
	}
	return ""
}

// givenAllowed returns the members of allowedValues.
func (p *compiledParameter) givenAllowed() []any {
	return lists.Map(p.allowed, func(e entry) any { return e.given })
}

// literals returns the allowed values, or nil if a pattern is among them.
func (p *compiledParameter) literals() []any {
	if p.property != nil && p.property.Enum != nil {
		return p.property.Enum.Values
	}
	if len(p.allowed) == 0 || slices.ContainsFunc(p.allowed, func(e entry) bool { return e.pattern != nil }) {
		return nil
	}
	return p.givenAllowed()
}

// spelled returns the allowed values that are patterns by their dots alone, and so may be meant as words.
func (p *compiledParameter) spelled() (values []any) {
	for _, e := range p.allowed {
		text, _ := e.given.(string)
		plain := strings.ReplaceAll(text, ".", "")
		if e.pattern != nil && regexp.QuoteMeta(plain) == plain && strings.ContainsFunc(plain, unicode.IsLetter) {
			values = append(values, e.given)
		}
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
func foldWords(text string) string { return strings.Join(strings.Fields(plaintext.Folded(text)), " ") }

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
