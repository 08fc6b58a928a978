package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// scripts counts the scripts that Redis has run by their hash or text. What looks for
// due work runs none unless there is some.
func (w *world) scripts() int {
	w.t.Helper()
	info, err := w.client().Info(w.t.Context(), "commandstats").Result()
	require.NoError(w.t, err)
	total := 0
	for _, found := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		calls, err := strconv.Atoi(found[1])
		require.NoError(w.t, err)
		total += calls
	}
	return total
}

func TestMessageCostsThreeScriptsOneRequestAndOnePublishAnEvent(t *testing.T) {
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[
		{"name":"book","url":"`+sink.URL+`","emitter":"calendar.request"},{"name":"note"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"mine"}]}`)
	for what, test := range map[string]struct {
		text   string
		events int
	}{
		"event-and-call": {"call book {}", 3}, "event": {"call mine {}", 1}, "several": {"call book {}; note {}; mine {}", 5}, "none": {"hello", 1},
	} {
		t.Run(what, func(t *testing.T) {
			w.say("s1", "", test.text) // now the scripts are known and the app is cached
			w.rest()
			const posts = 20
			// A machine that is busy with other things may be too slow for a first
			// attempt, and then there is a second one: the best of three rounds counts.
			fewest := math.MaxInt
			for round := range 3 {
				scripts, asked, published := w.scripts(), w.llm.Count(), len(w.events(">"))
				for i := range posts {
					w.say("s1", fmt.Sprint(what, round, "-", i), test.text)
				}
				w.rest()
				require.Equal(t, posts, w.llm.Count()-asked)
				require.Equal(t, posts*test.events, len(w.events(">"))-published)
				if fewest = min(fewest, w.scripts()-scripts); fewest <= 3*posts {
					break
				}
			}
			require.LessOrEqual(t, fewest, 3*posts)
		})
	}
}
