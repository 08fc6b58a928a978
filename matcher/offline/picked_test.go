package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestAnExampleIsSaidWithAnotherCode(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "codes",
		`{"name":"find-crate","description":"Tell the place of a crate","schema":[{"parameter":"crate","type":"string","required":true}],"examples":["where is [K-77](crate)?"]}`,
		`{"name":"fault","description":"Report a fault of a crane","schema":[{"parameter":"crane","type":"string","required":true},{"parameter":"fault","type":"string","required":true,"allowedValues":["hook","rope"],"aliases":{"rope":["torn rope"]}}],"examples":["[K-77](crane) has a [hook](fault)"]}`,
		`{"name":"distance","description":"Tell a distance","schema":[{"parameter":"from","type":"string","required":true},{"parameter":"to","type":"string","required":true}],"examples":["how far is it from [Bonn](from) to [Ulm](to)?"]}`)
	for said, want := range map[string]string{
		"Where is K-12?": `find-crate {"crate":"K-12"}`, "where is K-12 right now?": `find-crate {"crate":"K-12"}`, "Where is my wife?": "", "Where is Q12?": "", "K-09 has a torn rope": `fault {"crane":"K-09","fault":"rope"}`,
		"How far is it from Kiel to Bremen?": `distance {"from":"Kiel","to":"Bremen"}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestANumberBeforeAThingCountsIt(t *testing.T) {
	t.Parallel()
	const stock = `{"name":"buy-stock","description":"Buy stock for the bar","schema":[{"parameter":"item","type":"string","required":true},{"parameter":"quantity","type":"integer","default":1,"maxValue":50}],"examples":["buy [straws](item)"]}`
	const basket = `{"name":"put-in-basket","description":"Put an article into the basket","schema":[{"parameter":"article","type":"string","required":true,"description":"what is put there"},{"parameter":"count","type":"integer","description":"how many"}],"examples":["put [soap](article) into the basket"]}`
	const uncounted = `{"name":"buy-stock","description":"Buy stock for the bar","schema":[{"parameter":"item","type":"string","required":true}],"examples":["buy [straws](item)"]}`
	for _, row := range []struct{ tool, said, want string }{
		{stock, "Buy six long spoons", `buy-stock {"item":"long spoons","quantity":6}`}, {stock, "buy 12 napkins, please", `buy-stock {"item":"napkins","quantity":12}`},
		{stock, "buy napkins", `buy-stock {"item":"napkins","quantity":1}`}, {stock, "buy a napkin", `buy-stock {"item":"napkin","quantity":1}`}, {stock, "buy first aid kits", `buy-stock {"item":"first aid kits","quantity":1}`},
		{stock, "buy 2 kg sugar", `buy-stock {"item":"2 kg sugar","quantity":1}`}, {stock, "buy six", "buy-stock misses [item]"}, {basket, "put three towels into the basket", `put-in-basket {"article":"towels","count":3}`},
		{uncounted, "Buy six spoons", `buy-stock {"item":"six spoons"}`},
	} {
		assert.Equal(t, row.want, matched(t, row.said, row.tool), row.said)
	}
}

func TestAThingWithItsNumberIsASecondOrder(t *testing.T) {
	t.Parallel()
	tools := []string{
		`{"name":"orderPaint","description":"Order paint","schema":[{"parameter":"colour","type":"string","required":true,"allowedValues":["ochre","umber"]},{"parameter":"litres","type":"integer"}],"examples":["order [ochre](colour) paint for [3](litres)"]}`,
		`{"name":"orderBrush","description":"Order brushes","schema":[{"parameter":"size","type":"string","required":true,"allowedValues":["flat","round"]},{"parameter":"count","type":"integer","default":1}]}`,
	}
	require.Equal(t, `orderPaint {"colour":"umber","litres":5}; orderBrush {"count":2,"size":"round"}`, matched(t, "Order umber paint for 5 and two round brushes", tools...))
	require.Equal(t, `orderBrush {"count":4,"size":"flat"}`, matched(t, "Order 4 flat brushes", tools...))
	require.Equal(t, "", matched(t, "between 5 and 6 round brushes", tools...))
}

func TestAThingAloneIsNoTrouble(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "trouble",
		`{"name":"blockBadge","description":"Block a lost badge","schema":[{"parameter":"door","type":"string","allowedValues":["gate","hall"]}],"examples":["I lost my badge","my badge is gone"]}`,
		`{"name":"lendBadge","description":"Lend a badge for a day"}`)
	for said, want := range map[string]string{
		"Gate badge, please": "", "my hall badge please": "", "badge lost": "blockBadge {}", "I lost my gate badge": `blockBadge {"door":"gate"}`, "Block my badge": "blockBadge {}", "my badge is gone": "blockBadge {}",
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}
