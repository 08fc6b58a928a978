package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

func TestWhatIsDeniedFarFromItsVerbOrdersNothing(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "denials", append([]string{
		`{"name":"log-weight","description":"Log the body weight","schema":[{"parameter":"weight","type":"number","required":true,"unit":"kg"}],"examples":["I weigh [70 kg](weight)"]}`,
		`{"name":"termin-absagen","description":"Einen Termin absagen","schema":[{"parameter":"tag","type":"string","format":"date"}],
			"examples":["Bitte sagen Sie meinen Termin am [Montag](tag) ab","Ich kann am [Montag](tag) nicht kommen"]}`,
		`{"name":"justificar-falta","description":"Justificar la falta de un alumno","schema":[{"parameter":"alumno","type":"string","required":true,"allowedValues":["Pablo","Lucía"]}],"examples":["Justifica la falta de [Pablo](alumno)"]}`,
	}, stornoScope...)...)
	for _, said := range []string{
		"I don't weigh 70 kg", "I hardly weigh 70 kg", "I used to weigh 70 kg", "Bitte sagen Sie meinen Termin am Montag nicht ab", "Bitte sagen Sie meinen Termin am Montag auf keinen Fall ab",
		"No hace falta justificar la falta de Pablo", "Cancel order B-12345? Over my dead body", "Cancel order B-12345? You must be joking", "¿Cancelar el pedido B-12345? Estás loco",
		"Annuler la commande B-12345 ? Vous plaisantez", "Annullare l'ordine B-12345? Ma scherzi", "I'd like to cancel order B-12345, but I can't", "I want to cancel order B-12345, but not now",
		"I may have to cancel order B-12345", "Say I want to cancel order B-12345", "Fast hätte ich die Bestellung B-12345 storniert", "Pensaba cancelar el pedido B-12345", "Pensavo di annullare l'ordine B-12345",
	} {
		assert.Equal(t, []string{""}, heldWith(t, candidates, said), said)
	}
	for said, want := range map[string]string{
		"I weigh 70 kg and not 75":                        `log-weight {"weight":70}`,
		"Bitte sagen Sie meinen Termin am Montag ab":      `termin-absagen {"tag":"2026-11-23"}`,
		"Ich kann am Montag nicht kommen":                 `termin-absagen {"tag":"2026-11-23"}`,
		"Justifica la falta de Pablo, no pudo venir":      `justificar-falta {"alumno":"Pablo"}`,
		"I want to cancel order B-12345, but not by mail": `cancel-order {"nr":"B-12345"}`,
		"Cancel order B-12345, I can't wait any longer":   `cancel-order {"nr":"B-12345"}`,
		"Quiero cancelar el pedido B-12345, por favor":    `cancelar-pedido {"nr":"B-12345"}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}
