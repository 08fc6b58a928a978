package matcher_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llmtest"
	"earshot/repositories"
)

const (
	llmKey = "sk-planted-4f9d2c71e8"

	bookTool = `{"name":"book","description":"User wants an appointment","schema":[
		{"parameter":"day","type":"string","required":true},
		{"parameter":"people","type":"integer"},
		{"parameter":"desk","type":"string","value":"A","ignore":true}]}`
	cancelTool = `{"name":"cancel-booking","description":"User cancels","schema":[{"parameter":"day","type":"string","required":true}]}`
	lightTool  = `{"name":"light_on","description":"Switch the light on"}`
)

// llmCandidates registers tools as a client would and brings them into scope.
func llmCandidates(t testing.TB, tools ...string) []matcher.Candidate {
	t.Helper()
	raw := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		raw[i] = json.RawMessage(tool)
	}
	body, err := json.Marshal(map[string]any{"tools": raw})
	require.NoError(t, err)
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic", SessionID: "s1"}, "r1", body)
	require.NoError(t, err)
	candidates := make([]matcher.Candidate, len(repository.Tools))
	for i := range repository.Tools {
		candidates[i] = matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]}
	}
	slices.SortFunc(candidates, func(a, b matcher.Candidate) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	return candidates
}

// llmRequest is a message in a conversation that begins with it.
func llmRequest(t testing.TB, text string, tools ...string) matcher.Request {
	t.Helper()
	return matcher.Request{
		App:        &repositories.App{ID: "clinic"},
		Text:       text,
		Candidates: llmCandidates(t, tools...),
		Now:        time.Date(2026, 11, 20, 9, 30, 0, 0, time.FixedZone("CET", 3600)),
	}
}

func llmOptions(server *llmtest.Server) matcher.Options {
	return matcher.Options{BaseURL: server.URL(), Key: repositories.NewSecret(llmKey), Model: "test-model"}
}

func newLLM(server *llmtest.Server) *matcher.LLM { return matcher.NewLLM(llmOptions(server)) }

// matchOne scripts the replies and matches one message against them.
func matchOne(t *testing.T, request matcher.Request, replies ...llmtest.Reply) (matcher.Result, *llmtest.Server) {
	t.Helper()
	server := llmtest.New(t)
	server.Queue(replies...)
	result, err := newLLM(server).Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, len(replies), server.Count(), "requests")
	return result, server
}

// fired renders matches as tool name and values, for comparison.
func fired(result matcher.Result) []string {
	var lines []string
	for _, match := range result.Matches {
		values, _ := json.Marshal(match.Values)
		lines = append(lines, match.Tool.Name+" "+string(values))
	}
	return lines
}
