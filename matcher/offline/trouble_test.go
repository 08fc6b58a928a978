package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATroubleIsWhatAnExampleSaysOfAThing(t *testing.T) {
	t.Parallel()
	luggage := `{"name":"lost-luggage","description":"Search for lost luggage","examples":["My suitcase did not arrive","I lost my luggage","My bag is missing","Mein Koffer ist weg"]}`
	fault := `{"name":"report-fault","description":"Report something broken","schema":[{"parameter":"what","type":"string","required":true}],
		"examples":["[The shower](what) is broken","There is a problem with [the heating](what)","My [TV](what) does not work","[La impresora](what) no funciona","[L'imprimante](what) est en panne"]}`
	for said, want := range map[string]string{
		"My suitcase arrived":                  "",
		"My suitcase did arrive":               "",
		"My bag has not arrived":               "lost-luggage {}",
		"I found my luggage":                   "",
		"I didn't lose my luggage":             "",
		"I have lost my suitcase":              "lost-luggage {}",
		"I have my luggage with me":            "",
		"My bag is here":                       "",
		"My suitcase is red":                   "",
		"My suitcase is missing":               "lost-luggage {}",
		"My bag is missing, I don't know why":  "lost-luggage {}",
		"Mein Koffer ist wieder da":            "",
		"My TV works":                          "",
		"The shower works fine":                "",
		"The shower is fixed":                  "",
		"There is no problem with the heating": "",
		"There is a problem with the heating":  `report-fault {"what":"the heating"}`,
		"My radio does not work":               `report-fault {"what":"radio"}`,
		"La impresora funciona":                "",
		"La pantalla no funciona":              `report-fault {"what":"La pantalla"}`,
		"L'imprimante n'est plus en panne":     "",
	} {
		require.Equal(t, want, matched(t, said, luggage, fault), said)
	}
}

func TestWhatIsNearlySureOrPoliteIsMeant(t *testing.T) {
	t.Parallel()
	const luggage = `{"name":"lost-luggage","description":"Search for lost luggage","examples":["I lost my luggage","Mein Koffer ist kaputt","Ma valise est cassée"]}`
	const drop = `{"name":"cancel-appointment","description":"Cancel an appointment","examples":["I need to cancel my appointment","Ich muss meinen Termin absagen"]}`
	const light = `{"name":"light-off","description":"Turn off the light","examples":["Turn off the light","Mach das Licht aus"]}`
	for said, want := range map[string]string{
		"I probably lost my luggage":               "lost-luggage {}",
		"Mein Koffer ist wahrscheinlich kaputt":    "lost-luggage {}",
		"Ma valise est probablement cassée":        "lost-luggage {}",
		"perhaps I lost my luggage":                "",
		"I probably need to cancel my appointment": "",
		"Ich müsste meinen Termin absagen":         "cancel-appointment {}",
		"Ich muesste den Termin leider absagen":    "cancel-appointment {}",
		"Ich musste meinen Termin absagen":         "",
		"Ich könnte meinen Termin absagen":         "",
		"Leute macht das Licht aus":                "light-off {}",
		"Kinder macht bitte das Licht aus":         "light-off {}",
		"Mama macht das Licht aus":                 "",
		"Papa macht das Licht aus":                 "",
		"Die Kinder machen das Licht aus":          "",
	} {
		require.Equal(t, want, matched(t, said, luggage, drop, light), said)
	}
}

func TestTroubleWithSomethingElseIsNotTheToolsMatter(t *testing.T) {
	t.Parallel()
	const card = `{"name":"block-card","description":"Block a card","examples":["Block my card","I lost my card","Ich habe meine Karte verloren","J'ai perdu ma carte","He perdido mi tarjeta","Ho perso la mia carta"]}`
	for said, want := range map[string]string{
		"I lost my job": "", "I lost my mother": "", "Ich habe meinen Job verloren": "", "J'ai perdu mon emploi": "", "He perdido mi trabajo": "", "Ho perso il mio lavoro": "",
		"I lost my card": "block-card {}", "I lost my bank card": "block-card {}", "I lost my card yesterday": "block-card {}", "Ich habe meine Karte verloren": "block-card {}",
		"J'ai perdu ma carte bancaire": "block-card {}", "He perdido mi tarjeta": "block-card {}", "Ho perso la mia carta": "block-card {}",
	} {
		require.Equal(t, want, matched(t, said, card), said)
	}
	const fault = `{"name":"report-fault","description":"Report something broken","schema":[{"parameter":"what","type":"string","required":true}],"examples":["[The shower](what) is broken","[Die Heizung](what) ist kaputt"]}`
	require.NotEmpty(t, matched(t, "Die Dusche ist kaputt, vermutlich verstopft", fault), "a thing may be its value")
}
