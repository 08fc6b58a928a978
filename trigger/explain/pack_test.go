package explain_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/explain"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestWhyNamesTheToolAndNotTheSpellingOfAModel(t *testing.T) {
	call := matcher.Call{Candidate: matcher.Candidate{Repository: &repositories.Repository{ID: "bank"}, Tool: &repositories.Tool{Name: "transfer"}}, Name: "functions.Transfer\n"}
	for verdict, want := range map[string]string{
		explain.Fired:    "Fired bank/transfer.",
		explain.Rejected: "Nothing fired: bank/transfer was called for, and its values are not valid.",
	} {
		decision := explain.Decision{Trace: matcher.Trace{Calls: []matcher.Call{call}}, Verdicts: []explain.Verdict{{Verdict: verdict}}}
		require.Equal(t, want, explain.Why(decision, 1))
	}
}

// pack packs a trace, and reads it again with all parts written so far.
func pack(t *testing.T, p *explain.Packer, written map[string]string, trace matcher.Trace) (explain.Explanation, explain.Packed) {
	t.Helper()
	packed, err := p.Pack(explain.Decision{
		Owner: "clinic g1", MessageID: "m1", Time: noon, Stage: matcher.StageLLM, Why: "x", Trace: trace, App: p.FactsOf(&repositories.App{}, nil),
	})
	require.NoError(t, err)
	for name, text := range packed.Parts {
		written[name] = text
	}
	p.MarkWritten(packed)
	read, err := explain.Unpack("m1", packed.Body, func(names []string) (map[string]string, error) { return written, nil }, nil)
	require.NoError(t, err)
	return read, packed
}

// noise returns an incompressible text.
func noise(n int) string {
	random, text := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range text {
		text[i] = byte('!' + 1 + random.IntN(90))
	}
	return strings.NewReplacer(`"`, "x", `\`, "y").Replace(string(text))
}

func request(tools []string, rest string) []matcher.Piece {
	pieces := []matcher.Piece{{Text: []byte(`{"tools":[`)}}
	for i, tool := range tools {
		if i > 0 {
			pieces = append(pieces, matcher.Piece{Text: []byte(",")})
		}
		pieces = append(pieces, matcher.Piece{Text: []byte(tool), Shared: true})
	}
	return append(pieces, matcher.Piece{Text: []byte(`],"text":"` + rest + `"}`)})
}

func TestSharedPartsAreWrittenOnceAndAgainAfterAWhile(t *testing.T) {
	now := noon
	p, written := explain.NewPacker(24*time.Hour, func() time.Time { return now }), map[string]string{}
	tools := []string{`{"name":"a"}`, `{"name":"b","description":"` + noise(2000) + `"}`}
	ask := func(text string) (explain.Explanation, explain.Packed) {
		return pack(t, p, written, matcher.Trace{Exchanges: []matcher.Exchange{{Request: request(tools, text), Answer: []byte(`{"ok":true}`)}}})
	}
	read, packed := ask("hello")
	require.Len(t, packed.Parts, 3, "two tools and their list")
	require.JSONEq(t, `{"tools":[`+strings.Join(tools, ",")+`],"text":"hello"}`, string(read.Requests[0].Request))
	require.JSONEq(t, `{"ok":true}`, string(read.Requests[0].Response))
	read, packed = ask("good morning")
	require.Empty(t, packed.Parts)
	require.Less(t, len(packed.Body), 300)
	require.Contains(t, string(read.Requests[0].Request), "good morning")
	now = now.Add(11 * time.Minute)
	_, packed = ask("hello")
	require.Len(t, packed.Parts, 3, "Redis may have lost them")
}

func TestAnExplanationIsBoundedAndSaysWhatIsCut(t *testing.T) {
	p, written := explain.NewPacker(time.Hour, time.Now), map[string]string{}
	long := noise(300 << 10)
	trace := matcher.Trace{Exchanges: []matcher.Exchange{
		{Request: request([]string{`{}`}, long), Answer: []byte(long)}, {Request: request([]string{`{}`}, "short"), Answer: []byte(`"short"`)},
	}}
	for range 150 {
		trace.Calls = append(trace.Calls, matcher.Call{Name: "book", Arguments: map[string]any{"text": long[:4096]}, Dropped: "It is one too many."})
	}
	read, packed := pack(t, p, written, trace)
	require.LessOrEqual(t, len(packed.Body), 64<<10)
	require.Subset(t, read.Cut, []string{"requests/0/response", "requests/0/request", "calls: 50 more"})
	require.Len(t, read.Calls, 100)
	require.Equal(t, "It is one too many.", read.Calls[99].Why)
	require.Contains(t, string(read.Requests[0].Request), "bytes are left out here")
	require.JSONEq(t, `"short"`, string(read.Requests[1].Response))
	var text string
	require.NoError(t, json.Unmarshal(read.Requests[0].Response, &text), "what is cut is a text")

	for i := range trace.Exchanges {
		trace.Exchanges[i].Error = long
	}
	read, packed = pack(t, p, written, trace)
	require.LessOrEqual(t, len(packed.Body), 64<<10)
	require.Equal(t, []string{"requests and calls are left out: they are too long to be kept"}, read.Cut)
}

func BenchmarkPack(b *testing.B) {
	p := explain.NewPacker(time.Hour, time.Now)
	var tools []string
	for range 20 {
		tools = append(tools, `{"name":"a","description":"`+noise(400)+`"}`)
	}
	body := bytes.Repeat([]byte(`{"role":"user","content":"I would like a table for two"},`), 10)
	trace := matcher.Trace{
		Exchanges: []matcher.Exchange{{Request: request(tools, string(body)), Answer: bytes.Repeat([]byte("answer "), 100)}},
		Calls:     []matcher.Call{{Name: "book", Arguments: map[string]any{"day": "Friday"}}},
	}
	d := explain.Decision{Owner: "clinic g1", MessageID: "m1", Time: noon, Stage: matcher.StageLLM, Why: "x", Trace: trace, App: p.FactsOf(&repositories.App{}, nil)}
	packed, _ := p.Pack(d)
	p.MarkWritten(packed)
	b.ReportAllocs()
	for b.Loop() {
		packed, _ = p.Pack(d)
	}
	b.ReportMetric(float64(len(packed.Body)), "bytes")
}
