package offline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	exemplaryBook   = `{"name":"book-appointment","description":"Book an appointment","examples":["I need an appointment on [Friday](day)"],"schema":[{"parameter":"day","type":"string","required":true}]}`
	exemplaryCancel = `{"name":"cancel-appointment","description":"Cancel an appointment","examples":["I cannot make it on [Monday](day)","I have to call off my appointment on [Friday](day)","I will not be able to come on Thursday"],
		"schema":[{"parameter":"day","type":"string","required":true}]}`
	exemplaryOrder = `{"name":"order-prescription","description":"Order a prescription","examples":["I need a new prescription for [ibuprofen](medicine)","Give me [ibuprofen](medicine)"],
		"schema":[{"parameter":"medicine","type":"string","required":true},{"parameter":"packs","type":"integer","description":"how many packs"}]}`
)

// TestAnExampleIsLaw has examples verbatim, and with other values.
func TestAnExampleIsLaw(t *testing.T) {
	for said, want := range map[string]string{
		"I cannot make it on Monday":                         `cancel-appointment {"day":"Monday"}`,
		"i can't make it on tuesday!":                        `cancel-appointment {"day":"tuesday"}`,
		"I have to call off my appointment on Friday":        `cancel-appointment {"day":"Friday"}`,
		"I have to call off my appointment on Wednesday":     `cancel-appointment {"day":"Wednesday"}`,
		"I will not be able to come on Thursday":             `cancel-appointment {"day":"Thursday"}`,
		"I need a new prescription for ibuprofen":            `order-prescription {"medicine":"ibuprofen"}`,
		"I need a new prescription for ibuprofen 600":        `order-prescription {"medicine":"ibuprofen 600"}`,
		"I need a new prescription for vitamin D 1000":       `order-prescription {"medicine":"vitamin D 1000"}`,
		"I need a new prescription for L-thyroxine":          `order-prescription {"medicine":"L-thyroxine"}`,
		"I need a new prescription for not ibuprofen":        `order-prescription misses [medicine]`,
		"I cannot make it on the grounds that I am very ill": ``,
	} {
		require.Equal(t, want, matched(t, said, exemplaryBook, exemplaryCancel, exemplaryOrder), said)
	}
}

// TestAdjacentPlacesOfAnExampleAreTriedOnce exceeds the time limit if all their combinations are tried.
func TestAdjacentPlacesOfAnExampleAreTriedOnce(t *testing.T) {
	var places, fields []string
	for i := range 16 {
		places = append(places, fmt.Sprintf("[red green blue white](p%d)", i))
		fields = append(fields, fmt.Sprintf(`{"parameter":"p%d","type":"string"}`, i))
	}
	tool := fmt.Sprintf(`{"name":"paint","description":"Paint","examples":["paint %s walls"],"schema":[%s]}`, strings.Join(places, " "), strings.Join(fields, ","))
	require.Equal(t, "paint {}", matched(t, "paint "+strings.Repeat("foo ", 80)+"doors", tool))
}

// TestAnExampleHasTheValueThatStandsInIt has an hour that another message would have to explain.
func TestAnExampleHasTheValueThatStandsInIt(t *testing.T) {
	const visit = `{"name":"visit","description":"Visit the practice","examples":["Can I come in on [Friday](day) at [10:00](time)?"],
	  "schema":[{"parameter":"day","type":"string","format":"date","required":true},{"parameter":"time","type":"string","format":"time","required":true}]}`
	require.Equal(t, `visit {"day":"2026-11-20","time":"10:00"}`, matched(t, "Can I come in on Friday at 10:00?", visit))
	require.Equal(t, "visit misses [time]", matched(t, "Can I come in on Friday at 11:00?", visit))
}

// TestAnExampleOfAnyWishIsLawAloneWordForWord has an example whose own words name nothing.
func TestAnExampleOfAnyWishIsLawAloneWordForWord(t *testing.T) {
	const any = `{"name":"order-thing","description":"Order a thing","examples":["I need [paper](thing)"],"schema":[{"parameter":"thing","type":"string","required":true}]}`
	require.Equal(t, `order-thing {"thing":"paper"}`, matched(t, "I need paper", any))
	require.Empty(t, matched(t, "I need help", any))
}

// TestThePlaceInAnExampleTellsWhatANumberIs has a parameter whose name is not said.
func TestThePlaceInAnExampleTellsWhatANumberIs(t *testing.T) {
	const pizzas = `{"name":"order","description":"Order pizzas","examples":["I want [3](n) pizzas"],"schema":[{"parameter":"n","type":"integer","required":true,"maxValue":9}]}`
	for said, want := range map[string]string{
		"I want 3 pizzas": `order {"n":3}`, "I want 2 pizzas": `order {"n":2}`, "I want two pizzas": `order {"n":2}`,
		"I want 20 pizzas": `order misses []`, "I want about 2 pizzas": `order misses [n]`, "I want your pizzas": `order misses [n]`,
	} {
		require.Equal(t, want, matched(t, said, pizzas), said)
	}
}

// TestAnExampleOfTwoToolsIsNoLaw: the tools' other words decide.
func TestAnExampleOfTwoToolsIsNoLaw(t *testing.T) {
	const first, second = `{"name":"lamp-on","examples":["make it bright"]}`, `{"name":"blinds-up","examples":["make it bright"]}`
	require.Empty(t, matched(t, "make it bright", first, second))
	require.Equal(t, "lamp-on {}", matched(t, "make it bright", first))
}

func TestAPlaceOfATimeHasNoOtherWords(t *testing.T) {
	const remind = `{"name":"remind","description":"Remind the user of something","schema":[{"parameter":"what","type":"string","description":"what to be reminded of","required":true},
		{"parameter":"at","type":"string","description":"when","format":"date-time","required":true}],"examples":["Remind me to [call mum](what) [tomorrow at 18:00](at)"]}`
	const meet = `{"name":"meet","description":"Schedule a meeting","schema":[{"parameter":"with","type":"string","description":"who comes"},{"parameter":"start","type":"string","format":"date-time","required":true}],
		"examples":["Schedule a meeting with [Anna](with) [tomorrow at 3 pm](start)"]}`
	const pay = `{"name":"standing-order","description":"Set up a standing order","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},{"parameter":"recipient","type":"string","required":true}],
		"examples":["Pay [Tom](recipient) [50 euros](amount) each month"]}`
	for said, what := range map[string]string{
		"Remind me to buy milk tomorrow at 18:00":             `"what":"buy milk"`,
		"Remind me to call Anna Brown tomorrow at 18:00":      `"what":"call Anna Brown"`,
		"Remind me to water the plants tomorrow at 18:00":     `"what":"water the plants"`,
		"Schedule a meeting with Mrs Brown tomorrow at 3 pm":  `"with":"Mrs Brown"`,
		"Schedule a meeting with Dr. Brown tomorrow at 3 pm":  `"with":"Dr. Brown"`,
		"Schedule a meeting with Anna on Wednesday at 15:30":  `"with":"Anna"`,
		"Schedule a meeting with Anna Brown on Friday at 3pm": `"with":"Anna Brown"`,
		"Pay Mr Smith 70 euros each month":                    `"recipient":"Mr Smith"`,
		"Pay Anna Smith eighty euros each month":              `"recipient":"Anna Smith"`,
	} {
		require.Contains(t, matched(t, said, remind, meet, pay), what, said)
	}
}

func TestAPlaceThatBeginsWithAnArticleIsFilled(t *testing.T) {
	remove := `{"name":"remove","description":"Remove an item from the shopping list","schema":[{"parameter":"item","type":"string","required":true}],
		"examples":["Take [the milk](item) off the list","Nimm [die Milch](item) von der Liste","Togli [il latte](item) dalla lista","Quita [la leche](item) de la lista","Enlève [le lait](item) de la liste"]}`
	add := strings.NewReplacer("remove", "add", "Remove", "Add", "from", "to", "Take", "Put", " off ", " on ", "Nimm", "Setz", " von der ", " auf die ", "Togli", "Metti", "dalla", "nella",
		"Quita", "Pon", " de la lista", " en la lista", "Enlève", "Mets", " de la liste", " sur la liste").Replace(remove)
	fault := `{"name":"fault","description":"Report something broken","schema":[{"parameter":"what","type":"string","required":true}],
		"examples":["[The shower](what) is broken","My [TV](what) does not work","[Die Heizung](what) ist kaputt","[La stampante](what) è rotta","[La impresora](what) no funciona","[L'imprimante](what) est en panne"]}`
	for said, want := range map[string]string{
		"Nimm die Milch von der Liste": `remove {"item":"die Milch"}`,
		"Nimm den Käse von der Liste":  `remove {"item":"den Käse"}`,
		"Togli il latte dalla lista":   `remove {"item":"il latte"}`,
		"Togli la pasta dalla lista":   `remove {"item":"la pasta"}`,
		"Quita la leche de la lista":   `remove {"item":"la leche"}`,
		"Quita el pan de la lista":     `remove {"item":"el pan"}`,
		"Enlève le lait de la liste":   `remove {"item":"le lait"}`,
		"Take it off the list":         "remove misses [item]",
		"Take that off the list":       "remove misses [item]",
		"The minibar is broken":        `fault {"what":"The minibar"}`,
		"My radio does not work":       `fault {"what":"radio"}`,
		"Der Scanner ist kaputt":       `fault {"what":"Der Scanner"}`,
		"La lampada è rotta":           `fault {"what":"La lampada"}`,
		"La pantalla no funciona":      `fault {"what":"La pantalla"}`,
		"Le scanner est en panne":      `fault {"what":"Le scanner"}`,
		"L'écran est en panne":         `fault {"what":"L'écran"}`,
		"My marriage is broken":        "",
		"The scanner is not broken":    "",
	} {
		require.Equal(t, want, matched(t, said, remove, add, fault), said)
	}
}
