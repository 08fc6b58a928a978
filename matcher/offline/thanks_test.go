package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

func TestThanksAfterAnOrderAreForIt(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "thanks",
		`{"name":"water-plants","description":"Water the plants in a room","schema":[{"parameter":"room","type":"string","required":true,"allowedValues":["hall","study"]}],"examples":["Water the plants in the [hall](room)"]}`,
		`{"name":"order-filter","description":"Order a new filter","examples":["order a filter"]}`,
		`{"name":"close-vent","description":"Close the vent","examples":["close the vent"]}`)
	for said, want := range map[string]string{
		"Water the plants in the study, thanks": `water-plants {"room":"study"}`, "Please close the vent, thank you": "close-vent {}", "Close the vent thanks": "close-vent {}", "order a filter, cheers": "order-filter {}",
		"Filter order received, thanks": "", "Order arrived, thanks": "", "Thanks for closing the vent": "", "Thanks, the vent is closed": "", "Vent closed, thanks": "", "Order perfect, thanks": "", "Thanks for the filter order": "",
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestAQuestionCallsForAToolThatInformsInEveryLanguage(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "informs",
		`{"name":"punkteAnzeigen","description":"Zeigt die gesammelten Punkte"}`, `{"name":"puntos_canjear","description":"Canjea los puntos por un regalo"}`,
		`{"name":"mostrarSaldo","description":"Muestra el saldo de la tarjeta"}`, `{"name":"orario","description":"Mostra l'orario della biblioteca"}`, `{"name":"horaires","description":"Indique les horaires de la piscine"}`)
	for said, want := range map[string]string{
		"Wie viele Punkte habe ich gesammelt?": "punkteAnzeigen {}", "¿Cuál es el saldo de mi tarjeta?": "mostrarSaldo {}", "Qual è l'orario della biblioteca?": "orario {}", "Quels sont les horaires de la piscine ?": "horaires {}",
		"¿Cuándo caducan los puntos del regalo?": "",
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}
