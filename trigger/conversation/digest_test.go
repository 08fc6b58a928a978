package conversation_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/conversation"
)

// of returns the digest of one value, given as JSON.
func of(t testing.TB, raw string) string {
	value, err := exactjson.Decode([]byte(raw))
	require.NoError(t, err, raw)
	return conversation.Digest(map[string]any{"v": value})
}

func TestDigestComparesByValue(t *testing.T) {
	// Each line is one value in several spellings, and no other line's.
	for i, same := range different {
		for _, spelling := range same {
			for j, other := range different {
				require.Equal(t, i == j, of(t, spelling) == of(t, other[0]), "%s and %s", spelling, other[0])
			}
		}
	}
}

var different = [][]string{
	{`5`, `5.0`, `5e0`, `50e-1`, `0.5E+1`, `0.005e3`},
	{`-5`, `-5.000`},
	{`0`, `-0`, `0.0`, `0e17`},
	{`30`, `3e1`}, {`0.1`, `1e-1`, `0.10`}, {`0.3`}, {`0.30000000000000004`},
	{`9007199254740993`, `9007199254740993.0`, `9.007199254740993e15`}, {`9007199254740992`}, // one float64
	{`1e308`}, {`1e-308`},
	{`"5"`}, {`"5.0"`}, {`true`}, {`"true"`}, {`false`}, {`""`}, {`null`}, {`"null"`},
	{`"Zürich"`, `"Zu\u0308rich"`}, {`"zürich"`}, {`"Zurich"`}, {`"Zürich "`},
	{`"\u212b"`, `"\u00c5"`, `"A\u030a"`},  // Ångström sign and letter: normal form C makes them one
	{`"½"`}, {`"1⁄2"`}, {`"x²"`}, {`"x2"`}, // but does not change a number that is written in a text
	{`[]`}, {`{}`}, {`[null]`}, {`[[]]`}, {`[1,2]`, `[1.0,2.0]`}, {`[2,1]`}, {`[12]`}, {`["1","2"]`}, {`["12"]`}, {`["1,2"]`}, {`[["1"],"2"]`},
	{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`}, {`{"a":2,"b":1}`}, {`{"a":1}`}, {`{"a":1,"b":null}`}, {`{"a":"1","b":2}`}, {`{"a":{"b":2}}`},
	{`{"é":1,"e\u0301":2}`, `{"e\u0301":1,"é":2}`}, // two names that are one: a pair of values
	{`{"s1:a":1}`}, {`"s1:a"`}, {`["s1:a"]`},
}

func TestDigestTakesTheNamedValues(t *testing.T) {
	values := map[string]any{"order": "A-17", "amount": json.Number("30"), "note": "hurry", "gone": nil}
	without := map[string]any{"order": "A-17", "amount": json.Number("3e1")}
	require.Equal(t, conversation.Digest(without), conversation.Digest(values, "order", "amount"))
	require.Equal(t, conversation.Digest(without), conversation.Digest(values, "amount", "order", "order", "gone", "never"), "null and absent")
	require.NotEqual(t, conversation.Digest(without), conversation.Digest(values))
	require.NotEqual(t, conversation.Digest(values, "order"), conversation.Digest(values, "note"))
	require.NotEqual(t, conversation.Digest(map[string]any{"a": "x"}), conversation.Digest(map[string]any{"b": "x"}), "names count")
	require.Equal(t, conversation.Digest(nil), conversation.Digest(values, "gone"))
	require.Regexp(t, `^[0-9a-f]{64}$`, conversation.Digest(nil))
}

func TestValuesOfOneDigestAreAskedForAlike(t *testing.T) {
	tool, asked := &repositories.Tool{Name: "refund"}, map[string]string{}
	for _, same := range different {
		for _, raw := range same {
			value, err := exactjson.Decode([]byte(raw))
			require.NoError(t, err)
			values := map[string]any{"v": []any{value}}
			digest, asks := conversation.Digest(values), conversation.Question(tool, values, "", "")
			if before, known := asked[digest]; known && !strings.Contains(raw, `\u`) {
				require.Equal(t, before, asks, "what is confirmed as one is shown as one: %s", raw)
			}
			asked[digest] = asks
		}
	}
}

func TestDigestOfGoValuesIsThatOfTheirJSON(t *testing.T) {
	for raw, value := range map[string]any{
		`5`: 5, `0.25`: 0.25, `["a"]`: []string{"a"}, `{"a":1}`: map[string]int{"a": 1}, `{"b":[1.0]}`: json.RawMessage(`{"b":[1]}`),
	} {
		require.Equal(t, of(t, raw), conversation.Digest(map[string]any{"v": value}), raw)
	}
	require.NotPanics(t, func() { conversation.Digest(map[string]any{"v": make(chan int)}) })
}

// FuzzDigest expects the same digest for another spelling of a value, and another digest for another value.
func FuzzDigest(f *testing.F) {
	for _, same := range different {
		f.Add(same[0], uint64(1))
	}
	f.Add(`{"a":[{"b":"Zürich","c":[1,2.50,-3e2]},null],"d":{"e":0}}`, uint64(7))
	f.Fuzz(func(t *testing.T, raw string, seed uint64) {
		value, err := exactjson.Decode([]byte(raw))
		if err != nil || strings.Contains(raw, "\ufffd") {
			t.Skip()
		}
		spelt := respell(value, rand.New(rand.NewPCG(seed, 0)))
		digest := conversation.Digest(map[string]any{"v": value})
		require.Equal(t, digest, conversation.Digest(map[string]any{"v": spelt}), "%s and %v", raw, spelt)
		require.NotEqual(t, digest, conversation.Digest(map[string]any{"v": []any{value}}))
		require.NotEqual(t, digest, conversation.Digest(map[string]any{"v": value, "w": true}))
	})
}

// respell returns the value with exponents in numbers and another order of members.
func respell(value any, random *rand.Rand) any {
	switch value := value.(type) {
	case json.Number:
		decimal, ok := exactjson.ParseDecimal(value.String())
		if !ok {
			return value
		}
		return json.Number([]string{decimal.String(), decimal.Normal(), value.String()}[random.IntN(3)])
	case []any:
		next := make([]any, len(value))
		for i := range value {
			next[i] = respell(value[i], random)
		}
		return next
	case map[string]any:
		next := make(map[string]any, random.IntN(64))
		for name, member := range value {
			next[name] = respell(member, random)
		}
		return next
	}
	return value
}

func BenchmarkDigest(b *testing.B) {
	values := map[string]any{"order": "A-17", "amount": json.Number("30.00"), "customer": "Zoë Müller", "lines": []any{map[string]any{"sku": "x", "n": json.Number("2")}}}
	b.ReportAllocs()
	for b.Loop() {
		conversation.Digest(values)
	}
}
