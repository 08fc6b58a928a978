package offline_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
	"earshot/matcher/retrieval"
)

// The limits are slightly below the measured values on the development part of CLINC150 (150 tools in scope): 60 %
// of the calls found, 5 % of the fires wrong, 5 % of the texts out of scope fired, the right tool in 98 % of the 32
// offered.
const (
	leastFound      = 0.56
	leastRight      = 0.93
	mostOutOfScope  = 0.08
	leastAmong32    = 0.97
	leastAmong20    = 0.96
	mostUnavailable = 0.05
)

// clinc reads the tools of CLINC150 as candidates, and the messages.
func clinc(t testing.TB) ([]matcher.Candidate, []evaldata.Spoken) {
	tools, said, _, err := evaldata.ReadCLINC(matchertest.Data(t))
	require.NoError(t, err)
	return matchertest.InScope(t, matchertest.Scope, "clinc", evaldata.Definitions(t, tools)...), said
}

func TestOfflineOnCLINC(t *testing.T) {
	candidates, cases := clinc(t)
	decidesWell(t, matcher.Request{Candidates: candidates}, cases)
}

// Every tenth tool is a session's: the others' weights apply to them.
func TestOfflineOnCLINCWithASessionsTools(t *testing.T) {
	candidates, cases := clinc(t)
	request := matcher.Request{Candidates: candidates, Shared: &matcher.Shared{}}
	for i, one := range candidates {
		if i%10 == 0 {
			request.Own = append(request.Own, one)
		} else {
			request.Shared.Tools = append(request.Shared.Tools, one)
		}
	}
	decidesWell(t, request, cases)
}

func decidesWell(t *testing.T, request matcher.Request, cases []evaldata.Spoken) {
	o := offline.New()
	var inScope, fires, right, outside, outsideFires float64
	for _, c := range cases {
		request.Text = c.Text
		result, err := o.Match(t.Context(), request)
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
	retriever := retrieval.New()
	for limit, least := range map[int]float64{20: leastAmong20, 32: leastAmong32} {
		var all, among float64
		for _, c := range cases {
			if c.Tool == nil {
				continue
			}
			all++
			kept := retriever.Search(t.Context(), matcher.Request{Candidates: candidates}, c.Text, limit)
			if slices.Contains(matchertest.Found(kept), *c.Tool) {
				among++
			}
		}
		t.Logf("the right tool is among %d in %.1f %% of %v", limit, 100*among/all, all)
		require.GreaterOrEqual(t, among/all, least)
	}
}

func TestOfflineOnSGD(t *testing.T) {
	type figures struct{ Cases, Fired, Right, Rejected, Values, WrongValues int }
	of := map[string]*figures{}
	o := offline.New()
	for _, c := range evaldata.SGD(t) {
		if of[c.Kind] == nil {
			of[c.Kind] = &figures{}
		}
		result, err := o.Match(t.Context(), c.Request(t))
		require.NoError(t, err)
		f := of[c.Kind]
		f.Cases, f.Fired, f.Rejected = f.Cases+1, f.Fired+len(result.Matches), f.Rejected+len(result.Rejected)
		for _, match := range result.Matches {
			if len(c.Calls) == 0 || c.Calls[0].Name != match.Tool.Name {
				continue
			}
			f.Right++
			for name, value := range match.Values {
				f.Values++
				if !c.Calls[0].Accepts(name, value) {
					f.WrongValues++
				}
			}
		}
	}
	for kind, f := range of {
		t.Logf("%-11s %+v", kind, *f)
	}
	for _, kind := range []string{"unavailable", "closing", "info", "incomplete"} {
		require.LessOrEqual(t, float64(of[kind].Fired), mostUnavailable*float64(of[kind].Cases), kind+": these fire nothing")
	}
}
