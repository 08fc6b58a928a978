package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSentencesThatBeginAlikeHaveTheMoodOfTheirWholeWords(t *testing.T) {
	for said, mood := range map[string]Mood{
		"the tour begins when":          Question,
		"Capri is in which country":     Question,
		"the harbour is what":           Question,
		"that is when":                  Statement,
		"the harbour is where I live":   Statement,
		"the harbour is where to go":    Statement,
		"do a turn":                     Fragment,
		"do you turn":                   Question,
		"would it be possible to turn":  Wish,
		"is it possible for you to go":  Wish,
		"I am interested in a trip":     Wish,
		"my trip was nice":              Statement,
		"what about a trip on the lake": Fragment,
	} {
		require.Equal(t, mood, Of(said).Mood(), said)
	}
}

func TestNamesHaveNoVerb(t *testing.T) {
	for said, name := range map[string]bool{
		"my next trip": true, "the name of the boat": true, "my trip was nice": false, "the boat that I like": false, "the boat sank and I walked": false, "trips": false,
	} {
		require.Equal(t, name, Of(said).IsName(), said)
	}
}

func TestConditionsAndLooseEndsAreThoseOfTheLanguageThatIsSpoken(t *testing.T) {
	for said, at := range map[string]int{
		"open it if it rains": 2, "öffne es falls es regnet": 2, "take me from Leeds to Sioux Falls and then to the lake": -1, "my card failed when I was in the shop": -1, "tell me when I go": -1,
		"close it when I go": 2,
	} {
		require.Equal(t, at, Of(said).Condition(), said)
	}
	for said, breaks := range map[string]bool{
		"turn on the": true, "allume la": true, "give me a glass of": true, "find me a hotel in LA": false, "what does the tour consist of": false, "schalte das Licht an am": true, "tell me where I am": false,
	} {
		require.Equal(t, breaks, Of(said).BreaksOff(), said)
	}
}
