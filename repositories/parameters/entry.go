package parameters

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// entry is a member of allowedValues or excludedValues: a text is both a literal and a regular expression (RE2).
type entry struct {
	given   any
	pattern *regexp.Regexp // nil for a literal only
	broken  error          // why a text did not compile
}

func newEntries(given []any, in *Budget) []entry {
	if len(given) == 0 {
		return nil
	}
	entries := make([]entry, len(given))
	for i := range given {
		e := &entries[i]
		e.given = given[i]
		text, ok := given[i].(string)
		if !ok || regexp.QuoteMeta(text) == text {
			continue
		}
		if e.pattern, e.broken = in.compile(text); e.broken == nil {
			// The longest match decides whether the pattern covers a value; anchors could change its meaning.
			e.pattern.Longest()
		}
	}
	return entries
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
		switch {
		case e.pattern != nil:
			return e.pattern.MatchString(text)
		case e.broken != nil:
			return text == e.given
		default:
			return strings.Contains(text, e.given.(string))
		}
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
		if value {
			return []string{"true"}
		}
		return []string{"false"}
	case json.Number:
		number, ok := exactjson.ParseDecimal(value.String())
		if plain := number.String(); ok && plain != value.String() {
			return []string{value.String(), plain}
		}
		return []string{value.String()}
	default:
		return nil
	}
}

// regexSigns are sequences that no literal has: options, a class, a repeated dot, a repetition, an anchor.
var regexSigns = regexp.MustCompile(`\(\?[:=!<PiUms]|\\[dDwWsSbBpP]|\.[*+]|\\[1-9]|\{[0-9]+,?[0-9]*\}|^\^|[^\\]\$$`)

// brokenRegex returns the fault of an entry that looks like a regular expression and does not compile.
func (e entry) brokenRegex() string {
	if e.broken == nil {
		return ""
	}
	var malformed *syntax.Error
	text, _ := e.given.(string)
	if errors.As(e.broken, &malformed) && !regexSigns.MatchString(text) {
		return ""
	}
	reason := strings.TrimPrefix(e.broken.Error(), "error parsing regexp: ")
	return "the regular expression " + fault.Show(text) + " does not compile as RE2: " + fault.Clip(reason)
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

// engine is compile for the patterns of a JSON Schema.
func (b *Budget) engine(text string) (jsonschema.Regexp, error) { return b.compile(text) }

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
