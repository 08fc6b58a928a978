package eval

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"earshot/repositories/files"
)

// judge compares what came of a message with what was expected of it. Each call answers one
// expectation, the one whose values it has where several are of its tool.
func judge(said files.Said, came Came) TurnReport {
	said.Expect = lacking(said.Expect, came)
	turn := TurnReport{Line: said.Line, User: said.Text, Came: came.Calls, Rejected: came.Rejected, Why: came.Why, Near: came.Near, expect: said.Expect}
	left := slices.Clone(came.Calls)
	take := func(fits func(Call) bool) *Call {
		at := slices.IndexFunc(left, fits)
		if at < 0 {
			return nil
		}
		found := left[at]
		left = slices.Delete(left, at, at+1)
		return &found
	}
	open := slices.DeleteFunc(slices.Clone(said.Expect), func(e files.Expectation) bool {
		if e.Tool == "" {
			return false
		}
		found := take(func(c Call) bool { return c.Name == e.Tool && differing(e, c) == nil })
		turn.pair(e, found)
		return found != nil
	})
	missed := 0
	for _, e := range open {
		switch {
		case e.Tool != "":
			missed++
			if found := take(func(c Call) bool { return c.Name == e.Tool }); found != nil {
				turn.pair(e, found)
				turn.Verdict = wrong
			}
		case e.Rejected != "" && !slices.ContainsFunc(came.Rejected, func(r Rejected) bool { return answers(r, e) }):
			missed++
		}
	}
	turn.extra = left
	switch {
	case len(left) > 0:
		turn.Verdict = wrong
	case turn.Verdict == wrong:
	case missed > 0:
		turn.Verdict = silent
	default:
		turn.Verdict = right
	}
	return turn
}

// lacking are the expectations, with a rejected call in the place of one that may lack its values.
func lacking(expected []files.Expectation, came Came) []files.Expectation {
	expected = slices.Clone(expected)
	for i, e := range expected {
		for _, r := range came.Rejected {
			may := func(name string) bool { return slices.Contains(e.Lacking, name) }
			if r.Name == e.Tool && len(r.Missing) > 0 && !slices.ContainsFunc(r.Missing, func(name string) bool { return !may(name) }) {
				expected[i] = files.Expectation{Line: e.Line, Rejected: e.Tool, Missing: r.Missing}
			}
		}
	}
	return expected
}

// answers reports whether a call that was rejected is the one that is expected, for want of the
// same values.
func answers(r Rejected, e files.Expectation) bool {
	if r.Name != e.Rejected {
		return false
	}
	lacks, expected := slices.Sorted(slices.Values(r.Missing)), slices.Sorted(slices.Values(e.Missing))
	return len(e.Missing) == 0 || slices.Equal(slices.Compact(lacks), slices.Compact(expected))
}

// pair notes the call that answers an expectation, for the tools' figures. One without values
// that agree is paired the second time.
func (t *TurnReport) pair(e files.Expectation, c *Call) {
	if c != nil {
		t.pairs = append(t.pairs, pair{e, *c})
	}
}

// pair is an expectation with the call of its tool.
type pair struct {
	of   files.Expectation
	call Call
}

// differing lists the values of an expectation that a call does not have, by their names.
func differing(e files.Expectation, c Call) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		also := slices.ContainsFunc(e.Also[name], func(other any) bool { return agrees(other, c.Values[name]) })
		if !also && !agrees(e.Values[name], c.Values[name]) {
			names = append(names, name)
		}
	}
	return names
}

// agrees reports whether a value is the one that was expected: numbers by value, texts whatever
// the case and with any spaces around them, lists and maps member by member.
func agrees(expected, came any) bool {
	switch expected := expected.(type) {
	case string:
		text, is := came.(string)
		return is && strings.EqualFold(strings.TrimSpace(expected), strings.TrimSpace(text))
	case []any:
		list, is := came.([]any)
		return is && slices.EqualFunc(expected, list, agrees)
	case map[string]any:
		object, is := came.(map[string]any)
		return is && maps.EqualFunc(expected, object, agrees)
	case json.Number:
		return sameNumber(expected, came)
	}
	return reflect.DeepEqual(expected, came)
}

// longestNumber bounds what is worked out: a number of so many characters has no more digits
// than anybody expects.
const longestNumber = 64

func sameNumber(expected json.Number, came any) bool {
	number, is := came.(json.Number)
	if !is || len(number) > longestNumber || len(expected) > longestNumber {
		return is && number == expected
	}
	one, ok := new(big.Float).SetString(expected.String())
	other, also := new(big.Float).SetString(number.String())
	return ok && also && one.Cmp(other) == 0
}
