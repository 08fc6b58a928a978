//go:build !race

package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/lists"
)

// evalToday is the day of SGD's dialogues.
var evalToday = time.Date(2019, 3, 1, 12, 0, 0, 0, time.UTC)

// evalMatch matches the last message of a case with its tools. The fake LLM answers every request with the calls.
func evalMatch(t *testing.T, c evaldata.Case, calls ...evaldata.Call) (matcher.Result, *llmtest.Server) {
	t.Helper()
	reply, server := evaldata.Reply(t, calls...), llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return reply })
	result, err := newLLM(server).Match(t.Context(), c.Request(t))
	require.NoError(t, err)
	return result, server
}

func TestEveryExpectedValueOfBFCLArrivesUnharmed(t *testing.T) {
	arriveUnharmed(t, evaldata.BFCL(t))
}

func TestEveryExpectedValueOfSGDArrivesUnharmed(t *testing.T) {
	arriveUnharmed(t, evaldata.SGD(t))
}

func arriveUnharmed(t *testing.T, cases []evaldata.Case) {
	values := 0
	for _, one := range cases {
		t.Run(one.ID, func(t *testing.T) {
			if one.Contradiction != "" {
				t.Skip(one.Contradiction)
			}
			result, server := evalMatch(t, one, one.Calls...)
			require.Empty(t, result.Rejected)
			require.Len(t, result.Matches, len(one.Calls))
			for i, call := range one.Calls {
				require.Equal(t, call.Name, result.Matches[i].Tool.Name)
				require.Equal(t, one.Complete(call), result.Matches[i].Values)
				values += len(call.Values)
			}
			require.Equal(t, 1, server.Count(), "no call is at fault")
		})
	}
	t.Logf("%d values", values)
}

func TestCallsOfSGDThatLackValuesFireNothing(t *testing.T) {
	for _, one := range evaldata.SGD(t) {
		if one.Unfinished == nil {
			continue
		}
		t.Run(one.ID, func(t *testing.T) {
			result, server := evalMatch(t, one, *one.Unfinished)
			require.Empty(t, result.Matches)
			require.Len(t, result.Rejected, 1)
			require.Equal(t, one.Missing(*one.Unfinished), result.Rejected[0].Missing, fmt.Sprint(result.Rejected[0].Errors))
			require.Equal(t, 2, server.Count(), "the second try")
		})
	}
}

// The tests below follow whole conversations among many tools. They measure how much of a request is a prefix of
// the previous one, and which of the needed tools are offered.

// spoke is one message of a conversation, with its expected tools.
type spoke struct {
	actor, text string
	tools       []string
}

// recording answers every request with "none" and keeps its body.
type recording struct{ bodies []string }

// RoundTrip implements http.RoundTripper.
func (r *recording) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	r.bodies = append(r.bodies, string(body))
	if err != nil {
		return nil, err
	}
	return answering(openAISpoken().text("none")).RoundTrip(request)
}

// keepBeginnings asks a model about each user message. Consecutive requests must have a common prefix of the given
// average share of the shorter one, and the needed tools must all be offered for the given share of messages.
func keepBeginnings(t *testing.T, tools *matcher.Shared, share, onOffer float64, conversations ...[]spoke) {
	t.Helper()
	var sum float64
	var pairs, calling, offered int
	for n, conversation := range conversations {
		seen := &recording{}
		model := llm.New(llm.Options{BaseURL: "http://model.test/v1", HTTPClient: &http.Client{Transport: seen}})
		var history []matcher.Utterance
		for i, one := range conversation {
			if one.actor == matcher.ActorUser {
				_, err := model.Match(t.Context(), matcher.Request{
					Text: one.text, History: history[matcher.HistoryStart(i, llm.DefaultHistory):], Candidates: tools.Tools, Shared: tools, Now: evalToday,
				})
				require.NoError(t, err)
			}
			history = append(history, matcher.Utterance{ID: fmt.Sprint(n, "-", i), Actor: one.actor, Text: one.text})
			if len(one.tools) > 0 {
				body := seen.bodies[len(seen.bodies)-1]
				calling++
				if !slices.ContainsFunc(one.tools, func(name string) bool { return !strings.Contains(body, `"name":"`+name+`"`) }) {
					offered++
				}
			}
		}
		for i := 1; i < len(seen.bodies); i++ {
			a, b := seen.bodies[i-1], seen.bodies[i]
			shorter, common := min(len(a), len(b)), 0
			for common < shorter && a[common] == b[common] {
				common++
			}
			sum, pairs = sum+float64(common)/float64(shorter), pairs+1
		}
	}
	t.Logf("%d conversations among %d tools: %.1f %% of a request is known from the one before; the tools of %.1f %% of %d messages were on offer",
		len(conversations), len(tools.Tools), 100*sum/float64(max(1, pairs)), 100*float64(offered)/float64(max(1, calling)), calling)
	require.GreaterOrEqual(t, sum, share*float64(pairs))
	require.GreaterOrEqual(t, float64(offered), onOffer*float64(calling))
}

func TestConversationAmongManyToolsKeepsWhatItsRequestsBeginWith(t *testing.T) {
	tools, texts := matchertest.Many(t, 1841)
	var turns []spoke
	for i := range 24 {
		words := strings.Fields(texts[i/6]) // six messages about each thing
		turns = append(turns, spoke{matcher.ActorUser, strings.Join(words[:len(words)-i%6/2], " "), nil}, spoke{matcher.ActorAgent, "Which one do you mean?", nil})
	}
	keepBeginnings(t, &matcher.Shared{Tools: tools}, 0.95, 0, turns)
}

// poolOfAll are the tools of all evaluations with distinct names.
func poolOfAll(t *testing.T) *matcher.Shared {
	definitions := map[string][]byte{}
	add := func(definition map[string]any) {
		text, err := json.Marshal(definition)
		require.NoError(t, err)
		definitions[definition["name"].(string)] = text
	}
	for _, one := range matchertest.Lines[evaldata.Function](t, filepath.Join(matchertest.Data(t), "bfcl", "pool.jsonl")) {
		add(one.Definition())
	}
	clinc, _, _, err := evaldata.ReadCLINC(matchertest.Data(t))
	require.NoError(t, err)
	for _, one := range clinc {
		add(one)
	}
	for _, dialogue := range evaldata.SGD(t) {
		for _, one := range dialogue.Tools {
			add(one.(map[string]any))
		}
	}
	shared := &matcher.Shared{}
	for _, text := range definitions {
		repository, err := repositories.DecodeRepository(matchertest.Scope, "all", []byte(`{"tools":[`+string(text)+`]}`))
		if err != nil {
			continue // an invalid tool
		}
		repository.Revision = "1"
		shared.Tools = append(shared.Tools, matcher.Candidate{Repository: repository, Tool: &repository.Tools[0]})
	}
	matchertest.Sort(shared.Tools)
	return shared
}

func TestDialoguesOfSGDKeepWhatTheirRequestsBeginWith(t *testing.T) {
	var dialogues [][]spoke
	for _, dialogue := range evaldata.SGD(t) {
		turns := lists.Map(dialogue.Messages, func(one evaldata.Message) spoke { return spoke{one.Actor, one.Text, nil} })
		turns[len(turns)-1].tools = names(dialogue.Calls)
		dialogues = append(dialogues, turns)
	}
	keepBeginnings(t, poolOfAll(t), 0.95, 0.85, dialogues...)
}

func names(calls []evaldata.Call) (names []string) {
	for _, call := range calls {
		names = append(names, call.Name)
	}
	return names
}

// TestConversationsOfCLINCKeepWhatTheirRequestsBeginWith asks ten things of one domain, and then of all.
func TestConversationsOfCLINCKeepWhatTheirRequestsBeginWith(t *testing.T) {
	type message struct{ Text, Tool, Domain string }
	byDomain := map[string][]message{}
	for _, one := range matchertest.Lines[message](t, filepath.Join(matchertest.Data(t), "clinc", "dev.jsonl")) {
		if one.Tool != "" {
			byDomain[one.Domain] = append(byDomain[one.Domain], one)
			byDomain["all"] = append(byDomain["all"], one)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	ofDomains := func(domains []string) (conversations [][]spoke) {
		for _, domain := range slices.Repeat(domains, 3) {
			var turns []spoke
			for range 10 {
				one := byDomain[domain][random.IntN(len(byDomain[domain]))]
				turns = append(turns, spoke{matcher.ActorUser, one.Text, []string{one.Tool}})
			}
			conversations = append(conversations, turns)
		}
		return conversations
	}
	domains := slices.DeleteFunc(slices.Sorted(maps.Keys(byDomain)), func(name string) bool { return name == "all" })
	shared := poolOfAll(t)
	keepBeginnings(t, shared, 0.94, 0.90, ofDomains(domains)...)
	keepBeginnings(t, shared, 0.88, 0.90, ofDomains(slices.Repeat([]string{"all"}, 10))...)
}

// TestMessagesOfBFCLKeepWhatTheirRequestsBeginWith changes the subject with each message: the ten messages of a
// conversation are unrelated.
func TestMessagesOfBFCLKeepWhatTheirRequestsBeginWith(t *testing.T) {
	var turns []spoke
	for _, c := range evaldata.BFCL(t) {
		if len(c.Calls) > 0 && len(c.Messages) == 1 {
			turns = append(turns, spoke{matcher.ActorUser, c.Messages[0].Text, names(c.Calls)})
		}
	}
	turns = turns[:len(turns)-len(turns)%10]
	shared := poolOfAll(t)
	keepBeginnings(t, shared, 0.9, 0.92, slices.Collect(slices.Chunk(turns, 10))...)
	keepBeginnings(t, shared, 0, 0.95, slices.Collect(slices.Chunk(turns, 1))...)
}
