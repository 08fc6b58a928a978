package schema_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/repositories/fault"
	"earshot/repositories/schema"
)

// violations returns the sentences for a document that a schema refuses, each with its place.
func violations(t *testing.T, of, document string) (said []string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(of))
	require.NoError(t, err)
	require.NoError(t, compiler.AddResource("test:///schema", parsed))
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	require.NoError(t, err)
	refused := compiler.MustCompile("test:///schema").Validate(value)
	require.Error(t, refused)
	for _, one := range schema.Violations(refused) {
		said = append(said, fault.Point(schema.Tokens(one.At)...)+" "+one.Text(value))
	}
	return said
}

func TestEveryViolationHasItsPlaceAndAPlainSentence(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		`/list/2 "x" is not an integer`,
		`/list/10 "y" is not an integer`, // by number, not by letter
		`/most 5 is not under 5`,
		`/name is required`,
		`/size 0.05 is under the minimum of 0.1`,
		`/some 1 is not above 1.5`,
		`/state "don" is not one of "done", "open"`,
		`/step 7 is not a multiple of 2`,
		`/text is too long: 4 of at most 3 characters`,
		`/zip is not a known field`,
	}, violations(t, `{"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
		"list": {"items": {"type": "integer"}}, "name": {}, "size": {"minimum": 0.1},
		"most": {"exclusiveMaximum": 5}, "some": {"exclusiveMinimum": 1.5}, "step": {"multipleOf": 2},
		"state": {"enum": ["done", "open"]}, "text": {"maxLength": 3}}}`,
		`{"list": [0, 1, "x", 3, 4, 5, 6, 7, 8, 9, "y"], "most": 5, "size": 0.05, "some": 1, "state": "don", "step": 7, "text": "four", "zip": 1}`))
}

func TestAChoiceNamesTheFaultsOfTheFormThatWasMeant(t *testing.T) {
	t.Parallel()
	choice := `{"anyOf": [{"type": "string"}, {"type": "object", "required": ["url"]}, {"type": "null"}]}`
	require.Equal(t, []string{"/url is required"}, violations(t, choice, `{}`))
	require.Equal(t, []string{" 5 is not null, an object or a string"}, violations(t, choice, `5`))
	require.Equal(t, []string{" 5 fits several of the forms of which it may have one"},
		violations(t, `{"oneOf": [{"minimum": 1}, {"minimum": 2}]}`, `5`))
}

func TestViolationIsClassified(t *testing.T) {
	t.Parallel()
	compiler := jsonschema.NewCompiler()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"required": ["a"], "additionalProperties": false, "properties": {
		"a": {}, "kind": {"enum": ["event", "call", 3]}, "n": {"type": "number"}}}`))
	require.NoError(t, err)
	require.NoError(t, compiler.AddResource("test:///schema", parsed))
	refused := compiler.MustCompile("test:///schema").Validate(map[string]any{"kind": "evnet", "n": "1", "more": true})
	codes := map[string]fault.Meant{}
	for _, one := range schema.Violations(refused) {
		codes[strings.Join(one.At, "/")] = one.Meant()
	}
	require.Equal(t, map[string]fault.Meant{
		"a": {Code: fault.Missing}, "n": {Code: fault.WrongType}, "more": {Code: fault.UnknownField},
		"kind": {Code: fault.NotAllowed, Allowed: []string{"event", "call"}, Suggestion: "event"},
	}, codes)
}

func TestOtherErrorIsOneViolation(t *testing.T) {
	t.Parallel()
	found := schema.Violations(errors.New("no such schema"))
	require.Len(t, found, 1)
	require.Equal(t, "no such schema", found[0].Text(nil))
	require.Empty(t, found[0].Meant())
}

func TestPlacesAreInTheOrderOfTheDocument(t *testing.T) {
	t.Parallel()
	places := [][]string{{"b", "10"}, {"b", "9"}, {"b"}, {"a", "01"}, {"a", "2"}, {}}
	slices.SortFunc(places, schema.ComparePlaces)
	require.Equal(t, [][]string{{}, {"a", "01"}, {"a", "2"}, {"b"}, {"b", "9"}, {"b", "10"}}, places)
}

func TestValueIsFoundAtItsPlace(t *testing.T) {
	t.Parallel()
	document := map[string]any{"a": []any{"x", map[string]any{"b": 1}}}
	require.Equal(t, 1, schema.ValueAt(document, []string{"a", "1", "b"}))
	for _, at := range [][]string{{"a", "2"}, {"a", "-1"}, {"a", "x"}, {"c"}, {"a", "0", "b"}} {
		require.Nil(t, schema.ValueAt(document, at), at)
	}
	require.Equal(t, 5, schema.Weight(document, 100))
	require.Equal(t, 3, schema.Weight(document, 3), "counting ends at the limit")
}

func TestBoundIsADecimal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0.1", "12", "-2.50"} {
		bound, _ := new(big.Rat).SetString(text)
		require.Equal(t, strings.TrimSuffix(text, "0"), schema.Decimal(bound).String())
	}
	require.Empty(t, schema.Decimal(nil))
}
