package offline_test

import (
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
