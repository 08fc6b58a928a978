package exactjson_test

import (
	"encoding/json"
	"errors"
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

func BenchmarkEncode(b *testing.B) {
	value := sample()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = exactjson.Encode(value)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	text, err := exactjson.Encode(sample())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		var into record
		_ = exactjson.Unmarshal(text, &into)
	}
}

func BenchmarkObject(b *testing.B) {
	value := sample()
	b.ReportAllocs()
	for b.Loop() {
		var object exactjson.Object
		_ = object.Add("specversion", "1.0")
		_ = object.Add("id", value.ID)
		_ = object.Add("data", value.Matches)
		_ = object.JSON()
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
