package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// last returns what the last of some messages does.
func last(t *testing.T, tool string, said ...string) string {
	outcomes := heldWith(t, matchertest.InScope(t, matchertest.Scope, "r", tool), said...)
	return outcomes[len(outcomes)-1]
}

func TestWhatIsNoAnswerCompletesNoCall(t *testing.T) {
	t.Parallel()
	const visit = `{"name":"book-appointment","description":"Book an appointment","schema":[{"parameter":"day","type":"string","format":"date","required":true}],"examples":["I want an appointment"]}`
	const cita = `{"name":"cita","description":"Pedir cita","schema":[{"parameter":"dia","type":"string","format":"date","required":true}],"examples":["Necesito una cita"]}`
	for _, one := range []struct{ tool, begun, said string }{
		{payments["en"], "Transfer 50 euros", "who is Anna?"},
		{payments["en"], "Transfer 50 euros", "is Anna my sister?"},
		{payments["en"], "Transfer 50 euros", "everyone but Anna"},
		{payments["en"], "Transfer to Anna", "I only have 50 euros"},
		{payments["de"], "Überweise 50 Euro", "Wer ist Anna?"},
		{payments["de"], "Überweise 50 Euro", "jedem außer Anna"},
		{payments["de"], "Überweise Geld an Anna", "ich habe nur 50 Euro"},
		{payments["fr"], "Vire 50 euros", "qui est Anna ?"},
		{payments["fr"], "Vire 50 euros", "tous sauf Anna"},
		{payments["fr"], "Vire 50 euros", "pas à Anna"},
		{payments["es"], "Transfiere 50 euros", "¿quién es Ana?"},
		{payments["es"], "Transfiere 50 euros", "no a Ana"},
		{payments["es"], "Transfiere 50 euros", "todos menos Ana"},
		{payments["it"], "Trasferisci 50 euro", "chi è Anna?"},
		{payments["it"], "Trasferisci 50 euro", "non a Anna"},
		{visit, "I want an appointment", "any day but Friday"},
		{visit, "I want an appointment", "on Friday I have a party"},
		{visit, "I want an appointment", "on Friday I am away"},
		{cita, "Necesito una cita", "el viernes tengo una fiesta"},
		{cita, "Necesito una cita", "cualquier día menos el viernes"},
	} {
		got := last(t, one.tool, one.begun, one.said)
		assert.NotContains(t, got, `"to"`, one.said)
		assert.NotContains(t, got, `{`, one.said)
	}
	for _, one := range []struct{ tool, begun, said, want string }{
		{payments["en"], "Transfer 50 euros", "Anna", `transfer {"amount":50,"to":"Anna"}`},
		{payments["en"], "Transfer 50 euros", "to Anna please", `transfer {"amount":50,"to":"Anna"}`},
		{payments["en"], "Transfer 50 euros", "not Peter, Anna", `transfer {"amount":50,"to":"Anna"}`},
		{payments["de"], "Überweise 50 Euro", "an Anna", `ueberweisen {"amount":50,"to":"Anna"}`},
		{payments["es"], "Transfiere 50 euros", "a Ana", `transferir {"amount":50,"to":"Ana"}`},
		{payments["fr"], "Vire 50 euros", "à Anna", `virer {"amount":50,"to":"Anna"}`},
		{payments["it"], "Trasferisci 50 euro", "a Anna", `trasferire {"amount":50,"to":"Anna"}`},
		{visit, "I want an appointment", "on Friday", `book-appointment {"day":"2026-11-20"}`},
		{visit, "I want an appointment", "how about Friday?", `book-appointment {"day":"2026-11-20"}`},
		{visit, "I want an appointment", "Friday?", `book-appointment {"day":"2026-11-20"}`},
	} {
		assert.Equal(t, one.want, last(t, one.tool, one.begun, one.said), one.said)
	}
}

func TestARefusalDropsTheOpenCall(t *testing.T) {
	t.Parallel()
	for tool, said := range map[string][]string{
		"en": {"don't", "no", "I don't want to any more", "stop", "no thanks", "leave it", "cancel that", "never mind", "please cancel that", "I take that back", "no longer needed", "don't bother"},
		"de": {"nein", "doch nicht", "ich will nicht mehr", "lieber nicht", "vergiss es", "hat sich erledigt", "das hat sich erledigt, danke", "lass gut sein", "lass es", "nicht mehr nötig"},
		"fr": {"non", "je ne veux plus", "non merci", "laisse tomber", "non, laisse tomber", "bon, laisse tomber", "ce n'est plus nécessaire"},
		"es": {"no", "ya no quiero", "no gracias", "déjalo", "no, déjalo", "ya no hace falta"},
		"it": {"no", "non voglio più", "no grazie", "lascia stare", "no, lascia stare", "non serve più", "come non detto"},
	} {
		begun := map[string]string{
			"en": "Transfer 50 euros", "de": "Überweise 50 Euro", "fr": "Vire 50 euros", "es": "Transfiere 50 euros", "it": "Trasferisci 50 euro",
		}[tool]
		name := map[string]string{"en": "Anna", "de": "Anna", "fr": "Anna", "es": "Ana", "it": "Anna"}[tool]
		for _, no := range said {
			assert.NotContains(t, last(t, payments[tool], begun, no), "{", "%s: %s", tool, no)
			assert.NotContains(t, last(t, payments[tool], begun, no, name), "{", "%s: %s", tool, no)
		}
	}
	candidates := matchertest.InScope(t, matchertest.Scope, "storno", stornoScope...)
	outcomes := heldWith(t, candidates, "Cancel an order", "cancel that", "B-12345")
	assert.Equal(t, []string{"cancel-order misses [nr]", "", ""}, outcomes, "what is cancelled is the open call")
	outcomes = heldWith(t, candidates, "Cancel an order", "cancel order B-12345")
	assert.Equal(t, `cancel-order {"nr":"B-12345"}`, outcomes[1], "an order is none")
}

func TestAnAsideIsNoValue(t *testing.T) {
	t.Parallel()
	for tool, all := range map[string][]string{
		"now": {"one sec", "wtf", "lol", "damn", "see above", "fuck off", "good question...", "brb", "hm, one moment please"},
		"de":  {"gleich", "na klar", "ach egal", "Moment", "keine Ahnung"},
		"fr":  {"merde", "plus tard", "un instant", "bonne question"},
		"es":  {"espera", "un momento", "da igual", "luego"},
		"it":  {"boh", "un attimo", "aspetta", "più tardi", "no, lascia stare"},
	} {
		begun := map[string]string{"now": "pay 50 euros", "de": "Überweise 50 Euro", "fr": "Virez 50 euros", "es": "Transfiere 50 euros", "it": "Manda 50 euro"}[tool]
		for _, said := range all {
			assert.NotContains(t, last(t, named[tool], begun, said), "{", said)
		}
		assert.Contains(t, last(t, named[tool], begun, "Lisa Meyer"), "Lisa Meyer", tool)
	}
}
