package matcher_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/repositories"
)

func TestKeptCompilesOnceForEachUse(t *testing.T) {
	shared := &matcher.Shared{Tools: matchertest.InScope(t, matchertest.Scope, "r", matchertest.TaxiTool, matchertest.WeatherTool)}
	var compiled atomic.Int32
	count := func(tools []matcher.Candidate) int {
		compiled.Add(1)
		return len(tools)
	}
	var messages sync.WaitGroup
	for range 8 {
		messages.Go(func() { require.Equal(t, 2, matcher.Kept(shared, count)) })
	}
	messages.Wait()
	require.EqualValues(t, 1, compiled.Load())
	require.Equal(t, "call_taxi", matcher.Kept(shared, func(tools []matcher.Candidate) string { return tools[0].Tool.Name }))
	require.Equal(t, 2, matcher.Kept(shared, count), "another use has a place of its own")
}

func TestSharedToolsThatAnotherStandsInForAreNotInScope(t *testing.T) {
	app := matchertest.InScope(t, matchertest.Scope, "r", matchertest.TaxiTool, matchertest.WeatherTool, matchertest.LampTool)
	session := matchertest.InScope(t, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "r", matchertest.TaxiTool)
	request := matcher.Request{Candidates: []matcher.Candidate{session[0], app[2]}}
	for name, place := range map[string]int{"call_taxi": -1, "get_weather": -1, "switchLampOn": 1} {
		shared, known := matcher.Request{Candidates: app}.Named(name)
		require.True(t, known, name)
		at, in := request.InScope(shared)
		require.Equal(t, place >= 0, in, name)
		if in {
			require.Equal(t, place, at, name)
		}
	}
	_, known := request.Named("get_weather")
	require.False(t, known)
}
