package exactjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/exactjson"
)

// record has the size and the structure of a stored message.
type record struct {
	ID      string            `json:"id"`
	Actor   string            `json:"actor"`
	Text    string            `json:"text"`
	Values  map[string]any    `json:"values,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Matches []match           `json:"matches"`
	Links   map[string]string `json:"links,omitempty"`
}

type match struct {
	TriggerID string          `json:"triggerId"`
	Name      string          `json:"name"`
	Values    json.RawMessage `json:"values"`
}

func sample() record {
	values := json.RawMessage(`{"day":"Friday","people":9007199254740993}`)
	return record{
		ID: "m1", Actor: "user", Text: strings.Repeat("A table for <two> & a dog, please. ", 10), Raw: values,
		Values:  map[string]any{"day": "Friday", "people": json.Number("9007199254740993"), "share": json.Number("1.0")},
		Matches: []match{{"t1", "book", values}, {"t2", "cancel", values}}, Links: map[string]string{"self": "/v1"},
	}
}

func TestJSONKeepsItsDigitsAndSigns(t *testing.T) {
	text, err := exactjson.Encode(sample())
	require.NoError(t, err)
	require.Contains(t, string(text), "for <two> & a dog")
	require.Contains(t, string(text), `"share":1.0`)
	var into record
	require.NoError(t, exactjson.Unmarshal(text, &into))
	require.Equal(t, sample(), into)
}

func TestDecodeTakesOneValue(t *testing.T) {
	for text, want := range map[string]any{
		`{"a":1.0} `: map[string]any{"a": json.Number("1.0")}, " 12\n\t\r": json.Number("12"), `"x"`: "x", `null`: nil,
	} {
		got, err := exactjson.Decode([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`{} {}`, `1 2`, `{}x`, "\"x\"\v"} {
		_, err := exactjson.Decode([]byte(text))
		require.ErrorIs(t, err, exactjson.ErrMore, text)
	}
	for _, text := range []string{``, ` `, `{`, `{]`} {
		_, err := exactjson.Decode([]byte(text))
		require.ErrorContains(t, err, "not JSON: ", text)
		require.NotErrorIs(t, err, exactjson.ErrMore, text)
	}
}

func TestObjectKeepsItsOrder(t *testing.T) {
	var object exactjson.Object
	require.Equal(t, `{}`, string(object.JSON()))
	require.NoError(t, object.Add("z", json.Number("1.0")))
	require.Error(t, object.Add("y", make(chan int)))
	require.NoError(t, object.Add("a<", []string{"&"}))
	require.Equal(t, `{"z":1.0,"a<":["&"]}`, string(object.JSON()))
	require.NoError(t, object.Add("m", nil))
	require.Equal(t, `{"z":1.0,"a<":["&"],"m":null}`, string(object.JSON()))
}

// failing is a value that cannot be encoded.
type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

// One text must not affect the next through a reused encoder.
func TestTextsDoNotMeet(t *testing.T) {
	var users sync.WaitGroup
	const rounds = 300
	for range 8 {
		users.Go(func() {
			for i := range rounds {
				first, err := exactjson.Encode(sample())
				require.NoError(t, err)
				_, err = exactjson.Encode(map[string]any{"a": strings.Repeat("x", i), "b": failing{}})
				require.Error(t, err)
				var kept, other record
				require.NoError(t, exactjson.Unmarshal(first, &kept))
				for _, wrong := range []string{`{"id":"m2"} {"id":"m3"}`, `{"id":`, `{"id":7}`, ``, "{\"id\":\"m4\"}\n", `"x"`, `{]`} {
					_ = exactjson.Unmarshal([]byte(wrong), &other)
				}
				large := strings.Repeat("y", 100<<(i%12))
				require.NoError(t, exactjson.Unmarshal([]byte(`{"text":"`+large+`","raw":[2]}`), &other))
				require.Equal(t, large, other.Text)
				require.Equal(t, sample(), kept)
				second, err := exactjson.Encode(kept)
				require.NoError(t, err)
				require.Equal(t, string(first), string(second))
			}
		})
	}
	users.Wait()
}

// TestMembersAreWrittenAsAMapIs compares Members with maps.
func TestMembersAreWrittenAsAMapIs(t *testing.T) {
	for _, members := range []map[string]any{
		nil, {}, {"day": "Friday"}, {"b": json.Number("2"), "a": json.Number("1.50"), "é": true, "": false, "none": nil},
		{"zero": json.Number("0"), "no digits": json.Number(""), "less": json.Number("-1"), "lead": json.Number("10"), "float": 1.5, "int": 3},
		{"text": "a\"b\\c\n\u2028<&>\x7f\xff", "<&>": "ü", "list": []any{"x", map[string]any{"y": []string{"z"}}}, "of": map[string]any{"b": 1, "a": nil}},
	} {
		wanted, err := exactjson.Encode(members)
		require.NoError(t, err)
		got, err := exactjson.Encode(exactjson.Members(members))
		require.NoError(t, err)
		require.Equal(t, string(wanted), string(got))
		escaped, err := json.Marshal(members)
		require.NoError(t, err)
		got, err = json.Marshal(exactjson.Members(members))
		require.NoError(t, err)
		require.Equal(t, string(escaped), string(got))
	}
	for _, faulty := range []any{json.Number("1x"), json.Number("01"), math.NaN()} {
		_, err := exactjson.Encode(exactjson.Members{"it": faulty})
		require.Error(t, err, faulty)
	}
}

func TestTextFlawNamesWhatADecoderWouldReplace(t *testing.T) {
	t.Parallel()
	for text, flaw := range map[string]string{
		``: "", `"é\u00e9\ud7ff"`: "", `"\ud83d\ude00\uD83D\uDE00"`: "", `"\\ud800"`: "", `"\\\\ud800 \ufffd"`: "", "\"\ufffd\"": "",
		"\"caf\xe9\"": "byte 5 is 0xe9", "\xff": "byte 1 is 0xff", "\"\xed\xa0\x80\"": "byte 2 is 0xed",
		`"\ud800"`: `has \ud800`, `"\uDfff"`: `has \uDfff`, `"\\\ud800"`: `has \ud800`, `"\ud83d\ud83d\ude00"`: `has \ud83d`,
		`"\ude00\ud83d"`: `has \ude00`, `"\ud83dx\ude00"`: `has \ud83d`, `"\ud83d\\ude00"`: `has \ud83d`, `"\ud83d\u`: `has \ud83d`, `\ud8`: "",
	} {
		got := exactjson.TextFlaw([]byte(text))
		require.Equal(t, flaw == "", got == "", "%q: %s", text, got)
		require.Contains(t, got, flaw, text)
	}
}

// FuzzFlawlessTextsStayAsTheyAre decodes texts: only those with a flaw get another U+FFFD.
func FuzzFlawlessTextsStayAsTheyAre(f *testing.F) {
	f.Add([]byte(`"\ud83d\ude00\\ud800"`))
	f.Add([]byte(`"\ud83d\ud83d\ude00"`))
	f.Add([]byte("\"\xe9\""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return
		}
		sent := strings.Count(string(raw), "\ufffd") + strings.Count(strings.ToLower(strings.ReplaceAll(string(raw), `\\`, "")), `\ufffd`)
		require.Equal(t, exactjson.TextFlaw(raw) == "", strings.Count(text, "\ufffd") == sent, "%q", raw)
	})
}

func TestEmbeddableIsWhatOtherJSONCanHold(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat(`{"a":[`, depth/2) + strings.Repeat(`]}`, depth/2) }
	for text, want := range map[string]bool{
		`{"a":1}`: true, ` null `: true, ``: false, `{`: false, `1 2`: false,
		nested(500): true, nested(502): false,
		`"` + strings.Repeat("[", 501) + `"`: true, `"\"` + strings.Repeat("{", 501) + `"`: true,
		strings.Repeat("[1],", 501): false, `[` + strings.Repeat("[],", 600) + `[]]`: true,
	} {
		require.Equal(t, want, exactjson.Embeddable([]byte(text)), "%.20s", text)
	}
}
