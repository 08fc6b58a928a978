package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// stornoScope are tools of five languages that do what cannot be undone.
var stornoScope = []string{
	`{"name":"cancel-order","description":"Cancel an order","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Cancel order [B-12345](nr)"]}`,
	`{"name":"stornieren","description":"Eine Bestellung stornieren","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Storniere die Bestellung [B-12345](nr)"]}`,
	`{"name":"annuler-commande","description":"Annuler une commande","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Annulez la commande [B-12345](nr)"]}`,
	`{"name":"cancelar-pedido","description":"Cancelar un pedido","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Cancela el pedido [B-12345](nr)"]}`,
	`{"name":"annullare-ordine","description":"Annullare un ordine","schema":[{"parameter":"nr","type":"string","required":true,"allowedValues":["B-[0-9]{5}"]}],"examples":["Annulla l'ordine [B-12345](nr)"]}`,
}

func TestAConditionWithANegationIsACondition(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "storno", stornoScope...)
	for _, said := range []string{
		"If it does not arrive, cancel order B-12345", "In case it doesn't come, cancel order B-12345", "Should it not come, cancel order B-12345", "Cancel order B-12345 if it does not arrive",
		"Cancel order B-12345 only after they confirm", "Cancel order B-12345 after customs approve",
		"Wenn sie nicht kommt, storniere die Bestellung B-12345", "Kommt sie nicht, storniere die Bestellung B-12345", "Sollte sie nicht kommen, storniere die Bestellung B-12345",
		"Storniere die Bestellung B-12345, falls sie nicht kommt", "Si elle n'arrive pas, annulez la commande B-12345", "Annulez la commande B-12345 si elle n'arrive pas",
		"Si no llega, cancela el pedido B-12345", "Cancela el pedido B-12345 a menos que llegue", "Se non arriva, annulla l'ordine B-12345", "A meno che non arrivi, annulla l'ordine B-12345",
	} {
		assert.Equal(t, []string{""}, heldWith(t, candidates, said), said)
	}
	for said, want := range map[string]string{
		"Not B-12345, cancel order B-12346":                     `cancel-order {"nr":"B-12346"}`,
		"If possible, cancel order B-12345":                     `cancel-order {"nr":"B-12345"}`,
		"Storniere bitte, wenn möglich, die Bestellung B-12345": `stornieren {"nr":"B-12345"}`,
		"En cuanto puedas, cancela el pedido B-12345":           `cancelar-pedido {"nr":"B-12345"}`,
		"Se possibile, annulla l'ordine B-12345":                `annullare-ordine {"nr":"B-12345"}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestAProvisoIsACondition(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "storno", stornoScope...)
	for _, said := range []string{
		"Cancel order B-12345 pending approval", "Cancel order B-12345 subject to availability", "Cancel order B-12345 once approved", "Cancel order B-12345 upon confirmation",
		"Cancel order B-12345 after consulting Ben", "Cancel order B-12345 depending on the weather", "Subject to approval, cancel order B-12345",
		"Storniere die Bestellung B-12345 nach Rücksprache", "Storniere die Bestellung B-12345 vorbehaltlich der Freigabe", "Storniere die Bestellung B-12345 je nach Wetter", "Storniere die Bestellung B-12345, sobald bestätigt",
		"Annulez la commande B-12345 sous réserve d'accord", "Annulez la commande B-12345 après validation", "Annulez la commande B-12345 en attente de confirmation", "Annulez la commande B-12345 selon la météo",
		"Cancela el pedido B-12345 previa autorización", "Cancela el pedido B-12345 sujeto a aprobación", "Cancela el pedido B-12345 una vez aprobado", "Cancela el pedido B-12345 según disponibilidad",
		"Annulla l'ordine B-12345 previa approvazione", "Annulla l'ordine B-12345 salvo conferma", "Annulla l'ordine B-12345 a seconda del tempo",
	} {
		assert.Equal(t, []string{""}, heldWith(t, candidates, said), said)
	}
	for tool, said := range map[string]string{
		"now": "pay 50 euros to Anna subject to approval", "de": "Überweise 80 Euro an Lisa nach Freigabe", "fr": "Virez 80 euros à Lisa après accord", "es": "Transfiere 80 euros a Lucía previa autorización",
		"it": "Manda 80 euro a Lucia in attesa di conferma",
	} {
		assert.Empty(t, saidTo(t, tool, said), said)
	}
	for _, note := range []string{"rain is subject to approval", "it rains subject to approval", "it rains very much here"} {
		assert.Equal(t, `add_note {"note":"`+note+`"}`, saidTo(t, "note", "note that "+note))
	}
}

func TestAQuestionForAPossibilityWishesOnlyWithValues(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "storno", stornoScope...)
	for said, want := range map[string]string{
		"Is it possible to cancel an order?": "", "Can one cancel an order?": "", "Ist es möglich, eine Bestellung zu stornieren?": "", "Kann man eine Bestellung stornieren?": "",
		"Est-il possible d'annuler une commande ?": "", "On peut annuler une commande ?": "", "¿Se puede cancelar un pedido?": "", "¿Es posible cancelar un pedido?": "",
		"Si può annullare un ordine?": "", "È possibile annullare un ordine?": "",
		"Is it possible to cancel order B-12345?": `cancel-order {"nr":"B-12345"}`, "Est-il possible d'annuler la commande B-12345 ?": `annuler-commande {"nr":"B-12345"}`,
		"¿Se puede cancelar el pedido B-12345?": `cancelar-pedido {"nr":"B-12345"}`, "Can you cancel an order?": "cancel-order misses [nr]",
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
	house := matchertest.InScope(t, matchertest.Scope, "haus", `{"name":"tuer","description":"Haustür öffnen","examples":["Öffne die Haustür","Abre la puerta","Call a taxi"]}`)
	for said, want := range map[string]string{"Kann man die Haustür öffnen?": "", "¿Se puede abrir la puerta?": "", "Is it possible to call a taxi?": "tuer {}"} {
		assert.Equal(t, []string{want}, heldWith(t, house, said), said)
	}
}

func TestWhatTheSpeakerHadToDoOrPerhapsMustOrdersNothing(t *testing.T) {
	t.Parallel()
	const tools = `{"name":"cancel-appointment","description":"Cancel an appointment at the clinic","examples":["I need to cancel my appointment","Ich muss meinen Termin absagen","Devo annullare il mio appuntamento",
		"Tengo que cancelar mi cita","Je dois annuler mon rendez-vous"]},{"name":"order-taxi","description":"Order a taxi","examples":["I need a taxi","Ruf mir ein Taxi"]},
		{"name":"remind","description":"Remind the user of something","schema":[{"parameter":"what","type":"string","required":true}],"examples":["Remind me that [it rains](what)"]}`
	for want, texts := range map[string]string{
		"": "Ich musste meinen Termin absagen; Ich konnte meinen Termin absagen; Ich muss meinen Termin vielleicht absagen; Gestern musste ich meinen Termin absagen; J'ai dû annuler mon rendez-vous; " +
			"Je devais annuler mon rendez-vous; Je devrais annuler mon rendez-vous; Je dois peut-être annuler mon rendez-vous; Dovevo annullare il mio appuntamento; Devo probabilmente annullare il mio appuntamento; " +
			"Tendría que cancelar mi cita; Debía cancelar mi cita; Tengo que cancelar mi cita quizás; I probably need to cancel my appointment; I may need to cancel my appointment",
		"cancel-appointment {}": "Ich muss leider meinen Termin absagen; Könnten Sie vielleicht meinen Termin absagen?; Je voudrais annuler mon rendez-vous; Vorrei annullare il mio appuntamento; ¿Podría cancelar mi cita?; " +
			"Could you perhaps cancel my appointment?; I have to cancel my appointment; I probably have the flu, cancel my appointment",
		"order-taxi {}":                       "I could use a taxi; I might need a taxi; Ich könnte ein Taxi brauchen; Könnte ich ein Taxi haben",
		`remind {"what":"it probably rains"}`: "Remind me that it probably rains",
	} {
		for _, said := range strings.Split(texts, "; ") {
			assert.Equal(t, want, matched(t, said, tools), said)
		}
	}
}

func TestAQuestionWhetherOrHowOrdersNothing(t *testing.T) {
	t.Parallel()
	const tools = `{"name":"cancel-appointment","description":"Cancel an appointment at the clinic","examples":["I need to cancel my appointment","Ich muss meinen Termin absagen","Devo annullare il mio appuntamento",
		"Tengo que cancelar mi cita","Je dois annuler mon rendez-vous"]},{"name":"block-card","description":"Block a card","examples":["Block my card","I lost my card"]},
		{"name":"cancel-order","description":"Cancel an order","schema":[{"parameter":"order","type":"integer","required":true}],"examples":["Cancel order [4711](order)"]},
		{"name":"return-item","description":"Return a product","schema":[{"parameter":"product","type":"string","required":true}],"examples":["I want to return [the shoes](product)"]},
		{"name":"checkout","description":"Check the guest out","examples":["I want to check out"]},
		{"name":"hours","description":"Tell when the clinic is open","examples":["You are open on Sunday?","When are you open?"]}`
	for want, texts := range map[string]string{
		"": "Order 4711 is late, should I cancel it?; Order 4711 is late. Did you cancel it?; I am ill, do I have to cancel my appointment?; By when do I need to cancel my appointment?; With whom do I need to cancel my appointment?; " +
			"¿Tengo que cancelar mi cita?; Estoy enfermo, ¿tengo que cancelar mi cita?; Devo annullare il mio appuntamento?; Je dois annuler mon rendez-vous ?; Ich muss meinen Termin absagen?; I lost my card?; I lost my card, should I block it?; " +
			"Can I return the shoes?; How do I return the shoes?; Did I return the shoes?; Must I return the shoes?; Does it cost anything to return the shoes?; When do I check out?",
		`return-item {"product":"the shoes"}`: "I want to return the shoes; Please return the shoes; Could you return the shoes?",
		"cancel-appointment {}":               "I am ill, can you cancel my appointment?; Tengo que cancelar mi cita; Devo annullare il mio appuntamento; Could you cancel my appointment?; Ich bin krank, kannst du meinen Termin absagen?",
		"block-card {}":                       "I lost my card, can you block it?; I lost my card, what can I do?; Block my card?; I lost my card",
		`cancel-order {"order":4711}`:         "Cancel order 4711, can you?; Could you cancel order 4711?",
		"hours {}":                            "You are open on Sunday?; When are you open?",
	} {
		for _, said := range strings.Split(texts, "; ") {
			assert.Equal(t, want, matched(t, said, tools), said)
		}
	}
}
