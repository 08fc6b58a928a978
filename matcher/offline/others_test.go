package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// othersScope are tools that a wish or a statement of the speaker calls for.
var othersScope = []string{
	`{"name":"rent-car","description":"Rent a car","schema":[{"parameter":"category","type":"string","required":true,"allowedValues":["compact","van"]},
		{"parameter":"days","type":"integer","required":true,"unit":"days"}],"examples":["I need a [van](category) for [5 days](days)"]}`,
	`{"name":"log-weight","description":"Log the body weight","schema":[{"parameter":"weight","type":"number","required":true,"unit":"kg"}],"examples":["I weigh [70 kg](weight)"]}`,
	`{"name":"block-card","description":"Block a lost or stolen card","examples":["I lost my card","Block my card"]}`,
	`{"name":"stornieren","description":"Eine Bestellung stornieren","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Storniere die Bestellung [B-12345](nr)"]}`,
	`{"name":"reserver-table","description":"Réserver une table","schema":[{"parameter":"personnes","type":"integer","required":true}],"examples":["Je voudrais réserver une table pour [4](personnes) personnes"]}`,
	`{"name":"prenotare-libro","description":"Prenotare un libro","schema":[{"parameter":"titolo","type":"string","required":true,"allowedValues":["Gomorra"]}],"examples":["Vorrei prenotare [Gomorra](titolo)"]}`,
	`{"name":"cancelar-pedido","description":"Cancelar un pedido","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Cancela el pedido [B-12345](nr)"]}`,
}

func TestWhatSomebodyElseDoesOrWantsOrdersNothing(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "others", othersScope...)
	for _, said := range []string{
		"He needs a van for 5 days", "My friend needs a van for 5 days", "My company needs a van for 5 days", "Nobody needs a van for 5 days", "Tom wants a van for 5 days", "You need a van for 5 days",
		"My wife said I need a van for 5 days", "My friend weighs 70 kg", "My suitcase weighs 70 kg", "He weighs 70 kg", "My wife lost her card last year",
		"Meine Frau möchte die Bestellung B-12345 stornieren", "Er will die Bestellung B-12345 stornieren", "Der Kunde möchte die Bestellung B-12345 stornieren", "Jemand möchte die Bestellung B-12345 stornieren",
		"Ma sœur voudrait réserver une table pour 4 personnes", "Le client veut réserver une table pour 4 personnes", "Paul voudrait réserver une table pour 4 personnes",
		"Tom says block my card", "Anna writes block my card", "Tom suggests to block my card", "The letter claims you should block my card", "Anna schreibt, storniere die Bestellung B-12345", "Er sagt, storniere die Bestellung B-12345",
		"Luis escribe cancela el pedido B-12345", "Luis dice cancela el pedido B-12345",
		"Mia sorella vorrebbe prenotare Gomorra", "Marco vuole prenotare Gomorra", "Mi hermana quiere cancelar el pedido B-12345", "Ella quiere cancelar el pedido B-12345",
	} {
		assert.Equal(t, []string{""}, heldWith(t, candidates, said), said)
	}
}

func TestAnOrderForSomebodyElseIsAnOrder(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "others", othersScope...)
	for want, texts := range map[string]string{
		`rent-car {"category":"van","days":5}`: "I need a van for 5 days for my wife; My wife and I need a van for 5 days; My wife is here, I need a van for 5 days; Rent a van for my friend for 5 days; My car is broken, rent a van for 5 days",
		`block-card {}`:                        "Someone has stolen my card; My card was stolen; I said block my card; Tom is here, block my card",
		`stornieren {"nr":"B-12345"}`:          "Die Bestellung B-12345 möchte ich stornieren; Meine Bestellung B-12345 will ich stornieren; Meine Frau und ich möchten die Bestellung B-12345 stornieren; Meine Frau ist da, storniere bitte die Bestellung B-12345",
		`reserver-table {"personnes":4}`:       "Je voudrais réserver une table pour 4 personnes pour ma sœur; Ma femme et moi voudrions réserver une table pour 4 personnes",
		`prenotare-libro {"titolo":"Gomorra"}`: "Vorrei prenotare Gomorra per mia sorella; Io e mia sorella vorremmo prenotare Gomorra; Prenota Gomorra per Marco",
		`cancelar-pedido {"nr":"B-12345"}`:     "Cancela el pedido B-12345 de mi hermana; Quiero cancelar el pedido B-12345; Mi hermana y yo queremos cancelar el pedido B-12345",
	} {
		for _, said := range strings.Split(texts, "; ") {
			assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
		}
	}
}

func TestAnotherThingThanTheToolsIsNotItsMatter(t *testing.T) {
	t.Parallel()
	light := `{"name":"light-on","description":"Turn on the light in a room","schema":[{"parameter":"room","type":"string","required":true,"allowedValues":["kitchen","office"],"aliases":{"kitchen":["Küche","cuisine"]}}],
		"examples":["Turn on the light in the [kitchen](room)","Mach das Licht in der [Küche](room) an","Allume la lumière de la [cuisine](room)"]}`
	order := `{"name":"cancel-order","description":"Cancel an order","schema":[{"parameter":"order_id","type":"integer","required":true}],"examples":["Cancel order [4711](order_id)"]}`
	for said, want := range map[string]string{
		"Turn on the light in the kitchen":                `light-on {"room":"kitchen"}`,
		"Turn on the big lamp in the kitchen":             `light-on {"room":"kitchen"}`,
		"Turn on the kitchen light":                       `light-on {"room":"kitchen"}`,
		"Mach bitte das Licht in der Küche an":            `light-on {"room":"kitchen"}`,
		"Turn on the oven in the kitchen":                 "",
		"Please turn on the coffee machine in the office": "",
		"Mach das Radio in der Küche an":                  "",
		"Cancel order 4711":                               `cancel-order {"order_id":4711}`,
		"Cancel my last order 4711":                       `cancel-order {"order_id":4711}`,
		"Cancel subscription 4711":                        "",
	} {
		assert.Equal(t, want, matched(t, said, light, order), said)
	}
}

// TestANameThatActsOrdersNothing has names that examples have as values.
func TestANameThatActsOrdersNothing(t *testing.T) {
	t.Parallel()
	const tools = `{"name":"transfer","description":"Transfer money to somebody","schema":[{"parameter":"amount","type":"number","required":true,"unit":"EUR"},{"parameter":"recipient","type":"string","required":true}],
		"examples":["Send [50 euros](amount) to [Anna](recipient)","Überweise [20 Euro](amount) an [Peter](recipient)","Transfiere [100 euros](amount) a [Luis](recipient)","Invia [30 euro](amount) a [Marco](recipient)","Envoie [40 euros](amount) à [Paul](recipient)"]},
		{"name":"light-on","description":"Turn on the light","examples":["Turn on the light","Kitchen light on","Accendi la luce","Allume la lumière","Enciende la luz"]},{"name":"block-card","description":"Block a card","examples":["Block my card"]}`
	for want, texts := range map[string]string{
		"": "Anna sends 50 euros to Tom; Tom sends 50 euros to Anna; Anna always sends 50 euros to Tom; Mr Brown sends Anna 50 euros; Anna and Tom send 50 euros to Peter; anna sends 50 euros to tom; Anna must send 50 euros to Tom; " +
			"Peter überweist 20 Euro an Anna; Peter kann 20 Euro an Anna überweisen; Marco invia 30 euro a Luca; Marco deve inviare 30 euro a Luca; Luis transfiere 100 euros a Marta; Luis va a transferir 100 euros a Marta; " +
			"Paul envoie 40 euros à Marie; On envoie 40 euros à Paul; Tom turns on the light; Marco accende la luce; Mamma accende la luce; Marie allume la lumière; On allume la lumière; Luis enciende la luz; You block my card; " +
			"Anna wants to send 50 euros to Tom; Today Anna sends 50 euros to Tom; In the morning Tom turns on the light; Oggi Marco invia 30 euro a Luca; Marco mi invia 30 euro; Paul m'envoie 40 euros; Luis y Marta transfieren 100 euros a Tom; " +
			"Tom turned on the light; Anna schaltet das Licht an",
		`transfer {"amount":50,"recipient":"Tom"}`:  "Send 50 euros to Tom; Today send 50 euros to Tom; Anna, send 50 euros to Tom; Computer send 50 euros to Tom; Tom send 50 euros to Tom; Anna is here, send 50 euros to Tom; Send 50 euros to Tom, Anna is ill",
		`transfer {"amount":30,"recipient":"Luca"}`: "Invia 30 euro a Luca; Dai invia 30 euro a Luca; Marco, invia 30 euro a Luca; Marco è qui, invia 30 euro a Luca",
		`transfer {"amount":50,"recipient":"Anna"}`: "Anna should get 50 euros",
		"light-on {}":   "Turn on the light; Tom, turn on the light; Alexa turn on the light; Kitchen lights on; Alexa accendi la luce; Marie, allume la lumière; Salut allume la lumière; Oye enciende la luz; Ok Google enciende la luz",
		"block-card {}": "Block my card; Thank you, block my card; Please block my card now",
	} {
		for _, said := range strings.Split(texts, "; ") {
			assert.Equal(t, want, matched(t, said, tools), said)
		}
	}
}

// TestOrdersBesideNamesGoOnFiring has what the rules for somebody else's acts, questions and other things must leave alone.
func TestOrdersBesideNamesGoOnFiring(t *testing.T) {
	t.Parallel()
	const room = `"schema":[{"parameter":"room","type":"string","required":true,"allowedValues":["kitchen","office"],"aliases":{"kitchen":["Küche","cuisine","cocina"]}},{"parameter":"level","type":"integer","unit":"percent"}]`
	const tools = `{"name":"light-on","description":"Turn on the light in a room",` + room + `,"examples":["Turn on the light in the [kitchen](room)","Mach das Licht in der [Küche](room) an","Allume la lumière de la [cuisine](room)","Enciende la luz de la [cocina](room)"]},
		{"name":"return-item","description":"Return a product","schema":[{"parameter":"product","type":"string","required":true}],"examples":["I want to return [the shoes](product)"]},
		{"name":"deliver","description":"Deliver a parcel","schema":[{"parameter":"parcel","type":"integer","required":true},{"parameter":"day","type":"string","format":"date","required":true}],"examples":["Deliver parcel [4711](parcel) by [Friday](day)"]},
		{"name":"come-in","description":"User needs an appointment","schema":[{"parameter":"day","type":"string","required":true,"allowedValues":["Monday","Tuesday"]}],"examples":["I want an appointment","Can I come in on [Monday](day)?"]},
		{"name":"report-fault","description":"Report something broken","schema":[{"parameter":"what","type":"string","required":true}],"examples":["[The shower](what) is broken"]}`
	for said, want := range map[string]string{
		"go ahead and turn on the light in the kitchen":       `light-on {"room":"kitchen"}`,
		"mach mal das licht in der küche an":                  `light-on {"room":"kitchen"}`,
		"Alexa allume la lumière de la cuisine":               `light-on {"room":"kitchen"}`,
		"Siri enciende la luz de la cocina":                   `light-on {"room":"kitchen"}`,
		"Marie allume la lumière de la cuisine s'il te plaît": `light-on {"room":"kitchen"}`,
		"kitchen light 30":                                    `light-on {"level":30,"room":"kitchen"}`,
		"The shoes are too small, I want to return them":      `return-item {"product":"The shoes"}`,
		"can I return the shoes, please?":                     `return-item {"product":"the shoes"}`,
		"Can I come in on Tuesday?":                           `come-in {"day":"Tuesday"}`,
		"Anna comes in on Monday":                             "",
		"Can I return the shoes?":                             "",
		"Deliver parcel 4712 by Monday":                       `deliver {"day":"2026-11-23","parcel":4712}`,
		"The shower in Room 204 is broken":                    `report-fault {"what":"The shower"}`,
	} {
		assert.Equal(t, want, matched(t, said, tools), said)
	}
}
