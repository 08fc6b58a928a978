package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// In a conversation an answer is for what was asked, unless its words tell otherwise.

func TestABareNumberIsTheHourThatWasAskedFor(t *testing.T) {
	t.Parallel()
	talks(t, `
dinner: Book a table for two tomorrow > 8 > pm = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Book a table for two tomorrow > 8 please > in the evening = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Book a table for two tomorrow > 20 = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Reserviere einen Tisch für zwei morgen > 8 > abends = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Réserve une table pour deux demain > 8 > du soir = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Prenota un tavolo per due domani > 8 > di sera = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Book a table tomorrow at 8 pm > 4 = {"day":"2026-11-21","people":4,"time":"20:00"}
dinner: Book a table for two tomorrow > 8 people > 8 pm = {"day":"2026-11-21","people":8,"time":"20:00"}
wake: I'd like a wake-up call > 7 > in the morning > 204 = {"room":204,"time":"07:00"}
wake: I'd like a wake-up call > 204 > 7 am = {"room":204,"time":"07:00"}`)
}

func TestAnAnswerThatNamesItsParameterIsOfThat(t *testing.T) {
	t.Parallel()
	talks(t, `
pump: Set pump 2 > pump 3 = 
pump: Set pump 2 > pump 3 > 60 = {"pump":3,"speed":60}
pump: Stell Pumpe 2 > Pumpe 3 > 60 = {"pump":3,"speed":60}
pump: Set pump 2 > 60 = {"pump":2,"speed":60}
pump: Set pump 2 > speed 60 = {"pump":2,"speed":60}
stay: Book a room > 2 guests > Monday = {"arrival":"2026-11-23","guests":2}
stay: Book a room > we are two > Monday = {"arrival":"2026-11-23","guests":2}
stay: Buche ein Zimmer > wir sind zwei > Montag = {"arrival":"2026-11-23","guests":2}
stay: Book a room > 3 nights > Monday = {"arrival":"2026-11-23"}
stay: Buche ein Zimmer > 3 Nächte > Montag = {"arrival":"2026-11-23"}
return: I want to return an order > number 4711, broken = {"order_id":4711,"reason":"broken"}
return: Ich möchte eine Bestellung zurückgeben > Nummer 4711, kaputt = {"order_id":4711,"reason":"broken"}
return: Je veux retourner une commande > numéro 4711, cassé = {"order_id":4711,"reason":"broken"}
return: Quiero devolver un pedido > número 4711, roto = {"order_id":4711,"reason":"broken"}
return: Voglio restituire un ordine > numero 4711, rotto = {"order_id":4711,"reason":"broken"}
return: I want to return an order > the number of people is 4711 = 
dinner: Réserve une table > pour quatre personnes samedi > 20 h = {"day":"2026-11-21","people":4,"time":"20:00"}
dinner: Reserva una mesa > para cuatro personas el sábado > 20:00 = {"day":"2026-11-21","people":4,"time":"20:00"}
dinner: Prenota un tavolo > per quattro persone sabato > 20:00 = {"day":"2026-11-21","people":4,"time":"20:00"}`)
}

func TestAnAnswerOutOfBoundsIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"25", "twenty-five", "we are 25"} {
		outcome := last(t, asking["dinner"], "Book a table tomorrow at 8 pm", said)
		if outcome != "book-table misses [people] For how many?" {
			t.Errorf("%s: %s", said, outcome)
		}
	}
	talks(t, `dinner: Book a table tomorrow at 8 pm > 25 > 20 = {"day":"2026-11-21","people":20,"time":"20:00"}`)
}

func TestASoundOfHesitationThatIsANameIsOneWithACapital(t *testing.T) {
	t.Parallel()
	talks(t, `
money: Send 50 euros > Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > to Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > to Anna, no, to Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > an Anna, nein, an Ben = {"amount":50,"recipient":"Ben"}
money: Send 50 euros > Ben, à Paul = {"amount":50,"recipient":"Paul"}
money: Send 50 euros > ben = `)
}

func TestToForbidTheActDropsTheCall(t *testing.T) {
	t.Parallel()
	talks(t, `
order: Cancel an order > no don't cancel it > B-12345 = 
order: Cancel an order > please don't cancel anything > B-12345 = 
order: Storniere eine Bestellung > bitte nicht stornieren > B-12345 = 
order: Storniere eine Bestellung > nein, bitte nichts stornieren > B-12345 = 
order: Annule une commande > n'annule pas > B-12345 = 
order: Annule une commande > non, n'annule rien > B-12345 = 
order: Cancela un pedido > no, no lo canceles > B-12345 = 
order: Cancela un pedido > no canceles nada > B-12345 = 
order: Annulla un ordine > no, non annullare > B-12345 = 
order: Annulla un ordine > non annullare niente > B-12345 = 
order: Cancel an order > nothing, thanks > B-12345 = 
order: Storniere eine Bestellung > nichts, danke > B-12345 = 
order: Annule une commande > rien, merci > B-12345 = 
order: Cancela un pedido > nada, gracias > B-12345 = 
order: Annulla un ordine > anzi no > B-12345 = 
order: Cancel an order > I can't find the number > B-12345 = {"number":"B-12345"}
order: Cancel an order > don't forget to cancel it > B-12345 = {"number":"B-12345"}
order: Storniere eine Bestellung > ich weiß die Nummer nicht > B-12345 = {"number":"B-12345"}`)
}

func TestWhatIsToldOfHereAndNowIsNoAnswer(t *testing.T) {
	t.Parallel()
	talks(t, `
heating: Set the heating > it is 15 degrees in here = 
heating: Set the heating > it's only 15 degrees here = 
heating: Stell die Heizung > es hat hier 15 Grad = 
heating: Stell die Heizung > hier sind es 15 Grad = 
heating: Mets le chauffage > il fait 15 degrés ici = 
heating: Pon la calefacción > aquí hace 15 grados = 
heating: Metti il riscaldamento > qui ci sono 15 gradi = 
heating: Set the heating > 15 degrees = {"degrees":15}
heating: Set the heating > 15 degrees now = {"degrees":15}
pump: Set pump 2 > pump 2 is at 60 percent now = 
pump: Set pump 2 > 60 percent now please = {"pump":2,"speed":60}
dinner: Book a table tomorrow at 8 pm > we are 4 now = {"day":"2026-11-21","people":4,"time":"20:00"}
door: Unlock the door > no one is at the front door = 
door: Unlock the door > nobody is at the front door = 
door: Unlock the door > no, the front door = {"door":"front door"}
train: Book a train from Berlin > I come back on Sunday = 
flight: Book a flight > I come back on Monday = 
flight: Book a flight > I'll be back on Monday = 
flight: Book a flight > on Monday = {"date":"2026-11-23"}
flight: Buche einen Flug > ich komme am Montag zurück = 
flight: Buche einen Flug > ich komme am Montag = {"date":"2026-11-23"}`)
}

func TestAMistakeIsNoName(t *testing.T) {
	t.Parallel()
	talks(t, `
money: Send 50 euros > sorry, wrong button = 
money: Send 50 euros > Entschuldigung, falsche Taste = 
money: Send 50 euros > pardon, mauvais bouton = 
money: Send 50 euros > perdón, botón equivocado = 
money: Send 50 euros > scusa, tasto sbagliato = 
money: Send 50 euros > sorry, Wright Button = {"amount":50,"recipient":"Wright Button"}`)
}

func TestACorrectionReplacesTheNameThatIsKnown(t *testing.T) {
	t.Parallel()
	talks(t, `
money: Send money to Tom > I meant Carl > 50 = {"amount":50,"recipient":"Carl"}
money: Send money to Tom > sorry, Carl > 50 = {"amount":50,"recipient":"Carl"}
money: Send money to Tom > ich meinte Karl > 50 = {"amount":50,"recipient":"Karl"}
money: Send money to Tom > je voulais dire Paul > 50 = {"amount":50,"recipient":"Paul"}
money: Send money to Tom > quería decir Luis > 50 = {"amount":50,"recipient":"Luis"}
money: Send money to Tom > intendevo Marco > 50 = {"amount":50,"recipient":"Marco"}
money: Send 50 euros to Tom > no, a Marta = {"amount":50,"recipient":"Marta"}
train: Book a train to Berlin > not Berlin, Paris > from Hamburg = {"from":"Hamburg","to":"Paris"}
train: Book a train to Berlin > nicht Berlin, Paris > von Hamburg = {"from":"Hamburg","to":"Paris"}
train: Book a train to Berlin > actually Paris = `)
	candidates := matchertest.InScope(t, matchertest.Scope, "trips", asking["train"],
		`{"name":"weather","description":"Tell the weather in a city","schema":[{"parameter":"city","type":"string","required":true}],"examples":["What is the weather in [Paris](city)?","How is it in [Rome](city)?"]}`)
	for _, said := range []string{"actually Paris", "Paris, sorry", "nein, Paris", "no, Paris"} {
		outcomes := heldWith(t, candidates, "Book a train to Berlin", said)
		assert.NotContains(t, outcomes[1], "weather", said)
	}
	assert.Equal(t, `weather {"city":"Paris"}`, heldWith(t, candidates, "Book a train to Berlin", "What is the weather in Paris?")[1])
}

func TestAQuestionInBetweenLeavesTheCallOpen(t *testing.T) {
	t.Parallel()
	const hours = `{"name":"opening-hours","description":"Tell when the restaurant is open","examples":["When are you open?","Wann habt ihr geöffnet?","Quand êtes-vous ouverts ?","¿Cuándo abrís?","Quando siete aperti?"]}`
	const food = `{"name":"order-food","description":"Order food for delivery","schema":[{"parameter":"dish","type":"string","required":true}],"examples":["Order [pizza](dish)"]}`
	candidates := matchertest.InScope(t, matchertest.Scope, "inn", asking["dinner"], hours, food)
	const booked = `book-table {"day":"2026-11-21","people":2,"time":"20:00"}`
	for _, one := range []struct{ begun, between, said, want string }{
		{"Book a table for two tomorrow", "When are you open?", "ok, at 8 pm then", booked},
		{"Reserviere einen Tisch für zwei morgen", "Wann habt ihr geöffnet?", "dann um 20 Uhr", booked},
		{"Réserve une table pour deux demain", "Quand êtes-vous ouverts ?", "alors à 20 h", booked},
		{"Reserva una mesa para dos mañana", "¿Cuándo abrís?", "entonces a las 20:00", booked},
		{"Prenota un tavolo per due domani", "Quando siete aperti?", "allora alle 20", booked},
		{"Book a table for two tomorrow", "Order pizza", "at 8 pm", ""},
	} {
		outcomes := heldWith(t, candidates, one.begun, one.between, one.said)
		assert.Equal(t, one.want, outcomes[2], one.said)
	}
}

func TestAnAnswerIsTheNameAndNotWhatIsAroundIt(t *testing.T) {
	t.Parallel()
	talks(t, `
money: Send 50 euros > d'accord, à Paul = {"amount":50,"recipient":"Paul"}
money: Send 50 euros > vale, a Marta = {"amount":50,"recipient":"Marta"}
money: Send 50 euros > va bene, a Marta = {"amount":50,"recipient":"Marta"}
money: Send 50 euros > all right, to Carl = {"amount":50,"recipient":"Carl"}
money: Send 50 euros > in Ordnung, an Karl = {"amount":50,"recipient":"Karl"}
money: I want to send money > to Carl > 50 = {"amount":50,"recipient":"Carl"}
money: I want to send money > 50 = 
guest: Cancel the table > on the name of Miller = {"name":"Miller"}
guest: Cancel the table > auf den Namen Müller = {"name":"Müller"}
guest: Cancel the table > au nom de Dupont = {"name":"Dupont"}
guest: Cancel the table > a nombre de García = {"name":"García"}
guest: Cancel the table > a nome Rossi = {"name":"Rossi"}
guest: Cancel the table > Miller = {"name":"Miller"}
taxi: Call me a taxi > the airport > 8 pm = {"address":"the airport","time":"20:00"}
taxi: Call me a taxi > Hilton Hotel please > 8 pm = {"address":"Hilton Hotel","time":"20:00"}
taxi: Call me a taxi > Hauptstraße 12 > 20 Uhr = {"address":"Hauptstraße 12","time":"20:00"}
taxi: Call me a taxi > 12 rue de la Paix > 20 h = {"address":"12 rue de la Paix","time":"20:00"}
taxi: Call me a taxi > Calle Mayor 12 > 20:00 = {"address":"Calle Mayor 12","time":"20:00"}
taxi: Call me a taxi > Via Roma 12 > alle 20:00 = {"address":"Via Roma 12","time":"20:00"}
taxi: Call me a taxi > the taxi is late > 8 pm = 
money: Send 50 euros > my mother = 
milk: alexa put milk on the list = {"item":"milk"}`)
}

func TestADayAndATimeOfDayAreAskedForOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"on Monday", "at 3 pm"} {
		assert.Equal(t, "visit misses [when]", last(t, asking["visit"], "I want an appointment", said), said)
	}
	talks(t, `
visit: I want an appointment > tomorrow > 3 pm = {"when":"2026-11-21T15:00:00Z"}
visit: I want an appointment > at 3 pm > tomorrow = {"when":"2026-11-21T15:00:00Z"}
visit: I want an appointment > in two hours = {"when":"2026-11-20T11:30:00Z"}
visit: I want an appointment > in zwei Stunden = {"when":"2026-11-20T11:30:00Z"}
visit: I want an appointment > dans deux heures = {"when":"2026-11-20T11:30:00Z"}
visit: I want an appointment > en dos horas = {"when":"2026-11-20T11:30:00Z"}
visit: I want an appointment > tra due ore = {"when":"2026-11-20T11:30:00Z"}
visit: I want an appointment > back in two hours = 
visit: I want an appointment > in two or three hours = 
visit: I want an appointment > for two hours = `)
}

func TestWhoCountsThemselvesAnswers(t *testing.T) {
	t.Parallel()
	talks(t, `
dinner: Réserve une table demain à 20 h > nous sommes trois = {"day":"2026-11-21","people":3,"time":"20:00"}
dinner: Réserve une table demain à 20 h > nous serons cinq = {"day":"2026-11-21","people":5,"time":"20:00"}
dinner: Reserva una mesa mañana a las 20:00 > somos tres = {"day":"2026-11-21","people":3,"time":"20:00"}
dinner: Reserva una mesa mañana a las 20:00 > seremos cinco = {"day":"2026-11-21","people":5,"time":"20:00"}
dinner: Prenota un tavolo domani alle 20 > siamo in tre = {"day":"2026-11-21","people":3,"time":"20:00"}
dinner: Prenota un tavolo domani alle 20 > saremo in cinque = {"day":"2026-11-21","people":5,"time":"20:00"}
dinner: Reserva una mesa mañana a las 20:00 > tengo tres hijos = `)
}

func TestItIsWhatTheCodeOfTheLastCallNames(t *testing.T) {
	t.Parallel()
	const status = `{"name":"order-status","description":"Tell where an order is","schema":[{"parameter":"order_id","type":"integer","required":true}],"examples":["Where is order [4711](order_id)?"]}`
	const stop = `{"name":"cancel-order","description":"Cancel an order","schema":[{"parameter":"order_id","type":"integer","required":true}],"examples":["Cancel order [4711](order_id)"]}`
	candidates := matchertest.InScope(t, matchertest.Scope, "shop", status, stop)
	assert.Equal(t, `cancel-order {"order_id":4711}`, heldWith(t, candidates, "Where is order 4711?", "cancel it")[1])
	assert.Equal(t, "cancel-order misses [order_id]", heldWith(t, candidates, "Where is order 4711?", "cancel an order")[1])
}

func TestACallIsGivenUpBySoundsAndBeforeMore(t *testing.T) {
	t.Parallel()
	talks(t, `
dinner: Book a table for two tomorrow > uh, forget it, I have to ask my husband about that first > 8 pm = 
dinner: Book a table for two tomorrow > hm, scratch that, 8 pm = {"day":"2026-11-21","people":2,"time":"20:00"}
dinner: Reserviere einen Tisch für zwei morgen > na, vergessen Sie es > 20 Uhr = 
dinner: Reserviere einen Tisch für zwei morgen > halt, doch nicht > 20 Uhr = 
dinner: Réserve une table pour deux demain > euh, laissez tomber, on reste à la maison ce soir en famille > 20 h = `)
}

func TestAnAnswerHasOtherValuesBesideTheName(t *testing.T) {
	t.Parallel()
	refill := `{"name":"refill","description":"Order a cartridge","schema":[{"parameter":"ink","type":"string","description":"name of the ink","required":true},{"parameter":"boxes","type":"integer","description":"how many boxes"}],"examples":["I need a cartridge of [magenta](ink)","Ich brauche eine Kartusche [Magenta](ink)"]}`
	for said, want := range map[string]string{
		"cyan":                  `refill {"ink":"cyan"}`,
		"cyan, three boxes":     `refill {"boxes":3,"ink":"cyan"}`,
		"deep cyan for 3 boxes": `refill {"boxes":3,"ink":"deep cyan"}`,
		"cyan 500":              `refill {"ink":"cyan 500"}`,
	} {
		assert.Equal(t, want, last(t, refill, "I need a cartridge", said), said)
	}
}

func TestADayAfterTheNameOfAPlaceIsOfNoSide(t *testing.T) {
	t.Parallel()
	const ferry = `{"name":"book-ferry","description":"Book a ferry","schema":[{"parameter":"from","type":"string","description":"port","required":true},{"parameter":"to","type":"string","description":"port","required":true},{"parameter":"outbound","type":"string","format":"date","required":true},{"parameter":"return","type":"string","format":"date"}],"examples":["Book a ferry from [Dover](from) to [Calais](to) on [Monday](outbound)"]}`
	for said, want := range map[string]string{
		"Book a ferry from Kiel to Oslo on Sunday":                       `book-ferry {"from":"Kiel","outbound":"2026-11-22","to":"Oslo"}`,
		"Book a ferry from Kiel to Oslo on Sunday, returning on Tuesday": `book-ferry {"from":"Kiel","outbound":"2026-11-22","return":"2026-11-24","to":"Oslo"}`,
	} {
		assert.Equal(t, want, matched(t, said, ferry), said)
	}
	assert.Equal(t, "book-ferry misses [outbound]", matched(t, "Book a ferry from Kiel to Oslo between Sunday and Tuesday", ferry))
}

func TestANameHasAllItsParticles(t *testing.T) {
	t.Parallel()
	const pays = `{"name":"zahlen","description":"Geld zahlen","schema":[{"parameter":"betrag","type":"number","unit":"EUR","required":true},{"parameter":"an","type":"string","description":"Empfänger","required":true}],"examples":["Zahle [20](betrag) Euro an [Eva](an)"]}`
	for said, want := range map[string]string{
		"Zahle 30 Euro an Ida van der Velden": `zahlen {"an":"Ida van der Velden","betrag":30}`,
		"Zahle 30 Euro an Ida zu Castell":     `zahlen {"an":"Ida zu Castell","betrag":30}`,
	} {
		assert.Equal(t, want, matched(t, said, pays), said)
	}
}

func TestAnAnswerIsAPlaceWithItsArticle(t *testing.T) {
	t.Parallel()
	for tool, talk := range map[string][]string{
		`{"name":"pide-coche","description":"Pide un coche","schema":[{"parameter":"destino","type":"string","required":true}],"examples":["Quiero un coche al [puerto](destino)"]}`:             {"Quiero un coche", "a la plaza de España", `pide-coche {"destino":"la plaza de España"}`},
		`{"name":"bestell-wagen","description":"Bestelle einen Wagen","schema":[{"parameter":"ziel","type":"string","required":true}],"examples":["Ich brauche einen Wagen zum [Hafen](ziel)"]}`: {"Ich brauche einen Wagen", "das alte Rathaus", `bestell-wagen {"ziel":"das alte Rathaus"}`},
		`{"name":"commande-taxi","description":"Commande un taxi","schema":[{"parameter":"destination","type":"string","required":true}],"examples":["Je veux un taxi au [port](destination)"]}`: {"Je veux un taxi", "au théâtre", `commande-taxi {"destination":"théâtre"}`},
	} {
		assert.Equal(t, talk[2], last(t, tool, talk[:2]...), talk)
	}
}

func TestWhatIsDeniedIsNotLost(t *testing.T) {
	t.Parallel()
	const camp = `{"name":"book-pitch","description":"Book a pitch for a tent","schema":[{"parameter":"day","type":"string","format":"date","required":true},{"parameter":"power","type":"boolean","description":"with power"},{"parameter":"days","type":"integer","required":true}],"examples":["Book a pitch for [two](days) days from [Friday](day)"]}`
	for said, want := range map[string]string{
		"Book a pitch for three days from Sunday, without power": `book-pitch {"day":"2026-11-22","days":3,"power":false}`,
		"Book a pitch for three days from Sunday, no power":      `book-pitch {"day":"2026-11-22","days":3,"power":false}`,
		"Book a pitch for three days from Sunday, with power":    `book-pitch {"day":"2026-11-22","days":3,"power":true}`,
		"Book a pitch for three days from Sunday":                `book-pitch {"day":"2026-11-22","days":3}`,
	} {
		assert.Equal(t, want, matched(t, said, camp), said)
	}
}

func TestAnActThatExamplesMarkIsReadUpToItsTime(t *testing.T) {
	t.Parallel()
	const nudge = `{"name":"nudge","description":"Set a nudge","schema":[{"parameter":"what","type":"string","required":true},{"parameter":"at","type":"string","format":"date-time","required":true}],"examples":["Nudge me to [buy stamps](what) [tomorrow at 6 pm](at)"]}`
	for said, want := range map[string]string{
		"Nudge me to lock the gate on Sunday at 9 pm":       `nudge {"at":"2026-11-22T21:00:00Z","what":"lock the gate"}`,
		"Nudge me to bring the bins home tomorrow at 7 pm":  `nudge {"at":"2026-11-21T19:00:00Z","what":"bring the bins home"}`,
		"Nudge me to write to the landlord of the old flat": `nudge misses [at]`,
	} {
		assert.Equal(t, want, matched(t, said, nudge), said)
	}
}

func TestWordsOfAnotherLanguageAreValues(t *testing.T) {
	t.Parallel()
	const wear = `{"name":"reserve-gear","description":"Reserve gear","schema":[{"parameter":"gear","type":"string","required":true,"allowedValues":["helmet","gloves"],"aliases":{"helmet":["hat"],"gloves":["mes"]}}],"examples":["Reserve a [helmet](gear)"]}`
	assert.Equal(t, `reserve-gear {"gear":"helmet"}`, matched(t, "Please reserve a hat for me", wear))
	assert.Equal(t, "reserve-gear misses [gear]", matched(t, "Reserve gear, Anna hat keins", wear))
}

func TestWhoCannotMakeItDeniesNoAct(t *testing.T) {
	t.Parallel()
	const lesson = `{"name":"cancel-lesson","description":"Cancel a tennis lesson","examples":["I can't make it","Cancel my lesson"]}`
	for said, want := range map[string]string{
		"I cannot make it tomorrow, please cancel it":   "cancel-lesson {}",
		"sorry, I can't make it, cancel the lesson":     "cancel-lesson {}",
		"I can make it after all, don't cancel it":      "",
		"I can't make it, but please do not cancel yet": "",
		"I can't cancel it":                             "",
	} {
		assert.Equal(t, want, matched(t, said, lesson), said)
	}
}

const (
	mute   = `{"name":"mute-line","description":"Mute a line","schema":[{"parameter":"line","type":"string","required":true,"allowedValues":["office line","home line"]}],"examples":["Mute my [home line](line)","Schalte den [home line](line) stumm"]}`
	unmute = `{"name":"unmute-line","description":"Unmute a line","schema":[{"parameter":"line","type":"string","required":true,"allowedValues":["office line","home line"]}],"examples":["Unmute my [home line](line)"]}`
	bus    = `{"name":"book-bus","description":"Book a bus","schema":[{"parameter":"from","type":"string","required":true},{"parameter":"to","type":"string","required":true},{"parameter":"departure","type":"string","format":"date","required":true},{"parameter":"return","type":"string","format":"date"}],"examples":["Book a bus from [Bonn](from) to [Ulm](to) on [Monday](departure)"]}`
	pay    = `{"name":"zahlen","description":"Geld zahlen","schema":[{"parameter":"betrag","type":"number","unit":"EUR","required":true},{"parameter":"an","type":"string","description":"Empfänger","required":true}],"examples":["Zahle [20](betrag) Euro an [Eva](an)"]}`
	call   = `{"name":"call-me","description":"Order a call","schema":[{"parameter":"time","type":"string","format":"time","required":true}],"examples":["Call me at [7 am](time)"]}`
)

func TestWhatIsDoneIsCorrectedAndUndone(t *testing.T) {
	t.Parallel()
	for _, talk := range []struct {
		want  string
		said  []string
		tools []string
	}{
		{`unmute-line {"line":"office line"}`, []string{"Mute my office line", "I am free again, please unmute it"}, []string{mute, unmute}},
		{"", []string{"Mute my office line", "they are free again, he unmuted it"}, []string{mute, unmute}},
		{`book-bus {"departure":"2026-11-22","from":"Kiel","return":"2026-11-24","to":"Jena"}`, []string{"Book a bus from Kiel to Jena on Sunday", "and back on Tuesday"}, []string{bus}},
		{`book-bus {"departure":"2026-11-22","from":"Köln","to":"Jena"}`, []string{"Book a bus from Kiel to Jena on Sunday", "I meant Köln, not Kiel"}, []string{bus}},
		{`zahlen {"an":"Ida","betrag":45}`, []string{"Zahle 30 Euro an Ida", "mach 45 daraus"}, []string{pay}},
		{`zahlen {"an":"Zoë","betrag":30}`, []string{"Zahle 30 Euro an Zoë"}, []string{pay}},
		{`zahlen {"an":"Noé","betrag":30}`, []string{"Zahle 30 Euro an Noé"}, []string{pay}},
		{"call-me misses [time] at 9: 09:00 or 21:00?", []string{"Call me at 6 am", "no, at 9"}, []string{call}},
		{`call-me {"time":"09:00"}`, []string{"Call me at 6 am", "no, at 9 am"}, []string{call}},
	} {
		outcomes := heldWith(t, matchertest.InScope(t, matchertest.Scope, "r", talk.tools...), talk.said...)
		assert.Equal(t, talk.want, outcomes[len(outcomes)-1], talk.said)
	}
}

func TestAnEstimateIsNoLimitEither(t *testing.T) {
	t.Parallel()
	const budget = `{"name":"set-budget","description":"Set the budget","schema":[{"parameter":"budget","type":"number","unit":"EUR","required":true}],"examples":["Set the budget to [90 euros](budget)","Setz das Budget auf [90 Euro](budget)"]}`
	for said, want := range map[string]string{
		"Set the budget to up to 70 euros":     `set-budget {"budget":70}`,
		"Set the budget to roughly 70 euros":   "set-budget misses [budget]",
		"Set the budget to 70 euros or so":     "set-budget misses [budget]",
		"Setz das Budget auf ungefähr 70 Euro": "set-budget misses [budget]",
		"Setz das Budget auf 70 Euro":          `set-budget {"budget":70}`,
	} {
		assert.Equal(t, want, matched(t, said, budget), said)
	}
}

func TestAQuestionThatIsAnsweredLeavesTheCallOpen(t *testing.T) {
	t.Parallel()
	const hours = `{"name":"opening-hours","description":"Tell when the shop is open","examples":["When are you open?"]}`
	candidates := matchertest.InScope(t, matchertest.Scope, "r", asking["money"], hours)
	for _, aside := range []string{"Hang on, when are you open?", "Sorry, when are you open?"} {
		outcomes := heldWith(t, candidates, "Send 20 euros", aside, "to Tom")
		assert.Equal(t, []string{"send misses [recipient]", "opening-hours {}", `send {"amount":20,"recipient":"Tom"}`}, outcomes, aside)
	}
}
