package retrieval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

func TestWordsWithOneTypingErrorAreSpelledAsTheToolsSpellThem(t *testing.T) {
	tools := []string{
		`{"name":"book-appointment","description":"Book an appointment with the doctor"}`, `{"name":"kitchen-light","description":"Switch the kitchen light on"}`,
		`{"name":"open-garage","description":"Open the garage"}`, `{"name":"send-message","description":"Send a message"}`,
	}
	scope := retrieval.NewCache().Of(matcher.Request{Candidates: matchertest.InScope(t, matchertest.Scope, "r", tools...)})
	for said, want := range map[string]string{
		"apointment": "appointment", "appointmnet": "appointment", "appointmeent": "appointment", "kitcen": "kitchen", "kitchan": "kitchen",
		"garag": "garag", "doctir": "doctor", "messsage": "messag",
		// Words that are known, short, too different, different at the beginning, or other words stay.
		"appointments": "appointment", "lihgt": "light", "right": "right", "door": "door", "chicken": "chicken", "opera": "opera", "doctrine": "doctrin",
	} {
		require.Equal(t, want, scope.Spelled(text.Split(said))[0].Stem, said)
	}
	words := text.Split("the kitcen light")
	require.Equal(t, "kitchen", scope.Spelled(words)[1].Stem)
	require.Equal(t, "kitcen", words[1].Stem, "the words themselves are as they were said")
}
