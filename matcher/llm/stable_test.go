package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/unraced"
)

// These tests follow whole conversations among many tools and measure what of a request a
// provider has seen at the beginning of the one before.

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

// spokenIn has the model asked about each message of a user, and returns the requests.
func spokenIn(t *testing.T, tools *matcher.Shared, said []matcher.Utterance) []string {
	t.Helper()
	seen := &recording{}
	model := llm.New(llm.Options{BaseURL: "http://model.test/v1", HTTPClient: &http.Client{Transport: seen}})
	for i, one := range said {
		if one.Actor == matcher.ActorAgent {
			continue
		}
		begin := matcher.HistoryStart(i, llm.DefaultHistory)
		_, err := model.Match(t.Context(), matcher.Request{
			Text: one.Text, History: said[begin:i], Candidates: tools.Tools, Shared: tools, Now: evalToday,
		})
		require.NoError(t, err)
	}
	return seen.bodies
}

// kept is the share of the shorter of two consecutive requests that both begin with, on
// average.
func kept(bodies []string) (sum float64, pairs int) {
	for i := 1; i < len(bodies); i++ {
		a, b := bodies[i-1], bodies[i]
		shorter, common := min(len(a), len(b)), 0
		for common < shorter && a[common] == b[common] {
			common++
		}
		sum += float64(common) / float64(shorter)
	}
	return sum, len(bodies) - 1
}

func TestConversationAmongManyToolsKeepsWhatItsRequestsBeginWith(t *testing.T) {
	unraced.Only(t)
	tools, texts := matchertest.Many(t, 1841)
	var said []matcher.Utterance
	for i := range 24 {
		words := strings.Fields(texts[i/6]) // six messages about each thing
		said = append(said, matcher.Utterance{ID: fmt.Sprint(i), Actor: matcher.ActorUser, Text: strings.Join(words[:len(words)-i%6/2], " ")},
			matcher.Utterance{Actor: matcher.ActorAgent, Text: "Which one do you mean?"})
	}
	sum, pairs := kept(spokenIn(t, &matcher.Shared{Tools: tools}, said))
	t.Logf("%.1f %% of a request is known from the one before", 100*sum/float64(pairs))
	require.GreaterOrEqual(t, sum/float64(pairs), 0.95)
}

// poolOfAll are the tools of all evaluations, one of each name.
func poolOfAll(t *testing.T) *matcher.Shared {
	definitions := map[string][]byte{}
	add := func(definition map[string]any) {
		delete(definition, "domain")
		text, err := json.Marshal(definition)
		require.NoError(t, err)
		definitions[definition["name"].(string)] = text
	}
	for _, one := range matchertest.Lines[evaldata.Function](t, filepath.Join(matchertest.Data(t), "bfcl", "pool.jsonl")) {
		add(one.Definition())
	}
	var clinc []map[string]any
	text, err := os.ReadFile(filepath.Join(matchertest.Data(t), "clinc", "tools.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &clinc))
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
			continue // one that no client could register
		}
		repository.Revision = "1"
		shared.Tools = append(shared.Tools, matcher.Candidate{Repository: repository, Tool: &repository.Tools[0]})
	}
	matchertest.Sort(shared.Tools)
	return shared
}

func TestDialoguesOfSGDKeepWhatTheirRequestsBeginWith(t *testing.T) {
	unraced.Only(t)
	var sum float64
	var pairs, called, offered int
	shared := poolOfAll(t)
	for _, dialogue := range evaldata.SGD(t) {
		var said []matcher.Utterance
		for i, one := range dialogue.Messages {
			said = append(said, matcher.Utterance{ID: fmt.Sprint(dialogue.ID, i), Actor: one.Actor, Text: one.Text})
		}
		bodies := spokenIn(t, shared, said)
		s, n := kept(bodies)
		sum, pairs = sum+s, pairs+n
		for _, call := range dialogue.Calls {
			called++
			if strings.Contains(bodies[len(bodies)-1], `"name":"`+call.Name+`"`) {
				offered++
			}
		}
	}
	t.Logf("%.1f %% of a request is known from the one before among %d tools; %.1f %% of %d calls were on offer",
		100*sum/float64(pairs), len(shared.Tools), 100*float64(offered)/float64(called), called)
	require.GreaterOrEqual(t, sum/float64(pairs), 0.95)
	require.GreaterOrEqual(t, float64(offered)/float64(called), 0.85)
}

// TestConversationsOfCLINCKeepWhatTheirRequestsBeginWith asks ten things of one domain, and
// then of all of them.
func TestConversationsOfCLINCKeepWhatTheirRequestsBeginWith(t *testing.T) {
	unraced.Only(t)
	type message struct{ Text, Tool, Domain string }
	byDomain := map[string][]message{}
	for _, one := range matchertest.Lines[message](t, filepath.Join(matchertest.Data(t), "clinc", "dev.jsonl")) {
		if one.Tool != "" {
			byDomain[one.Domain] = append(byDomain[one.Domain], one)
			byDomain["all"] = append(byDomain["all"], one)
		}
	}
	shared, random := poolOfAll(t), rand.New(rand.NewPCG(1, 2))
	for _, set := range []struct {
		domains         []string
		least, leastHit float64
	}{
		{slices.DeleteFunc(slices.Sorted(maps.Keys(byDomain)), func(name string) bool { return name == "all" }), 0.94, 0.90},
		{slices.Repeat([]string{"all"}, 10), 0.88, 0.90},
	} {
		var sum float64
		var pairs, hits, all int
		for _, domain := range slices.Repeat(set.domains, 3) {
			var said []matcher.Utterance
			var want []string
			for i := range 10 {
				one := byDomain[domain][random.IntN(len(byDomain[domain]))]
				said, want = append(said, matcher.Utterance{ID: fmt.Sprint(i), Actor: matcher.ActorUser, Text: one.Text}), append(want, one.Tool)
			}
			bodies := spokenIn(t, shared, said)
			s, n := kept(bodies)
			sum, pairs = sum+s, pairs+n
			for i, body := range bodies {
				all++
				if strings.Contains(body, `"name":"`+want[i]+`"`) {
					hits++
				}
			}
		}
		t.Logf("%d conversations: %.1f %% of a request is known from the one before; %.1f %% of the tools were on offer",
			3*len(set.domains), 100*sum/float64(pairs), 100*float64(hits)/float64(all))
		require.GreaterOrEqual(t, sum/float64(pairs), set.least)
		require.GreaterOrEqual(t, float64(hits)/float64(all), set.leastHit)
	}
}

// TestMessagesOfBFCLKeepWhatTheirRequestsBeginWith has nothing but changes of the subject: ten
// messages of a conversation have nothing to do with each other.
func TestMessagesOfBFCLKeepWhatTheirRequestsBeginWith(t *testing.T) {
	unraced.Only(t)
	shared := poolOfAll(t)
	var sum float64
	var pairs, hits, alone, all int
	var said []matcher.Utterance
	var calls [][]evaldata.Call
	for _, c := range evaldata.BFCL(t) {
		if len(c.Calls) == 0 || len(c.Messages) != 1 {
			continue
		}
		said, calls = append(said, matcher.Utterance{ID: c.ID, Actor: matcher.ActorUser, Text: c.Messages[0].Text}), append(calls, c.Calls)
		if len(said) < 10 {
			continue
		}
		bodies := spokenIn(t, shared, said)
		s, n := kept(bodies)
		sum, pairs = sum+s, pairs+n
		for i, body := range bodies {
			all++
			hits += offers(body, calls[i])
			alone += offers(spokenIn(t, shared, said[i:i+1])[0], calls[i])
		}
		said, calls = nil, nil
	}
	t.Logf("%.1f %% of a request is known from the one before; all tools of %.1f %% of %d messages were on offer, and of %.1f %% if each were the first",
		100*sum/float64(pairs), 100*float64(hits)/float64(all), all, 100*float64(alone)/float64(all))
	require.GreaterOrEqual(t, sum/float64(pairs), 0.9)
	require.GreaterOrEqual(t, float64(hits)/float64(all), 0.92)
	require.GreaterOrEqual(t, float64(alone)/float64(all), 0.95)
}

// offers is 1 for a request with all the tools of the calls.
func offers(body string, calls []evaldata.Call) int {
	for _, call := range calls {
		if !strings.Contains(body, `"name":"`+call.Name+`"`) {
			return 0
		}
	}
	return 1
}
