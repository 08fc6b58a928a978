package bodies_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/bodies"
	"earshot/repositories/fault"
)

const greetingSchema = `{"$defs":{"Greeting":{"type":"object","additionalProperties":false,"required":["text"],
	"properties":{"text":{"type":"string","format":"earshot-polite"},"times":{"type":"integer"},"tags":{}}}}}`

func TestBodiesNameEveryFaultAsDefinitionsDo(t *testing.T) {
	bodies := bodies.Compile([]byte(greetingSchema), map[string]func(string) error{
		"polite": func(text string) error {
			if text != "hello" {
				return errors.New("is not polite")
			}
			return nil
		},
	})
	var into struct {
		Text  string
		Times json.Number
	}
	require.NoError(t, bodies.Decode("Greeting", []byte(`{"text":"hello","times":9007199254740993,"tags":1e1}`), &into))
	require.Equal(t, "hello", into.Text)
	require.Equal(t, json.Number("9007199254740993"), into.Times)

	require.Equal(t, fault.List{
		{Pointer: "/text", Detail: "is not polite"},
		{Pointer: "/tmes", Detail: `unknown field "tmes"; did you mean "times"?`, Meant: fault.Meant{Code: fault.UnknownField, Allowed: []string{"tags", "text", "times"}, Suggestion: "times"}},
	}, bodies.Decode("Greeting", []byte(`{"text":"oi","tmes":2}`), &into))
	require.Equal(t, fault.List{{Pointer: "/text", Detail: "is missing", Meant: fault.Meant{Code: fault.Missing}}}, bodies.Decode("Greeting", []byte(`{}`), &into))
	require.ErrorContains(t, bodies.Decode("Greeting", []byte(`{`), &into), "malformed JSON")
	require.Equal(t, fault.List{
		{Pointer: "/text", Detail: "is not polite"}, {Pointer: "/times", Detail: "1e1 is not an integer: write it without fraction and exponent"},
	}, bodies.Decode("Greeting", []byte(`{"text":"oi","times":1e1}`), &into))
	require.ErrorContains(t, bodies.Decode("Greeting", []byte(`{"text":"hello","times":9223372036854775808}`), &into), "/times: 9223372036854775808 is out of the range of a 64-bit integer")
	require.ErrorContains(t, bodies.Decode("Greeting", []byte(`{"text":"hello","times":1.5}`), &into), "/times: 1.5 is not an integer")
}

func TestWhatCountsAsAbsentIsLeftOut(t *testing.T) {
	named := bodies.Compile([]byte(`{"$defs":{"A":{"type":"object","additionalProperties":false,"required":["text"],
		"properties":{"text":{"type":"string"},"id":{"type":"string","minLength":1},"note":{"type":"string"},"times":{"type":"integer"}}}}}`), nil)
	var into map[string]any
	require.Len(t, named.Decode("A", []byte(`{"text":"x","id":"","times":null}`), &into), 2)
	named.Absent, into = true, nil
	require.NoError(t, named.Decode("A", []byte(`{"text":"","id":"","note":"","times":null}`), &into))
	require.Equal(t, map[string]any{"text": "", "note": ""}, into, "a text that may be empty stays")
	require.Equal(t, fault.List{
		{Pointer: "/other", Detail: `unknown field "other"; the fields here are id, note, text, times`, Meant: fault.Meant{Code: fault.UnknownField, Allowed: []string{"id", "note", "text", "times"}}},
		{Pointer: "/text", Detail: "null is not a string", Meant: fault.Meant{Code: fault.WrongType}},
	}, named.Decode("A", []byte(`{"text":null,"times":"","other":null}`), &into))
}

func TestABrokenSchemaOfBodiesPanics(t *testing.T) {
	require.Panics(t, func() { bodies.Compile([]byte(`{"$defs":{"A":{"type":"strin"}}}`), nil) })
	require.Panics(t, func() { bodies.Compile([]byte(`{`), nil) })
}

func TestABodyWithoutADefinitionIsReadByTheSameRules(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[{"b":1,"b":2}]}`: "/a/0/b: is given more than once", strings.Repeat("[", 70) + strings.Repeat("]", 70): "nested more than 64 deep",
		`{"a":1} x`: "malformed JSON", "": "the body is empty", `{"a":1e9999999}`: "/a: ",
	} {
		_, err := bodies.Tree([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
	tree, err := bodies.Tree([]byte(`{"a":[1.50,null]}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": []any{json.Number("1.50"), nil}}, tree)
}
