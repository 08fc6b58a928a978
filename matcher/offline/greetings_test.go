package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

func TestAGreetingAndAClauseAreNoName(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "exceptions", exceptionScope...)
	for _, said := range []string{"Für wen?", "Guten Morgen", "Good morning", "Buongiorno", "Buenos días", "Pour qui ?"} {
		assert.NotContains(t, heldWith(t, candidates, "Überweise 50 Euro", said)[1], "{", said)
	}
	assert.Equal(t, `ueberweisen {"betrag":50,"empfaenger":"Berta"}`, heldWith(t, candidates, "Überweise 50 Euro", "Guten Morgen", "an Berta")[2])
	for _, said := range []string{"Tom got 20 too", "Tom will be happy too", "And also thank Tom"} {
		assert.NotContains(t, heldWith(t, candidates, "Give Maria a raise of 5 percent", said)[1], "{", said)
	}
	assert.Equal(t, `give-raise {"employee":"Tom","percent":5}`, heldWith(t, candidates, "Give Maria a raise of 5 percent", "Tom too")[1])
}
