package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheDotOfAShortFormEndsNoSentence(t *testing.T) {
	for said, parted := range map[string]bool{
		"see Dr. Klein": false, "see dr. klein": false, "M. Dupont": false, "vote Sra. Ana": false, "Frau Prof. Weber": false, "room No. 5": false, "Haus Nr. 5": false,
		"No. Stop": true, "I am ill. Klein": true, "at 5 m. Then": true, "say no. Then": true, "a@b.com": false,
	} {
		words := Of(said)
		require.Equal(t, parted, words.Pause(len(words.Words)-1), said)
	}
}

func TestWhatIsRefusedAtTheEndIsTakenBack(t *testing.T) {
	for said, before := range map[string]string{
		"open it? no way": "open it?", "open it - not!": "open it", "open it, no, wait": "open it", "open it - stop": "open it", "Öffne sie - doch nicht": "Öffne sie",
		"abre la puerta, mejor no": "abre la puerta", "ouvre-la? non merci": "ouvre-la?", "apri la porta, anzi no": "apri la porta",
		"mach das Licht an ach vergiss es": "mach das Licht an", "enciende la luz ya no hace falta": "enciende la luz", "ouvre-la laisse tomber": "ouvre-la", "open it never mind": "open it",
		"das Licht geht doch nicht": "", "cancela mi cita": "", "mi cita cancela": "", "call me no": "",
		"the timer, stop": "", "my order, cancel it": "", "no, no": "", "breakfast: no": "", "open it, please": "", "no way": "",
	} {
		require.Equal(t, before, TakenBack(said), said)
	}
}

func TestWhatNearlyHappenedDidNot(t *testing.T) {
	for said, nearly := range map[string]bool{
		"casi pierdo el taxi": true, "mi hijo casi pierde el móvil": true, "ich hätte beinahe mein Handy verloren": true, "ich habe fast mein Handy verloren": true,
		"j'ai presque perdu mon téléphone": true, "ma fille a failli perdre ses clés": true, "ho quasi perso il treno": true, "I almost cancelled it": true, "the dog nearly ate it": true,
		"the tank is almost empty": false, "der Tank ist fast leer": false, "almost 50 euros": false, "wir haben fast kein Papier mehr": false, "casi tres horas": false,
		"call a taxi, fast please": false, "I need a fast taxi": false, "I nearly fell, call a doctor": false, "ich hätte fast den Zug verpasst, ruf ein Taxi": false,
	} {
		require.Equal(t, nearly, Nearly(Of(said)), said)
	}
}

func TestWhatIsDeniedForAnotherThingIsReplaced(t *testing.T) {
	for said, meant := range map[string]string{
		"sperr nicht die Kreditkarte, sondern die Girokarte": "sperr die Girokarte", "open not the north gate but the south gate": "open the south gate", "bloquez non pas ma carte mais mon compte": "bloquez mon compte",
		"abre no la puerta sino la ventana": "abre la ventana", "call a taxi not to the station but to the airport": "call a taxi to the airport",
		"do not open the gate but the door": "", "the gate is not the north one but the south one": "", "schalte nicht das Licht aus, sondern die Heizung": "", "open not the gate but my card is here": "",
		"ich habe nicht die Karte, sondern das Konto gesperrt": "", "not the gate but the door": "", "bestell nicht die Pizza, aber die Rechnung zahle ich": "",
	} {
		if meant == "" {
			meant = said
		}
		rest, forbidden := WithoutForbidden(said)
		require.Equal(t, meant, rest+forbidden, said)
	}
}

func TestADeniedActIsThatOfTheNegation(t *testing.T) {
	for said, denied := range map[string]bool{
		"I do not want to cancel it": true, "never cancel it": true, "there is no need to cancel it": true, "I can not come, cancel it": false, "I can not come please cancel it": false,
		"do not forget to cancel it": false, "why don't you cancel it": false, "ich möchte ihn nicht stornieren": true, "storniere ihn nicht": true,
		"es ist nicht nötig, ihn zu stornieren": true, "ich kann nicht kommen, storniere ihn": false, "vergiss nicht, ihn zu stornieren": false, "no quiero cancelar la cita": true,
		"no puedo ir, cancela la cita": false, "n'annule pas": true, "n'oublie pas d'annuler": false, "je ne veux pas annuler": true, "non voglio annullare": true,
	} {
		words := Of(said)
		require.Equal(t, denied, words.DeniesAct(func(i int) bool { return words.Words[i].Is(UndoingWords) }), said)
	}
}

func TestMoodsOfWhatOrdersNothing(t *testing.T) {
	for said, mood := range map[string]Mood{
		"I want to know how much it is": Question, "ich möchte wissen, ob er kommt": Question, "je voudrais savoir si elle vient": Question, "tell me how to go": Question,
		"quiero saber cuánto cuesta": Question, "do not go": Fragment, "do you go": Question,
		"ya bloqueé la tarjeta": Statement, "Ana me pidió una cita": Statement, "tengo una cita": Statement, "tengo que ir": Wish, "Anna hat mir Geld überwiesen": Statement,
		"Pierre a viré 50 euros": Statement, "Anna ha aperto la porta": Statement, "ho un appuntamento": Statement, "gestern kam er": Statement, "go is what I said": Statement,
		"un café": Fragment,
	} {
		require.Equal(t, mood, Of(said).Mood(), said)
	}
}

func TestQuotedWordsAreThoseBetweenMarks(t *testing.T) {
	for said, outside := range map[string]int{`say "open it" now`: 2, `„öffne es“ heißt das`: 2, "dis « ouvre la » vite": 2, `"open it"`: 0, `a 5" pipe of steel`: 5} {
		left, quoted := Of(said).Unquoted()
		require.Len(t, left, outside, said)
		require.Equal(t, outside == 2, quoted, said)
	}
}
