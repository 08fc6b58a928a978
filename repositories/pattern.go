package repositories

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Sizes of regular expressions, in steps of the compiled program, of some 40 bytes
// each. x{1000} is seven characters and a thousand steps.
const (
	mostPatternSteps    = 5_000   // of one expression
	mostRepositorySteps = 200_000 // of all of a repository's together
)

var (
	errPatternSize  = errors.New("it is too large once its repetitions are written out")
	errPatternsSize = errors.New("together the repository's regular expressions are too large")
)

// patterns compiles the regular expressions of one repository within its bounds, and
// bounds its JSON Schemas as well.
type patterns struct{ steps, values atomic.Int64 }

// takesSchema reports whether there is room for a JSON Schema made of so many values.
func (p *patterns) takesSchema(values int) bool {
	return values <= mostSchemaValues && p.values.Add(int64(values)) <= mostRepositoryValues
}

// compile compiles RE2. A text that is no regular expression is a *syntax.Error.
func (p *patterns) compile(text string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	steps := patternSteps(parsed)
	if steps > mostPatternSteps {
		return nil, errPatternSize
	}
	if p.steps.Add(int64(steps)) > mostRepositorySteps {
		return nil, errPatternsSize
	}
	return regexp.Compile(text)
}

// engine lets a JSON Schema compile its patterns within the same bounds.
func (p *patterns) engine(text string) (jsonschema.Regexp, error) { return p.compile(text) }

// patternSteps estimates the size of a program without making it.
func patternSteps(re *syntax.Regexp) int {
	steps := len(re.Rune)
	for _, sub := range re.Sub {
		steps += patternSteps(sub)
	}
	if re.Op == syntax.OpRepeat {
		steps *= max(re.Min, re.Max, 1)
	}
	return min(1+steps, mostPatternSteps+1)
}
