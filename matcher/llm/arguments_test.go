package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArgumentsAreReadWhereOneReadingIsCertain(t *testing.T) {
	for _, c := range []struct {
		rule, text, want string
		repaired         bool
	}{
		{"strict JSON", `{"a":1,"b":[true,null,"x"],"c":{"d":1.50}}`, `{"a":1,"b":[true,null,"x"],"c":{"d":1.50}}`, false},
		{"integers beyond 2^53", `{"a":9007199254740993,"b":-9223372036854775808}`, `{"a":9007199254740993,"b":-9223372036854775808}`, false},
		{"numbers as written", `{"a":1.10,"b":1e400,"c":-0.0}`, `{"a":1.10,"b":1e400,"c":-0.0}`, false},
		{"nothing", ``, `{}`, false},
		{"blank", " \n\t", `{}`, false},
		{"null", `null`, `{}`, false},
		{"empty", ` {} `, `{}`, false},
		{"a member twice with one value", `{"a":1,"a":1}`, `{"a":1}`, false},
		{"doubly encoded", `"{\"a\":\"x \\\"y\\\"\"}"`, `{"a":"x \"y\""}`, true},
		{"triply encoded", `"\"{\\\"a\\\":1}\""`, `{"a":1}`, true},
		{"an encoded null", `"null"`, `{}`, true},
		{"an encoded nothing", `""`, `{}`, true},
		{"alone in a list", `[{"a":1}]`, `{"a":1}`, true},
		{"fenced", "```json\n{\"a\":1}\n```", `{"a":1}`, true},
		{"fenced without a language", "```{\"a\":1}```", `{"a":1}`, true},
		{"fenced and single-quoted", "```python\n{'a': True}\n```", `{"a":true}`, true},
		{"single quotes", `{'a': 'b', 'c': "d"}`, `{"a":"b","c":"d"}`, true},
		{"a double quote within single ones", `{'a': 'say "hi"'}`, `{"a":"say \"hi\""}`, true},
		{"an escaped apostrophe", `{'a': 'it\'s \\ \n'}`, `{"a":"it's \\ \n"}`, true},
		{"an apostrophe within double quotes", `{"a": "it's", }`, `{"a":"it's"}`, true},
		{"typographic quotes", `{“a”: ‘b’}`, `{"a":"b"}`, true},
		{"Python literals", `{"a":True,"b":False,"c":None}`, `{"a":true,"b":false,"c":null}`, true},
		{"Python literals within text", `{'a':'True, None'}`, `{"a":"True, None"}`, true},
		{"trailing commas", `{"a":[1,2,],"b":{"c":1 , },}`, `{"a":[1,2],"b":{"c":1}}`, true},
		{"keys without quotes", `{a: 1, b_2 : "x", $c: null}`, `{"a":1,"b_2":"x","$c":null}`, true},
		{"keys that look like literals", `{true: 1, None: 2}`, `{"true":1,"None":2}`, true},
		{"raw line breaks and tabs", "{\"a\":\"one\ntwo\tthree\r\"}", `{"a":"one\ntwo\tthree\r"}`, true},
		{"brackets too many", `{"a":{"b":1}}}]`, `{"a":{"b":1}}`, true},
		{"a closing semicolon", `{"a":1};`, `{"a":1}`, true},
		{"backslashes stay what they are", `{'a': 'C:\\temp\\new'}`, `{"a":"C:\\temp\\new"}`, true},
		{"an escape of JSON's is one", `{'a': 'C:\temp'}`, `{"a":"C:\temp"}`, true},
		{"commas and braces within text", `{'a': 'x,} ]', }`, `{"a":"x,} ]"}`, true},
		{"spaces that do not break", "\u00a0{'a':\u00a01}", `{"a":1}`, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			arguments, repaired, err := ReadArguments(c.text)
			require.NoError(t, err)
			want, err := decodeJSON(c.want)
			require.NoError(t, err)
			require.Equal(t, want, any(arguments))
			require.Equal(t, c.repaired, repaired)
		})
	}
}

func TestArgumentsWithoutACertainReadingAreRefused(t *testing.T) {
	for rule, text := range map[string]string{
		"cut short in a text":            `{"a":1,"b":"unfin`,
		"cut short after a text":         `{"a":"b"`,
		"cut short after a comma":        `{"a":1,`,
		"cut short after a colon":        `{"a":`,
		"cut short in a key":             `{"a":1,"b`,
		"cut short in a list":            `{"a":[1,2`,
		"cut short and encoded":          `"{\"a\":1"`,
		"cut short in single quotes":     `{'a':'b`,
		"a fence that does not end":      "```json\n{\"a\":1}",
		"an ellipsis":                    `{"a":[1,2,...]}`,
		"an apostrophe that ends a text": `{'a': 'it's'}`,
		"quotes within quotes":           `{"a": "say "hi" now"}`,
		"a text without quotes":          `{"a": monday}`,
		"a date without quotes":          `{"a": 2026-12-01}`,
		"a number with a leading zero":   `{"a": 007}`,
		"half a number":                  `{"a": 1e}`,
		"a number without its zero":      `{"a": .5}`,
		"a sum":                          `{"a": 1+2}`,
		"infinity":                       `{"a": Infinity}`,
		"a constructor":                  `{"a": NumberLong(2)}`,
		"an unknown escape":              `{'a': '\q'}`,
		"a missing comma":                `{"a":1 "b":2}`,
		"a missing comma in a list":      `{"a":[1 2]}`,
		"a missing colon":                `{"a" 1}`,
		"a missing value":                `{"a":,"b":1}`,
		"a doubled comma":                `{"a":1,,"b":2}`,
		"brackets that do not pair":      `{"a":[1}`,
		"a member with two values":       `{"a":1,"a":2}`,
		"two objects":                    `{"a":1}{"a":2}`,
		"two objects in a list":          `[{"a":1},{"a":2}]`,
		"a list":                         `["a"]`,
		"an empty list":                  `[]`,
		"a number":                       `42`,
		"a text":                         `"monday"`,
		"words":                          `the day is monday`,
		"an assignment":                  `day="monday"`,
		"a comment":                      "{\"a\":1 // one\n}",
		"prose before":                   `Here: {"a":1}`,
		"encoded over and over":          `"\"\\\"\\\\\\\"{}\\\\\\\"\\\"\""`,
		"nested beyond reason":           `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		t.Run(rule, func(t *testing.T) {
			arguments, _, err := ReadArguments(text)
			require.Error(t, err, "%v", arguments)
			require.Less(t, len(err.Error()), 200)
		})
	}
}

// repetitive returns texts of n pieces that take quadratic time in a backtracking reader.
func repetitive(n int) map[string]string {
	return map[string]string{
		"backslashes": `{'a':'` + strings.Repeat(`\\`, n) + `'}`,
		"numbers":     `{'a':[` + strings.Repeat(`1,`, n) + `]}`,
		"ends":        `{'a':1` + strings.Repeat(`}`, n),
		"beginnings":  strings.Repeat(`{`, n),
		"quotes":      strings.Repeat(`'`, n),
	}
}

// TestReadingRepetitiveArgumentsEnds exceeds the time limit if reading is quadratic; see BenchmarkReadRepetitive.
func TestReadingRepetitiveArgumentsEnds(t *testing.T) {
	for name, text := range repetitive(250_000) {
		_, _, err := ReadArguments(text)
		require.Equal(t, name == "beginnings" || name == "quotes", err != nil, name)
	}
}

func BenchmarkReadRepetitive(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for name, text := range repetitive(n) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					_, _, _ = ReadArguments(text)
				}
			})
		}
	}
}

// FuzzReadArguments searches for a panic, a value that JSON cannot represent, and a reading of valid JSON that
// differs from encoding/json's.
func FuzzReadArguments(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, `{'a':'it\'s',}`, "```json\n{}\n```", `"{\"a\":1}"`, `{a:True}`, `{"a":1}}`, `[{"a":[1,2,]}]`, "{“a”:‘b’}", `{"a":"\ud83d"}`, "\v{}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		arguments, repaired, err := ReadArguments(text)
		if err != nil {
			require.Nil(t, arguments)
			return
		}
		rendered, err := json.Marshal(arguments)
		require.NoError(t, err, "every value is JSON")
		again, _, err := ReadArguments(string(rendered))
		require.NoError(t, err)
		require.Equal(t, arguments, again)
		if !repaired && strings.TrimSpace(text) != "" {
			require.True(t, json.Valid([]byte(strings.TrimSpace(text))))
		}
	})
}
