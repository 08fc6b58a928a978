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

// counted are tools with a number of one kind.
var counted = map[string]string{
	"pay": `{"name":"pay","description":"Pay money to a person","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},{"parameter":"person","type":"string","required":true}],
		"examples":["pay [20 euros](amount) to [Tom](person)","überweise [20 Euro](amount) an [Tom](person)","virez [20 euros](amount) à [Tom](person)"]}`,
	"timer": `{"name":"timer","description":"Set a timer","schema":[{"parameter":"minutes","type":"number","unit":"minutes","required":true}],"examples":["set a timer for [10 minutes](minutes)"]}`,
	"car":   `{"name":"rent_car","description":"Rent a car","schema":[{"parameter":"days","type":"integer","required":true}],"examples":["rent a car for [3](days) days"]}`,
	"table": `{"name":"book_table","description":"Book a table","schema":[{"parameter":"covers","type":"integer","required":true}],"examples":["book a table for [3](covers)"]}`,
	"leave": `{"name":"leave","description":"Enter a leave","schema":[{"parameter":"from","type":"string","format":"date","required":true},{"parameter":"to","type":"string","format":"date","required":true}],
		"examples":["enter a leave from [Monday](from) to [Friday](to)"]}`,
}

func TestANumberIsAllOfWhatIsSaid(t *testing.T) {
	t.Parallel()
	tells(t, counted, `
pay: pay five point five euros to Tom = {"amount":5.5,"person":"Tom"}
pay: überweise fünf Komma fünf Euro an Tom = {"amount":5.5,"person":"Tom"}
pay: virez cinq virgule vingt-cinq euros à Tom = {"amount":5.25,"person":"Tom"}
pay: überweise 5 Euro 50 an Tom = {"amount":5.5,"person":"Tom"}
pay: virez 5 euros 50 à Tom = {"amount":5.5,"person":"Tom"}
timer: set a timer for 1 hour 20 = {"minutes":80}
timer: set a timer for one hour twenty = {"minutes":80}
timer: set a timer for five point five minutes = {"minutes":5.5}
car: rent a car for 5 days = {"days":5}
car: rent a car for 5 people = {} ! days is required: "5 people" counts people
car: rent a car for 5 people for 3 days = {"days":3}
table: book a table for 5 people = {"covers":5}
leave: enter a leave from Friday to Tuesday = {"from":"2026-11-20","to":"2026-11-24"}
leave: enter a leave from last Monday to last Friday = {"from":"2026-11-09","to":"2026-11-13"}`)
}

func TestHalfPastANamedHour(t *testing.T) {
	t.Parallel()
	const alarm = `{"name":"sveglia","description":"Impostare una sveglia","schema":[{"parameter":"ora","type":"string","format":"time","required":true}],"examples":["svegliami alle [7](ora)"]}`
	got := heldWith(t, matchertest.InScope(t, matchertest.Scope, "r", alarm), "svegliami a mezzanotte e mezza")[0]
	assert.Equal(t, `sveglia {"ora":"00:30"}`, got)
}
