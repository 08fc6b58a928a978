package retrieval_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/repositories"
)

// pool returns all tools of BFCL's development part as candidates.
func pool(t testing.TB) []matcher.Candidate {
	var tools []string
	scope := repositories.Scope{AppID: "pool"}
	for _, one := range matchertest.Lines[evaldata.Function](t, filepath.Join(matchertest.Data(t), "bfcl", "pool.jsonl")) {
		tool, err := json.Marshal(one.Definition())
		require.NoError(t, err)
		if _, err := repositories.DecodeRepository(scope, "pool", []byte(`{"tools":[`+string(tool)+`]}`)); err == nil {
			tools = append(tools, string(tool))
		}
	}
	return matchertest.InScope(t, scope, "pool", tools...)
}

func TestSearchOnBFCL(t *testing.T) {
	candidates := pool(t)
	r := retrieval.New()
	for limit, least := range map[int]float64{8: 0.95, 16: 0.96, 32: 0.97, 64: 0.975} {
		var all, among float64
		for _, c := range evaldata.BFCL(t) {
			if len(c.Calls) == 0 || len(c.Messages) != 1 {
				continue
			}
			all++
			kept := matchertest.Found(r.Search(t.Context(), request("", candidates), c.Messages[0].Text, limit))
			if !slices.ContainsFunc(c.Calls, func(call evaldata.Call) bool { return !slices.Contains(kept, call.Name) }) {
				among++
			}
		}
		t.Logf("all tools that are called are among %d of %d in %.1f %% of %v", limit, len(candidates), 100*among/all, all)
		require.GreaterOrEqual(t, among/all, least)
	}
}
