// Package matchertest has the common helpers of matchers' tests: tools, requests, and evaluation data.
package matchertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
)

// Tools as a client registers them.
const (
	AppointmentTool = `{"name":"request-for-appointment","description":"User needs an appointment",
		"examples":["I want an appointment","book me an appointment please"]}`
	LampTool     = `{"name":"switchLampOn","description":"Switch the lamp on","examples":["turn on the lamp","lamp on"]}`
	TaxiTool     = `{"name":"call_taxi","description":"Call a taxi","examples":["I need a taxi","get me a cab","call a taxi"]}`
	WeatherTool  = `{"name":"get_weather","description":"Get the weather forecast","examples":["what is the weather like","will it rain tomorrow"]}`
	BareTool     = `{"name":"orderCoffee","description":"Order a coffee"}`
	FarewellTool = `{"name":"say-goodbye","description":"Answer a farewell","examples":["bye","goodbye","thanks, bye bye"]}`
	AbroadTool   = `{"name":"nachbestellen","description":"Verbandsmaterial nachbestellen",
		"examples":["Bitte Pflaster nachbestellen","je voudrais commander des pansements","ordina i cerotti per favore","pedir más vendas"]}`
)

// More tools, and the key of a provider.
const (
	Key = "sk-planted-4f9d2c71e8"

	BookTool = `{"name":"book","description":"User wants an appointment","schema":[
		{"parameter":"day","type":"string","required":true},
		{"parameter":"people","type":"integer"},
		{"parameter":"desk","type":"string","value":"A","ignore":true}]}`
	CancelTool = `{"name":"cancel-booking","description":"User cancels","schema":[{"parameter":"day","type":"string","required":true}]}`
	LightTool  = `{"name":"light_on","description":"Switch the light on"}`
)

// Friday is a Friday.
var Friday = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// Scope is the scope for InScope.
var Scope = repositories.Scope{AppID: "clinic"}

// InScope registers tools like a client and returns them as candidates.
func InScope(t testing.TB, scope repositories.Scope, id string, tools ...string) []matcher.Candidate {
	t.Helper()
	body := `{"tools":[` + strings.Join(tools, ",") + `]}`
	repository, err := repositories.DecodeRepository(scope, id, []byte(body))
	require.NoError(t, err)
	repository.Revision = fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	candidates := make([]matcher.Candidate, len(repository.Tools))
	for i := range repository.Tools {
		candidates[i] = matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]}
	}
	Sort(candidates)
	return candidates
}

// Sort sorts candidates as in a request.
func Sort(candidates []matcher.Candidate) {
	slices.SortFunc(candidates, func(a, b matcher.Candidate) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
}

// Request returns the first message of a conversation.
func Request(t testing.TB, text string, tools ...string) matcher.Request {
	t.Helper()
	return matcher.Request{
		App:        &repositories.App{ID: "clinic"},
		Text:       text,
		Candidates: InScope(t, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "r1", tools...),
		Now:        time.Date(2026, 11, 20, 9, 30, 0, 0, time.FixedZone("CET", 3600)),
	}
}

// Fired renders matches as tool name and values, for comparison.
func Fired(result matcher.Result) []string {
	var lines []string
	for _, match := range result.Matches {
		values, _ := json.Marshal(match.Values)
		lines = append(lines, match.Tool.Name+" "+string(values))
	}
	return lines
}

// Names lists the names of the candidates' tools.
func Names(candidates []matcher.Candidate) []string {
	return lists.Map(candidates, func(candidate matcher.Candidate) string { return candidate.Tool.Name })
}

// Found lists the names of the tools that a search has found.
func Found(scores []matcher.Score) []string {
	return lists.Map(scores, func(one matcher.Score) string { return one.Tool.Name })
}

// GoingOn returns a message after an unfinished booking for three without a day.
func GoingOn(t *testing.T, text string) matcher.Request {
	request := Request(t, text, BookTool, LightTool)
	request.Unfinished = []matcher.Unfinished{{
		Candidate: request.Candidates[0], Missing: []string{"day"},
		Values: map[string]any{"people": json.Number("3"), "desk": "A"},
	}}
	return request
}

// Data returns the folder of the evaluation data, which is not part of this project.
func Data(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("EARSHOT_EVAL_DATA")
	if folder == "" {
		t.Skip("set EARSHOT_EVAL_DATA to a folder with clinc/tools.json, clinc/dev.jsonl, sgd/cases.jsonl and bfcl/cases.jsonl to measure matchers")
	}
	return folder
}

// Lines reads a file with one JSON value per line. Numbers keep their digits.
func Lines[T any](t testing.TB, path string) []T {
	t.Helper()
	found, err := Read[T](path)
	require.NoError(t, err)
	require.NotEmpty(t, found, path)
	return found
}

// Read is Lines without a test.
func Read[T any](path string) (found []T, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(content) {
		var one T
		if err := exactjson.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w", len(found)+1, path, err)
		}
		found = append(found, one)
	}
	return found, nil
}
