package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// TestWhatOnlyOneToolGivesIsOrderedByItsName has texts that name a listed value and no act.
func TestWhatOnlyOneToolGivesIsOrderedByItsName(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "picked",
		`{"name":"orderDrink","description":"Order a drink to the pool","schema":[{"parameter":"drink","type":"string","required":true,"allowedValues":["lemonade","cider","tonic"]},{"parameter":"count","type":"integer","default":1}]}`,
		`{"name":"pideTrajes","description":"Pide un traje de baño de alquiler","schema":[{"parameter":"talla","type":"string","required":true,"allowedValues":["pequeña","grande"]}]}`,
		`{"name":"getraenkKarte","description":"Bestellt Badezubehör","schema":[{"parameter":"artikel","type":"string","required":true,"allowedValues":["Handtuch","Brille","tonic"]},{"parameter":"menge","type":"integer","default":1}]}`,
		`{"name":"drink-info","description":"Tell what is in a drink","schema":[{"parameter":"drink","type":"string","required":true,"allowedValues":["lemonade","cider","tonic"]}]}`)
	for said, want := range map[string]string{
		"Two lemonades, please": `orderDrink {"count":2,"drink":"lemonade"}`, "a cider please": `orderDrink {"count":1,"drink":"cider"}`, "Three ciders": `orderDrink {"count":3,"drink":"cider"}`,
		"Eine Brille, bitte": `getraenkKarte {"artikel":"Brille","menge":1}`, "Ich brauche eine Brille": `getraenkKarte {"artikel":"Brille","menge":1}`,
		"cider": "", "the cider was warm": "", "no lemonade please": "", "two tonics please": "", "I don't want a cider": "", "Two lemonades and a sandwich, please": "", "lemonade is sour": "",
		"please, the lemonade is too warm": "", "my two lemonades, please hurry": "", "What is in the cider?": `drink-info {"drink":"cider"}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}
