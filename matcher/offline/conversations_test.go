package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher"
	"earshot/matcher/matchertest"
)

// dialogues says conversations with tools, each with the outcome of its last message.
func dialogues(t *testing.T, candidates []matcher.Candidate, all string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(all), "\n") {
		said, want, _ := strings.Cut(line, " = ")
		outcomes := heldWith(t, candidates, strings.Split(said, " > ")...)
		assert.Equal(t, strings.TrimSpace(want), outcomes[len(outcomes)-1], said)
	}
}

// office are tools with counts, names, choices and dates.
var office = []string{
	`{"name":"buy","description":"Buy office supplies","schema":[{"parameter":"article","type":"string","required":true,"ask":"What?"},{"parameter":"quantity","type":"integer"}],
		"examples":["I'd like to buy [three](quantity) [folders](article)","Je voudrais acheter [trois](quantity) [classeurs](article)"]}`,
	`{"name":"pay","description":"Pay somebody","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true,"ask":"How much?"},{"parameter":"recipient","type":"string","required":true,"ask":"Who?"}],
		"examples":["Pay [40 euros](amount) to [Paul](recipient)","Paga [40 euros](amount) a [Pedro](recipient)","I want to pay somebody","Quiero pagar a alguien"]}`,
	`{"name":"freeze-account","description":"Freeze an account","schema":[{"parameter":"kind","type":"string","required":true,"allowedValues":["savings account","joint account"],"ask":"Which?"}],"examples":["Freeze my [joint account](kind)","Freeze my account"]}`,
	`{"name":"book-desk","description":"Book a desk","schema":[{"parameter":"day","type":"string","format":"date","required":true,"ask":"Which day?"},{"parameter":"row","type":"string","required":true,"allowedValues":["A","B","I"],"ask":"Which row?"}],
		"examples":["Book a desk on [Tuesday](day) in row [B](row)","Buche einen Schreibtisch am [Dienstag](day)","Réserve un bureau [mardi](day)","Reserva un escritorio el [martes](day)","Prenota una scrivania [martedì](day)"]}`,
	`{"name":"give-back","description":"Give back a coat","schema":[{"parameter":"reason","type":"string","required":true,"allowedValues":["too tight","too long"],"ask":"Why?"}],"examples":["Give back a coat"]}`,
	`{"name":"plan","description":"Plan an interview","schema":[{"parameter":"start","type":"string","format":"date-time","required":true}],"examples":["Plan an interview [tomorrow at 2 pm](start)"]}`,
	`{"name":"tell-price","description":"Tell what lunch costs","examples":["How much does lunch cost?","What's for lunch?","¿Cuánto cuesta el almuerzo?","Quanto costa il pranzo?","Combien coûte le déjeuner ?"]}`,
}

func TestAnotherThingHasACountOfItsOwn(t *testing.T) {
	t.Parallel()
	dialogues(t, matchertest.InScope(t, matchertest.Scope, "o", office...), `
I'd like to buy three folders > and five staplers = buy {"article":"staplers","quantity":5}
I'd like to buy three folders > no, six staplers = buy {"article":"staplers","quantity":6}
I'd like to buy three folders > and a stapler = buy {"article":"stapler"}
I'd like to buy three folders > and one stapler =
I'd like to buy three folders > no, staplers = buy {"article":"staplers","quantity":3}
I'd like to buy three folders > another one = 
Je voudrais acheter trois classeurs > six, pardon = buy {"article":"classeurs","quantity":6}
I'd like to buy three folders > six, sorry = buy {"article":"folders","quantity":6}
I'd like to buy three folders > too late, sorry = `)
}

func TestWhatIsForbiddenOrKeptDropsTheOpenCall(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "o", office...)
	dialogues(t, candidates, `
Freeze my account > don't freeze it > joint account = 
Freeze my account > no, please don't freeze anything > joint account = 
Freeze my account > keep it as it is > joint account = 
Freeze my account > I don't have the number here > joint account = freeze-account {"kind":"joint account"}
Book a desk on Tuesday > not sure yet > row B = book-desk {"day":"2026-11-24","row":"B"}
Buche einen Schreibtisch am Dienstag > weiß ich noch nicht > B = book-desk {"day":"2026-11-24","row":"B"}`)
	for _, said := range []string{"ach nein, ich komme doch", "non, plus tard", "I'd rather keep it"} {
		assert.True(t, matcher.Objects(said), said)
	}
	for _, said := range []string{"ci ho ripensato", "lass ihn stehen", "laisse-la", "me lo he pensado mejor", "actually no"} {
		_, no := matcher.Consents(said)
		assert.True(t, no, said)
	}
}

func TestAPartOfAChoiceAnswersForIt(t *testing.T) {
	t.Parallel()
	dialogues(t, matchertest.InScope(t, matchertest.Scope, "o", office...), `
Freeze my account > the savings one = freeze-account {"kind":"savings account"}
Freeze my account > joint please = freeze-account {"kind":"joint account"}
Freeze my account > not the joint one = 
Give back a coat > the tight one = 
Give back a coat > too tight = give-back {"reason":"too tight"}
Freeze my account > the account =
Book a desk on Tuesday > A = book-desk {"day":"2026-11-24","row":"A"}
Book a desk on Tuesday > a = 
Book a desk on Tuesday in row B > no, A = book-desk {"day":"2026-11-24","row":"A"}`)
}

func TestADayIsCountedFromTheOneThatIsKnown(t *testing.T) {
	t.Parallel()
	dialogues(t, matchertest.InScope(t, matchertest.Scope, "o", office...), `
Book a desk on Tuesday > the day after, please > B = book-desk {"day":"2026-11-25","row":"B"}
Book a desk on Tuesday in row B > no, the day before = book-desk {"day":"2026-11-23","row":"B"}
Buche einen Schreibtisch am Dienstag > lieber am Tag danach > B = book-desk {"day":"2026-11-25","row":"B"}
Réserve un bureau mardi > non, le lendemain > B = book-desk {"day":"2026-11-25","row":"B"}
Reserva un escritorio el martes > mejor al día siguiente > B = book-desk {"day":"2026-11-25","row":"B"}
Prenota una scrivania martedì > meglio il giorno dopo > B = book-desk {"day":"2026-11-25","row":"B"}
Book a desk on Tuesday > the day after tomorrow > B = book-desk {"day":"2026-11-22","row":"B"}
Book a desk on Tuesday in row B > the day after it rained = 
Plan an interview tomorrow at 2 pm > no, at 5 pm = plan {"start":"2026-11-21T17:00:00Z"}
Plan an interview tomorrow at 2 pm > the same on Tuesday = plan {"start":"2026-11-24T14:00:00Z"}
Plan an interview on Friday at 8 am = plan {"start":"2026-11-27T08:00:00Z"}
Plan an interview on Friday at 11 am = plan {"start":"2026-11-20T11:00:00Z"}
Plan an interview today at 8 am = plan {"start":"2026-11-20T08:00:00Z"}`)
}

func TestACorrectionOfSomethingElseIsNoName(t *testing.T) {
	t.Parallel()
	dialogues(t, matchertest.InScope(t, matchertest.Scope, "o", office...), `
Pay 40 euros to Paul for the cab > no, for the dinner = 
Pay 40 euros to Paul for the cab > no, to Sarah = pay {"amount":40,"recipient":"Sarah"}
Pay 40 euros to Paul > no, wrong Paul = 
Pay 40 euros to Paul > the same again for Sarah = pay {"amount":40,"recipient":"Sarah"}
Pay 40 euros to Paul > too late = `)
	const pagar = `{"name":"pagar","description":"Pagar a alguien","schema":[{"parameter":"importe","type":"number","unit":"EUR","required":true,"ask":"¿Cuánto?"},{"parameter":"destinatario","type":"string","required":true,"ask":"¿A quién?"}],
		"examples":["Paga [40 euros](importe) a [Pedro](destinatario)","Quiero pagar a alguien"]}`
	dialogues(t, matchertest.InScope(t, matchertest.Scope, "p", pagar), `
Quiero pagar a alguien > a Marta > 30 euros = pagar {"destinatario":"Marta","importe":30}
Paga 30 euros a Pedro, digo, a Marta = pagar {"destinatario":"Marta","importe":30}
Paga 30 euros a Pedro > lo mismo para Marta = pagar {"destinatario":"Marta","importe":30}`)
	talks(t, `
guest: Cancel the table > it's under Miller = {"name":"Miller"}
guest: Cancel the table > unter Müller = {"name":"Müller"}`)
	trip := `{"name":"billet","description":"Réserver un billet","schema":[{"parameter":"depart","type":"string","required":true,"ask":"D'où ?"},{"parameter":"jour","type":"string","format":"date","required":true,"ask":"Quand ?"}],"examples":["Réserve un billet","Réserve un billet depuis [Paris](depart)"]}`
	dialogues(t, matchertest.InScope(t, matchertest.Scope, "r", trip), `Réserve un billet > de Lille > demain = billet {"depart":"Lille","jour":"2026-11-21"}`)
}

func TestAQuestionWithoutAThingAsksAboutWhatWasSaid(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "o", office...)
	for _, said := range []string{"how much?", "what's that?", "¿cuánto?", "quanto?", "combien ?"} {
		assert.Empty(t, heldWith(t, candidates, "Book a desk on Tuesday", said)[1], said)
	}
	assert.Equal(t, "tell-price {}", heldWith(t, candidates, "how much is lunch?")[0])
}

func TestAPastIsNoWishWithoutItsUmlaut(t *testing.T) {
	t.Parallel()
	const desk = `{"name":"tisch","description":"Einen Schreibtisch buchen","schema":[{"parameter":"tag","type":"string","format":"date","required":true}],"examples":["Ich hätte gern einen Schreibtisch","Verschieb meinen Schreibtisch auf [Montag](tag)"]}`
	candidates := matchertest.InScope(t, matchertest.Scope, "r", desk)
	dialogues(t, candidates, `
Ich hatte gestern einen Schreibtisch = 
Ich hatte gern einen Schreibtisch am Montag = tisch {"tag":"2026-11-23"}
Ich hätte gerne am Montag einen Schreibtisch = tisch {"tag":"2026-11-23"}`)
}

func TestAParticleTellsTheOtherAct(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "r",
		`{"name":"tor-oeffnen","description":"Ein Tor öffnen","schema":[{"parameter":"tor","type":"string","required":true,"allowedValues":["Nord","Süd"]}],"examples":["Öffne das Tor [Nord](tor)","Mach das Tor [Süd](tor) auf"]}`,
		`{"name":"tor-schliessen","description":"Ein Tor schließen","schema":[{"parameter":"tor","type":"string","required":true,"allowedValues":["Nord","Süd"]}],"examples":["Schließ das Tor [Nord](tor)","Mach das Tor [Süd](tor) zu"]}`)
	dialogues(t, candidates, `
Mach das Tor Nord auf > mach es bitte zu = tor-schliessen {"tor":"Nord"}
Mach das Tor Nord zu > mach es wieder auf bitte = tor-oeffnen {"tor":"Nord"}
Mach das Tor Nord auf > es ist zu = 
Mach das Tor Nord auf > das ist zu laut = `)
}
