package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

func TestAmountsInWords(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ tool, said, want string }{
		{"fr", "Virez quatre-vingt-dix euros à Lisa", `virement {"beneficiaire":"Lisa","montant":90}`},
		{"fr", "Virez soixante et onze euros à Lisa", `virement {"beneficiaire":"Lisa","montant":71}`},
		{"fr", "Virez vingt et un euros à Lisa", `virement {"beneficiaire":"Lisa","montant":21}`},
		{"fr", "Virez deux cent cinquante euros à Lisa", `virement {"beneficiaire":"Lisa","montant":250}`},
		{"fr", "Virez mille deux cents euros à Lisa", `virement {"beneficiaire":"Lisa","montant":1200}`},
		{"es", "Transfiere setenta y cinco euros a Lucía", `transferir {"destinatario":"Lucía","importe":75}`},
		{"es", "Transfiere dos mil quinientos euros a Lucía", `transferir {"destinatario":"Lucía","importe":2500}`},
		{"es", "Transfiere doscientos cincuenta euros a Lucía", `transferir {"destinatario":"Lucía","importe":250}`},
		{"it", "Manda duecentocinquanta euro a Lucia", `bonifico {"beneficiario":"Lucia","importo":250}`},
		{"it", "Manda duemila euro a Lucia", `bonifico {"beneficiario":"Lucia","importo":2000}`},
		{"de", "Überweise zweitausendfünfhundert Euro an Lisa", `ueberweisung {"betrag":2500,"empfaenger":"Lisa"}`},
		{"de", "Überweise fünfzehnhundert Euro an Lisa", `ueberweisung {"betrag":1500,"empfaenger":"Lisa"}`},
		{"de", "Überweise 2 Mio Euro an Lisa", `ueberweisung {"betrag":2000000,"empfaenger":"Lisa"}`},
		{"now", "pay 2k euros to Anna", `pay {"amount":2000,"person":"Anna"}`},
		{"now", "pay EUR 50 to Anna", `pay {"amount":50,"person":"Anna"}`},
		{"signs", "pay $1,234.56 to Anna", `pay {"amount":1234.56,"currency":"USD","person":"Anna"}`},
		{"signs", "pay 50€ to Anna", `pay {"amount":50,"currency":"EUR","person":"Anna"}`},
	} {
		assert.Equal(t, one.want, saidTo(t, one.tool, one.said), one.said)
	}
}

func TestAPartOfASumIsNoAmount(t *testing.T) {
	t.Parallel()
	for tool, all := range map[string][]string{
		"now":   {"pay fifty cents to Anna", "pay 20 cents to Anna", "pay 55 euros and 20 cents to Anna", "pay 50 euros plus 3 euros fee to Anna", "pay twice 50 euros to Anna", "pay 1 000 euros to Anna"},
		"de":    {"Überweise zwölf Euro fünfzig an Lisa", "Überweise zweimal 50 Euro an Lisa", "Überweise anderthalb tausend Euro an Lisa"},
		"es":    {"Transfiere dos veces 50 euros a Lucía"},
		"it":    {"Manda due volte 50 euro a Lucia"},
		"fr":    {"Virez 12 euros 50 à Lisa"},
		"limit": {"Erhöh mein Tageslimit um 500 Euro", "Senk mein Tageslimit um 200 Euro"},
	} {
		for _, said := range all {
			assert.NotContains(t, saidTo(t, tool, said), "{", said)
		}
	}
	assert.Equal(t, `towels {"room":204}`, saidTo(t, "towels", "We are four people in room 204 and need towels"))
}

func TestHalfPastANamedHour(t *testing.T) {
	t.Parallel()
	const alarm = `{"name":"sveglia","description":"Impostare una sveglia","schema":[{"parameter":"ora","type":"string","format":"time","required":true}],"examples":["svegliami alle [7](ora)"]}`
	got := heldWith(t, matchertest.InScope(t, matchertest.Scope, "r", alarm), "svegliami a mezzanotte e mezza")[0]
	assert.Equal(t, `sveglia {"ora":"00:30"}`, got)
}
