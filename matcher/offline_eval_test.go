package matcher_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
)

// The floors stand a little under what was measured on the development part of
// CLINC150 (150 tools in scope): 60 % of the calls found, 5 % of the fires wrong,
// 5 % of the texts out of scope fired, the right tool in 98 % of the 32 offered.
const (
	leastFound      = 0.56
	leastRight      = 0.93
	mostOutOfScope  = 0.08
	leastAmong32    = 0.97
	leastAmong20    = 0.96
	mostUnavailable = 0.05
)

// offlineData is the folder of the evaluation data, which is not part of this project.
func offlineData(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("EARSHOT_EVAL_DATA")
	if folder == "" {
		t.Skip("set EARSHOT_EVAL_DATA to a folder with clinc/tools.json, clinc/dev.jsonl and sgd/cases.jsonl to measure the offline matcher")
	}
	return folder
}

// offlineLines reads a file of one JSON value a line.
func offlineLines[T any](t testing.TB, path string) []T {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var found []T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		found = append(found, one)
	}
	require.NoError(t, lines.Err())
	return found
}

type clincCase struct {
	Text string  `json:"text"`
	Tool *string `json:"tool"` // nil: fire nothing
}

// clinc brings the tools of CLINC150 into scope and reads the messages.
func clinc(t testing.TB) ([]matcher.Candidate, []clincCase) {
	folder := filepath.Join(offlineData(t), "clinc")
	raw, err := os.ReadFile(filepath.Join(folder, "tools.json"))
	require.NoError(t, err)
	var tools []map[string]any
	require.NoError(t, json.Unmarshal(raw, &tools))
	bodies := make([]string, len(tools))
	for i, tool := range tools {
		delete(tool, "domain")
		body, err := json.Marshal(tool)
		require.NoError(t, err)
		bodies[i] = string(body)
	}
	return inScope(t, offlineScope, "clinc", bodies...), offlineLines[clincCase](t, filepath.Join(folder, "dev.jsonl"))
}

func TestOfflineOnCLINC(t *testing.T) {
	candidates, cases := clinc(t)
	o := matcher.NewOffline()
	var inScope, fires, right, outside, outsideFires float64
	for _, c := range cases {
		result, err := o.Match(t.Context(), matcher.Request{Text: c.Text, Candidates: candidates})
		require.NoError(t, err)
		fired := float64(len(result.Matches))
		fires += fired
		if c.Tool == nil {
			outside++
			outsideFires += fired
			continue
		}
		inScope++
		if fired > 0 && result.Matches[0].Tool.Name == *c.Tool {
			right++
		}
	}
	t.Logf("found %.1f %% of %v calls; %.1f %% of %v fires wrong; %v of %v texts out of scope fired",
		100*right/inScope, inScope, 100*(1-right/fires), fires, outsideFires, outside)
	require.GreaterOrEqual(t, right/inScope, leastFound, "recall")
	require.GreaterOrEqual(t, right/fires, leastRight, "precision")
	require.LessOrEqual(t, outsideFires/outside, mostOutOfScope, "fires on texts out of scope")
}

func TestRetrieveOnCLINC(t *testing.T) {
	candidates, cases := clinc(t)
	retriever := matcher.NewRetriever()
	for limit, least := range map[int]float64{20: leastAmong20, 32: leastAmong32} {
		var all, among float64
		for _, c := range cases {
			if c.Tool == nil {
				continue
			}
			all++
			kept, _ := retriever.Retrieve(matcher.Request{Text: c.Text, Candidates: candidates}, limit)
			if slices.Contains(namesOf(kept), *c.Tool) {
				among++
			}
		}
		t.Logf("the right tool is among %d in %.1f %% of %v", limit, 100*among/all, all)
		require.GreaterOrEqual(t, among/all, least)
	}
}

type offlineDialogue struct {
	Kind    string            `json:"kind"`
	Tools   []json.RawMessage `json:"tools"`
	History []struct {
		Actor string `json:"actor"`
		Text  string `json:"text"`
	} `json:"history"`
	Expect struct {
		Tool   *string             `json:"tool"`
		Accept map[string][]string `json:"accept"`
	} `json:"expect"`
}

// request brings the case's tools into scope; its last message is the one to match.
func (c offlineDialogue) request(t testing.TB) matcher.Request {
	tools := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		tools[i] = string(tool)
	}
	request := matcher.Request{Candidates: inScope(t, offlineScope, "sgd", tools...), Now: time.Date(2019, 3, 1, 9, 0, 0, 0, time.UTC)}
	for _, said := range c.History[:len(c.History)-1] {
		request.History = append(request.History, matcher.Utterance{Actor: said.Actor, Text: said.Text})
	}
	request.Text = c.History[len(c.History)-1].Text
	return request
}

// offlineFigures counts what came of the cases of one kind.
type offlineFigures struct{ Cases, Fired, Right, Rejected, Values, WrongValues int }

func (f *offlineFigures) add(c offlineDialogue, result matcher.Result) {
	f.Cases++
	f.Fired += len(result.Matches)
	f.Rejected += len(result.Rejected)
	for _, match := range result.Matches {
		if c.Expect.Tool == nil || *c.Expect.Tool != match.Tool.Name {
			continue
		}
		f.Right++
		for name, value := range match.Values {
			f.Values++
			if !acceptedForm(c.Expect.Accept[name], value) {
				f.WrongValues++
			}
		}
	}
}

func acceptedForm(forms []string, value any) bool {
	said, err := json.Marshal(value)
	text := strings.Trim(string(said), `"`)
	return err == nil && slices.ContainsFunc(forms, func(form string) bool { return strings.EqualFold(form, text) })
}

func TestOfflineOnSGD(t *testing.T) {
	figures := map[string]*offlineFigures{}
	o := matcher.NewOffline()
	for _, c := range offlineLines[offlineDialogue](t, filepath.Join(offlineData(t), "sgd", "cases.jsonl")) {
		if figures[c.Kind] == nil {
			figures[c.Kind] = &offlineFigures{}
		}
		result, err := o.Match(t.Context(), c.request(t))
		require.NoError(t, err)
		figures[c.Kind].add(c, result)
	}
	for kind, f := range figures {
		t.Logf("%-11s %+v", kind, *f)
	}
	for _, kind := range []string{"unavailable", "closing", "info", "incomplete"} {
		f := figures[kind]
		require.LessOrEqual(t, float64(f.Fired), mostUnavailable*float64(f.Cases), kind+": these fire nothing")
	}
}

func BenchmarkOfflineWith150Tools(b *testing.B) {
	tools := make([]string, 0, 150)
	for i := range 150 {
		noun := string(rune('a'+i%26)) + "ork" + string(rune('a'+i/26)) + "el"
		tools = append(tools, `{"name":"order_`+noun+`","description":"Order a `+noun+` for the office","examples":["I need a `+noun+
			`","please order a `+noun+` today","get me the `+noun+`","we are out of `+noun+`s","could you send for a `+noun+`"]}`)
	}
	candidates, o := inScope(b, offlineScope, "bench", tools...), matcher.NewOffline()
	request := matcher.Request{Text: "hello, could you please order me a corkbel for tomorrow", Candidates: candidates, Now: offlineNow}
	result, err := o.Match(b.Context(), request)
	require.NoError(b, err)
	require.Len(b, result.Matches, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Match(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}
