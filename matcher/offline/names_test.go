package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// named are tools with a name in their example, and with a date that need not be said.
var named = map[string]string{
	"en": `{"name":"pay","description":"Pay money to a person","schema":[{"parameter":"amount","type":"number","required":true},{"parameter":"person","type":"string","required":true},
		{"parameter":"date","type":"string","format":"date"}],"examples":["pay [20](amount) euros to [Tom](person)"]}`,
	"now": `{"name":"pay","description":"Pay money to a person","schema":[{"parameter":"amount","type":"number","required":true},{"parameter":"person","type":"string","required":true}],
		"examples":["pay [20](amount) euros to [Tom](person)"]}`,
	"de": `{"name":"ueberweisung","description":"Geld an einen Empfänger überweisen","schema":[{"parameter":"betrag","type":"number","required":true},{"parameter":"empfaenger","type":"string","required":true},
		{"parameter":"datum","type":"string","format":"date"}],"examples":["überweise [500](betrag) Euro an [Anna](empfaenger)"]}`,
	"fr": `{"name":"virement","description":"Virer de l'argent à une personne","schema":[{"parameter":"montant","type":"number","required":true},{"parameter":"beneficiaire","type":"string","required":true},
		{"parameter":"date","type":"string","format":"date"}],"examples":["virez [500](montant) euros à [Anna](beneficiaire)"]}`,
	"es": `{"name":"transferir","description":"Transferir dinero a una persona","schema":[{"parameter":"importe","type":"number","required":true},{"parameter":"destinatario","type":"string","required":true},
		{"parameter":"fecha","type":"string","format":"date"}],"examples":["transfiere [500](importe) euros a [Ana](destinatario)"]}`,
	"it": `{"name":"bonifico","description":"Fare un bonifico a una persona","schema":[{"parameter":"importo","type":"number","required":true},{"parameter":"beneficiario","type":"string","required":true},
		{"parameter":"data","type":"string","format":"date"}],"examples":["manda [500](importo) euro a [Anna](beneficiario)"]}`,
	"file":   `{"name":"delete_file","description":"Delete a file","schema":[{"parameter":"file","type":"string","required":true}],"examples":["delete the file [a.txt](file)"]}`,
	"server": `{"name":"restart_server","description":"Restart a server","schema":[{"parameter":"server","type":"string","required":true}],"examples":["restart [web-01](server)"]}`,
	"access": `{"name":"grant_access","description":"Grant a user access to a system","schema":[{"parameter":"username","type":"string","required":true},{"parameter":"system","type":"string","required":true,
		"allowedValues":["Jira","GitHub"]},{"parameter":"level","type":"string","allowedValues":["read","admin"]}],"examples":["give [jdoe](username) access to [Jira](system)"]}`,
	"signs": `{"name":"pay","description":"Pay money to a person","schema":[{"parameter":"amount","type":"number","required":true},{"parameter":"person","type":"string","required":true},
		{"parameter":"currency","type":"string","allowedValues":["EUR","USD"],"aliases":{"EUR":["euros","€"],"USD":["dollars","$"]}}],"examples":["pay [20](amount) euros to [Tom](person)"]}`,
	"limit":  `{"name":"limit_aendern","description":"Das Tageslimit der Karte ändern","schema":[{"parameter":"limit","type":"number","required":true}],"examples":["setz mein Tageslimit auf [1000](limit) Euro"]}`,
	"towels": `{"name":"towels","description":"Send towels to a room","schema":[{"parameter":"room","type":"integer","required":true},{"parameter":"quantity","type":"integer"}],"examples":["we need [2](quantity) towels in room [204](room)"]}`,
	"note":   `{"name":"add_note","description":"Write down a note","schema":[{"parameter":"note","type":"string","required":true}],"examples":["note that [it rains](note)"]}`,
}

func saidTo(t *testing.T, tool, said string) string {
	return heldWith(t, matchertest.InScope(t, matchertest.Scope, "r", named[tool]), said)[0]
}

func TestANameEndsBeforeWhenAndHow(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ tool, said, want string }{
		{"en", "pay 50 euros to Anna tomorrow", `pay {"amount":50,"date":"2026-11-21","person":"Anna"}`},
		{"en", "pay 50 euros to Anna on Friday please", `pay {"amount":50,"date":"2026-11-20","person":"Anna"}`},
		{"en", "pay 50 euros to Anna in three days", `pay {"amount":50,"date":"2026-11-23","person":"Anna"}`},
		{"now", "pay 50 euros to Anna right now", `pay {"amount":50,"person":"Anna"}`},
		{"now", "pay 50 euros to Anna ASAP", `pay {"amount":50,"person":"Anna"}`},
		{"now", "pay 50 euros to anna pls", `pay {"amount":50,"person":"anna"}`},
		{"now", "pay 50 euros to Anna via PayPal", `pay {"amount":50,"person":"Anna"}`},
		{"now", "pay 50 euros to Anna as a present", `pay {"amount":50,"person":"Anna"}`},
		{"now", "pay 50 euros to J. K. Rowling", `pay {"amount":50,"person":"J. K. Rowling"}`},
		{"now", "pay 50 euros to Vincent van Gogh", `pay {"amount":50,"person":"Vincent van Gogh"}`},
		{"now", "pay 50 euros to Save the Children", `pay {"amount":50,"person":"Save the Children"}`},
		{"de", "Überweise 80 Euro an Lisa morgen", `ueberweisung {"betrag":80,"datum":"2026-11-21","empfaenger":"Lisa"}`},
		{"de", "Überweise 80 Euro an Lisa sofort", `ueberweisung {"betrag":80,"empfaenger":"Lisa"}`},
		{"de", "Überweise 80 Euro an Lisa am 15. Dezember", `ueberweisung {"betrag":80,"datum":"2026-12-15","empfaenger":"Lisa"}`},
		{"de", "Ich will 80 Euro an Lisa überweisen", `ueberweisung {"betrag":80,"empfaenger":"Lisa"}`},
		{"de", "Überweise 80 Euro an Karl-Heinz von der Lippe", `ueberweisung {"betrag":80,"empfaenger":"Karl-Heinz von der Lippe"}`},
		{"fr", "Virez 80 euros à Lisa demain", `virement {"beneficiaire":"Lisa","date":"2026-11-21","montant":80}`},
		{"fr", "Virez 80 euros à Lisa vendredi", `virement {"beneficiaire":"Lisa","date":"2026-11-20","montant":80}`},
		{"fr", "Virez 80 euros à Lisa tout de suite", `virement {"beneficiaire":"Lisa","montant":80}`},
		{"es", "Transfiere 80 euros a Lucía hoy", `transferir {"destinatario":"Lucía","fecha":"2026-11-20","importe":80}`},
		{"es", "Transfiere 80 euros a Lucía por favor", `transferir {"destinatario":"Lucía","importe":80}`},
		{"es", "Transfiere 80 euros a José de la Cruz", `transferir {"destinatario":"José de la Cruz","importe":80}`},
		{"it", "Manda 80 euro a Lucia domani", `bonifico {"beneficiario":"Lucia","data":"2026-11-21","importo":80}`},
		{"it", "Manda 80 euro a Lucia per favore", `bonifico {"beneficiario":"Lucia","importo":80}`},
		{"it", "Manda 80 euro a Maria De Luca", `bonifico {"beneficiario":"Maria De Luca","importo":80}`},
		{"access", "Give jdoe admin access to GitHub, please.", `grant_access {"level":"admin","system":"GitHub","username":"jdoe"}`},
		{"note", "note that Anna comes tomorrow", `add_note {"note":"Anna comes tomorrow"}`},
		{"file", `delete the file "see you tomorrow"`, `delete_file {"file":"see you tomorrow"}`},
	} {
		assert.Equal(t, one.want, saidTo(t, one.tool, one.said), one.said)
	}
}

func TestOneOfTwoNamesIsNone(t *testing.T) {
	t.Parallel()
	for tool, said := range map[string]string{
		"en": "pay 50 euros to Anna or Tom", "de": "Überweise 80 Euro an Lisa oder Tom", "fr": "Virez 80 euros à Lisa ou à Tom",
		"es": "Transfiere 80 euros a Lucía o a Luis", "it": "Manda 80 euro a Lucia o a Luca", "file": "delete the file a.txt or b.txt",
	} {
		assert.NotContains(t, saidTo(t, tool, said), "{", said)
	}
}

func TestAHesitationOrAnExcuseCorrects(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ tool, said, want string }{
		{"now", "pay 50 euros to Anna, uh, to Tom", `pay {"amount":50,"person":"Tom"}`},
		{"now", "pay 50 euros, uh, to Tom", `pay {"amount":50,"person":"Tom"}`},
		{"fr", "Virez 80 euros à Lisa, euh, à Tom", `virement {"beneficiaire":"Tom","montant":80}`},
		{"server", "restart web-01, uh, web-02", `restart_server {"server":"web-02"}`},
	} {
		assert.Equal(t, one.want, saidTo(t, one.tool, one.said), one.said)
	}
	for said, tool := range map[string]string{ // which are not understood well enough to act, but not done twice
		"Überweise 80 Euro an Lisa, äh, an Tom": "de", "Transfiere 80 euros a Lucía, digo, a Luis": "es", "Transfiere 80 euros a Lucía, perdón, a Luis": "es",
		"Manda 80 euro a Lucia, anzi a Luca": "it", "Manda 80 euro a Lucia, scusa, a Luca": "it",
	} {
		assert.NotContains(t, saidTo(t, tool, said), "{", said)
	}
}

func TestAnActOfLaterOrOftenIsNotDoneNow(t *testing.T) {
	t.Parallel()
	for tool, all := range map[string][]string{
		"server": {"restart web-01 at midnight", "restart web-01 tomorrow", "restart web-01 every night", "restart web-01 next year", "restart web-01 twice"},
		"file":   {"delete the file report.pdf tomorrow", "delete the file report.pdf every Monday", "delete the file report.pdf at the end of the month"},
		"now":    {"pay 50 euros to Anna tomorrow", "pay 50 euros to Anna every month", "pay 50 euros to Anna monthly"},
		"en":     {"pay 50 euros to Anna every month"},
		"de":     {"Überweise 80 Euro an Lisa jeden Monat", "Überweise zweimal 80 Euro an Lisa"},
		"fr":     {"Virez 80 euros à Lisa tous les mois"},
		"es":     {"Transfiere 80 euros a Lucía cada mes", "Transfiere 80 euros a Lucía todos los meses"},
		"it":     {"Manda 80 euro a Lucia ogni mese"},
	} {
		for _, said := range all {
			assert.NotContains(t, saidTo(t, tool, said), "{", said)
		}
	}
	for tool, said := range map[string]string{"server": "restart web-01 now", "file": "delete the file report.pdf at once", "now": "pay 50 euros to Anna today"} {
		assert.Contains(t, saidTo(t, tool, said), "{", said)
	}
}
