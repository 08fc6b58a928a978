package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// dependentScope are tools whose acts are said in the infinitive.
var dependentScope = []string{
	`{"name":"cerrarCuenta","description":"Cierra una cuenta","schema":[{"parameter":"cuenta","type":"string","required":true,"allowedValues":["ahorro","nómina"]}],"examples":["Cierra la cuenta de [ahorro](cuenta)","Quiero cerrar mi cuenta de [nómina](cuenta)"]}`,
	`{"name":"pagaBolletta","description":"Paga una bolletta","schema":[{"parameter":"bolletta","type":"string","required":true,"allowedValues":["luce","gas"]}],"examples":["Paga la bolletta del [gas](bolletta)"]}`,
	`{"name":"paketSenden","description":"Sendet ein Paket","schema":[{"parameter":"paket","type":"string","required":true,"allowedValues":["P[0-9]{3}"]}],"examples":["Sende das Paket [P100](paket)"]}`,
	`{"name":"open-gate","description":"Open a gate","schema":[{"parameter":"gate","type":"string","required":true,"allowedValues":["north","south"]}],"examples":["Open the [north](gate) gate"]}`,
	`{"name":"join-class","description":"Sign up for a class","schema":[{"parameter":"class","type":"string","required":true,"allowedValues":["yoga","pilates"]}],"examples":["sign me up for [yoga](class)","apúntame a [yoga](class)"]}`,
	`{"name":"breakfast","description":"Order breakfast to the room","examples":["bring me breakfast to the room","tráigame el desayuno a la habitación"]}`,
	`{"name":"resilierContrat","description":"Résilie un contrat","examples":["je veux résilier mon contrat","mon contrat est trop cher"]}`,
}

func TestAnActThatAnotherVerbGovernsOrdersNothing(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "dependent", dependentScope...)
	for _, said := range []string{
		"Sigo dudando en cerrar la cuenta de ahorro", "Es un error cerrar la cuenta de ahorro", "Me da pena cerrar la cuenta de ahorro", "Prometieron cerrar la cuenta de ahorro",
		"Puedo cerrar la cuenta de ahorro mañana en la oficina", "Si sube la comisión, cierra la cuenta de ahorro",
		"Spero di pagare la bolletta del gas", "Mi vergogno di pagare la bolletta del gas", "Era vietato pagare la bolletta del gas", "È inutile dire di pagare la bolletta del gas",
		"Il direttore teme di pagare la bolletta del gas", "Mi scuso di aver pagato la bolletta del gas",
		"Tim weigert sich, das Paket P123 zu senden", "Es gelang uns, das Paket P123 zu senden", "Hätte er bloß das Paket P123 gesendet", "Wir hätten das Paket P123 senden sollen",
		"Je suis désolé d'avoir résilié mon contrat", "Mon contrat a été résilié", "Après avoir résilié mon contrat, j'ai bien dormi",
		"Lamento mucho haber cerrado la cuenta de ahorro", "Sorry for having opened the north gate", "I am glad to have opened the north gate", "Paket P123 gesendet zu haben war ein Fehler",
		"Open the north gate? Not now", "Open the north gate - not yet", "Sende das Paket P123? Heute nicht", "Cierra la cuenta de ahorro... hoy no", "The last time you open the north gate it broke",
		"Mal sehen ob ich das Paket P123 sende", "Mal schauen ob ich das Paket P123 sende", "Open the north gate, said no one ever", "Open the south gate, he said", "Ils m'ont résilié mon contrat",
		"No me apuntes a yoga", "no me apuntes a pilates todavía", "Ojalá me trajeran el desayuno a la habitación", "Plus besoin de résilier mon contrat", "Cierra la cuenta de ahorro no hace falta", "Sende das Paket P123... Spaß",
		"Casi cierro la cuenta de ahorro", "I very nearly opened the north gate", "Ich hätte beinahe das Paket P123 gesendet",
	} {
		assert.Equal(t, []string{""}, heldWith(t, candidates, said), said)
	}
}

func TestAWishForAnActIsAnOrder(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "dependent", dependentScope...)
	for want, texts := range map[string]string{
		`cerrarCuenta {"cuenta":"ahorro"}`: "Quiero cerrar la cuenta de ahorro; Llamo para cerrar la cuenta de ahorro; Deseo cerrar la cuenta de ahorro; Me gustaría cerrar la cuenta de ahorro; Ayúdame a cerrar la cuenta de ahorro; Hay que cerrar la cuenta de ahorro; Por favor cerrar la cuenta de ahorro",
		`pagaBolletta {"bolletta":"luce"}`: "Vorrei pagare la bolletta della luce; Devo pagare la bolletta della luce; Bisogna pagare la bolletta della luce; Assicurati di pagare la bolletta della luce; Pagare la bolletta della luce; Puoi pagare la bolletta della luce?; Non dimenticare di pagare la bolletta della luce",
		`paketSenden {"paket":"P123"}`:     "Bitte denk daran, das Paket P123 zu senden; Vergiss nicht, das Paket P123 zu senden; Ich bitte darum, das Paket P123 zu senden; Kannst du das Paket P123 senden?; Das Paket P123 senden, bitte; Sende nicht das Paket P100, sondern das Paket P123",
		`join-class {"class":"pilates"}`:   "Apúntame a pilates; sign me up for pilates; No, apúntame a pilates",
		`open-gate {"gate":"south"}`:       "Open the south gate today; Open the south gate now, not later; Open not the north gate but the south gate; I'd love to have the south gate opened",
	} {
		for _, said := range strings.Split(texts, "; ") {
			assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
		}
	}
}

func TestWhatIsSaidOfTheSpeakerIsNotSaidOfAnother(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "speaker",
		`{"name":"urlaubMelden","description":"Meldet eine Abwesenheit","examples":["ich bin abwesend"]}`,
		`{"name":"call-doctor","description":"Call a doctor","examples":["I feel dizzy","I am bleeding"]}`,
		`{"name":"lost-phone","description":"Look for a lost phone","examples":["I lost my phone","ich habe mein Handy verloren","j'ai perdu mon téléphone","he perdido mi móvil"]}`,
		`{"name":"ritardoBus","description":"Dice se un autobus è in ritardo","schema":[{"parameter":"linea","type":"string","required":true,"allowedValues":["12","13"]}],"examples":["l'autobus [12](linea) è in ritardo?"]}`)
	for said, want := range map[string]string{
		"Ich bin heute abwesend": "urlaubMelden {}", "Frau Kern ist abwesend": "", "Sie ist abwesend": "", "Mein Kollege ist abwesend": "", "Tom is bleeding": "", "My brother is bleeding": "", "She is bleeding": "",
		"Ich habe mein Handy heute verloren": "lost-phone {}", "Ich hätte beinahe mein Handy verloren": "", "Ich habe fast mein Handy verloren": "", "J'ai presque perdu mon téléphone": "",
		"I am bleeding": "call-doctor {}", "I am bleeding badly": "call-doctor {}", "Se l'autobus è in ritardo, vado a piedi": "", "L'autobus 13 è in ritardo?": `ritardoBus {"linea":"13"}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

// TestTheOppositeIsNeverDone has verbs in other forms than the tools' names.
func TestTheOppositeIsNeverDone(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "sides",
		`{"name":"apri_cancello","description":"Apre un cancello","schema":[{"parameter":"lato","type":"string","required":true,"allowedValues":["nord","sud"]}],"examples":["apri il cancello [nord](lato)"]}`,
		`{"name":"chiudi_cancello","description":"Chiude un cancello","schema":[{"parameter":"lato","type":"string","required":true,"allowedValues":["nord","sud"]}]}`,
		`{"name":"encenderBomba","description":"Enciende una bomba","schema":[{"parameter":"bomba","type":"string","required":true,"allowedValues":["pozo","piscina"]}],"examples":["enciende la bomba del [pozo](bomba)"]}`,
		`{"name":"apagarBomba","description":"Apaga una bomba","schema":[{"parameter":"bomba","type":"string","required":true,"allowedValues":["pozo","piscina"]}]}`)
	for said, want := range map[string]string{
		"Chiudere il cancello nord": `chiudi_cancello {"lato":"nord"}`, "Può chiudere il cancello sud?": `chiudi_cancello {"lato":"sud"}`, "Avrei voluto chiudere il cancello nord": "", "Chiuda il cancello sud": `chiudi_cancello {"lato":"sud"}`,
		"Apague la bomba de la piscina": `apagarBomba {"bomba":"piscina"}`, "Apagar la bomba del pozo": `apagarBomba {"bomba":"pozo"}`, "Debería haber apagado la bomba del pozo": "", "Encienda la bomba del pozo": `encenderBomba {"bomba":"pozo"}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestFormsOfAVerbAreOneVerb(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "forms",
		`{"name":"lieferungLoeschen","description":"Löscht die geplante Lieferung"}`, `{"name":"liefern","description":"Bestellt eine Lieferung","schema":[{"parameter":"ware","type":"string","required":true,"allowedValues":["Heu","Stroh"]}]}`,
		`{"name":"kuendigeStall","description":"Kündigt den Stallplatz","schema":[{"parameter":"ende","type":"string","format":"date","required":true}]}`,
		`{"name":"beitrag_aendern","description":"Ändert den monatlichen Beitrag","schema":[{"parameter":"betrag","type":"number","unit":"Euro","required":true}]}`,
		`{"name":"disdiciLezione","description":"Disdice una lezione di equitazione","schema":[{"parameter":"codice","type":"string","required":true}]}`,
		`{"name":"prenotaLezione","description":"Prenota una lezione di equitazione","schema":[{"parameter":"ora","type":"string","format":"time","required":true}]}`)
	for said, want := range map[string]string{
		"Senke den Beitrag auf 30 Euro": `beitrag_aendern {"betrag":30}`, "Den Beitrag bitte auf 30 Euro aendern": `beitrag_aendern {"betrag":30}`, "Der Beitrag ist 30 Euro": "",
		"Lösche meine Lieferung": "lieferungLoeschen {}", "Ich moechte die Lieferung loeschen": "lieferungLoeschen {}", "Koennen Sie die Lieferung bitte loeschen?": "lieferungLoeschen {}",
		"Ich möchte den Stallplatz zum 31. Mai kündigen": `kuendigeStall {"ende":"2027-05-31"}`, "Bitte kuendige den Stallplatz zum 31. Mai": `kuendigeStall {"ende":"2027-05-31"}`,
		"Vorrei disdire la lezione L-40": `disdiciLezione {"codice":"L-40"}`, "Puoi disdire la lezione L-40?": `disdiciLezione {"codice":"L-40"}`, "Disdico la lezione di equitazione": "",
		"Lösch die Lieferung nicht": "", "Non disdire la lezione L-40": "", "Ich will den Stallplatz zum 31. Mai nicht kuendigen": "",
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestWhatIsSaidInShortMeansTheSame(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "short",
		`{"name":"book_appointment","description":"Book an appointment","examples":["I need an appointment","Ich brauche einen Termin"]}`,
		`{"name":"cancel_appointment","description":"Cancel an appointment","examples":["cancel my appointment","sag meinen Termin ab"]}`,
		`{"name":"lock_door","description":"Lock the front door","examples":["lock the door"]}`)
	for said, want := range map[string]string{
		"ich bräuchte nen termin": "book_appointment {}", "brauch einen Termin": "book_appointment {}", "ich brauchte einen Termin": "", "can u lock the door?": "lock_door {}",
		"ich muss meinen termin absagen": "cancel_appointment {}", "ich muss meinen termin nicht absagen": "", "ich hab meinen termin abgesagt": "",
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}

func TestAPoliteQuestionOrdersInEachLanguage(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "garage",
		`{"name":"change_tyres","description":"Change the tyres","examples":["change my tyres","wechsel meine Reifen","changez mes pneus","cambia mis neumáticos"]}`,
		`{"name":"call_tow_truck","description":"Call a tow truck","examples":["I need a tow truck","j'ai besoin d'une dépanneuse","necesito una grúa"]}`)
	for want, texts := range map[string]string{
		"change_tyres {}":   "Can you change my tyres?; Könnt ihr meine Reifen wechseln?; Könntet ihr die Reifen wechseln?; Tu peux changer mes pneus ?; Vous pouvez me changer les pneus ?; ¿Puedes cambiar mis neumáticos?; ¿Podéis cambiar los neumáticos?",
		"call_tow_truck {}": "No, necesito una grúa; No necesito ayuda, necesito una grúa",
		"": "Can you tell me when you change the tyres?; Könnt ihr mir sagen, wann ihr die Reifen wechselt?; Vous pouvez me dire si vous changez les pneus ?; Pouvez-vous me dire quand vous changez les pneus ?; " +
			"On aurait dû changer mes pneus; Vous auriez pu changer mes pneus; Ya no necesito una grúa; Por suerte no necesito una grúa; Heureusement je n'ai plus besoin d'une dépanneuse",
	} {
		for _, said := range strings.Split(texts, "; ") {
			assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
		}
	}
}
