package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWeightsAreThoseUnderWhichWhatWasRightIsLikeliest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []sample
	for range 4000 {
		s := sample{weight: 1}
		for i := range s.signs {
			s.signs[i] = random.Float64()
		}
		s.right = random.Float64() < probability([]float64{-1, 4, -3}, []float64{1, s.signs[0], s.signs[1]})
		all = append(all, s)
	}
	base, weights := fitted(all)
	require.InDelta(t, -1, base, 0.5)
	require.InDelta(t, 4, weights[0], 0.5)
	require.InDelta(t, -3, weights[1], 0.5)
	require.InDelta(t, 0, weights[2], 0.5)
	again, _ := fitted(all)
	require.Equal(t, base, again, "the same each time")
}

func TestScopesAreJudgedByWhatIsMeantThere(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
	write("clinc/tools.json", `[{"name":"weather","description":"Tell the weather","examples":["will it rain"],"domain":"d"},{"name":"timer","examples":["start a timer"]}]`)
	write("clinc/dev.jsonl", `{"text":"what is the weather","tool":"weather"}`+"\n"+`{"text":"set a timer","tool":"timer"}`+"\n"+`{"text":"who are you","tool":null}`+"\n")
	write("clinc/train.jsonl", `{"text":"is it sunny","tool":"weather"}`+"\n")
	write("bfcl/cases.jsonl", `{"category":"simple","tools":[{"type":"function","function":{"name":"area","description":"Area of a circle","parameters":{"type":"object","properties":{"r":{"type":"number"}}}}}],"messages":[{"role":"user","content":"area of a circle of 3"}],"possible_answer":[{"area":{"r":[3]}}]}`+"\n")
	speech, err := spokenSet(folder)
	require.NoError(t, err)
	calls, err := calledSet(folder)
	require.NoError(t, err)
	require.Equal(t, []string{"who are you"}, speech.none)
	require.Equal(t, []string{"area of a circle of 3"}, calls.said["area"])
	var right, in int
	for _, one := range (scope{size: 2, examples: 1}).judged(rand.New(rand.NewPCG(1, 2)), speech, 10, 10) {
		if one.within {
			in++
		}
		if one.right {
			right++
		}
	}
	require.Equal(t, 2, in)
	require.Equal(t, 2, right)
	_, err = spokenSet(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
