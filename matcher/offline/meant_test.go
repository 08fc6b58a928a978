package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
)

// meantScopes are tools whose every false call does harm: they move money, open doors, take things away.
var meantScopes = map[string][]string{
	"clinic": {
		`{"name":"cancel-appointment","description":"Cancel an appointment","examples":["Cancel my appointment"]}`,
		`{"name":"book-appointment","description":"Book an appointment at the clinic","schema":[{"parameter":"date","type":"string","format":"date","required":true},
			{"parameter":"time","type":"string","format":"time"},{"parameter":"doctor","type":"string","allowedValues":["Dr. Klein","Dr. Weber"]}],
			"examples":["I want an appointment","Book me in with [Dr. Klein](doctor) [tomorrow](date) at [3 pm](time)","Can I come in on [Monday](date)?"]}`,
		`{"name":"order-prescription","description":"Order a prescription","schema":[{"parameter":"medicine","type":"string","required":true},
			{"parameter":"amount","type":"number","unit":"mg"}],"examples":["Order [aspirin](medicine) [500 mg](amount) for me","I need a prescription for [ibuprofen](medicine)"]}`,
	},
	"bank": {`{"name":"transfer","description":"Transfer money","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},
		{"parameter":"to","type":"string","required":true,"ask":"To whom?","allowedValues":["Anna","Peter"]}],"examples":["Transfer [50 euros](amount) to [Anna](to)"]}`},
	"banco": {
		`{"name":"transferir","description":"Transferir dinero","schema":[{"parameter":"importe","type":"number","unit":"EUR","required":true},
			{"parameter":"a","type":"string","required":true,"allowedValues":["Ana","Pedro"]},{"parameter":"fecha","type":"string","format":"date"}],"examples":["Transfiere [50 euros](importe) a [Ana](a)"]}`,
		`{"name":"cita","description":"Pedir cita con un asesor","schema":[{"parameter":"dia","type":"string","format":"date","required":true},{"parameter":"hora","type":"string","format":"time"}],
			"examples":["Quiero una cita con un asesor el [lunes](dia) a las [10 de la mañana](hora)","Necesito una cita"]}`,
		`{"name":"bloquear-tarjeta","description":"Bloquear una tarjeta","examples":["Bloquea mi tarjeta","Me han robado la tarjeta"]}`,
		`{"name":"cancelar-cita","description":"Cancelar una cita","examples":["Cancela mi cita"]}`,
	},
	"haus": {
		`{"name":"tuer-oeffnen","description":"Haustür öffnen","examples":["Öffne die Haustür"]}`, `{"name":"tuer-schliessen","description":"Haustür abschließen","examples":["Schließ die Haustür ab"]}`,
		`{"name":"wecker","description":"Wecker stellen","schema":[{"parameter":"zeit","type":"string","format":"time","required":true},{"parameter":"tag","type":"string","format":"date"}],
			"examples":["Stell den Wecker auf [7 Uhr](zeit)","Weck mich [morgen](tag) um [6:30](zeit)"]}`,
		`{"name":"timer","description":"Timer starten","schema":[{"parameter":"dauer","type":"string","format":"duration","required":true}],"examples":["Stell einen Timer auf [10 Minuten](dauer)"]}`,
		`{"name":"absagen","description":"Termin absagen","examples":["Ich möchte meinen Termin stornieren"]}`,
		`{"name":"ueberweisen","description":"Geld überweisen","schema":[{"parameter":"betrag","type":"number","unit":"EUR","required":true},
			{"parameter":"an","type":"string","required":true,"allowedValues":["Anna","Peter"]},{"parameter":"datum","type":"string","format":"date"}],"examples":["Überweise [50 Euro](betrag) an [Anna](an)"]}`,
	},
	"cabinet": {
		`{"name":"annuler","description":"Annuler un rendez-vous","examples":["Annule mon rendez-vous"]}`,
		`{"name":"prendre","description":"Prendre un rendez-vous","schema":[{"parameter":"jour","type":"string","format":"date"}],"examples":["Prends un rendez-vous"]}`,
		`{"name":"virer","description":"Virer de l'argent","schema":[{"parameter":"montant","type":"number","unit":"EUR","required":true},
			{"parameter":"a","type":"string","required":true,"allowedValues":["Anne","Pierre"]}],"examples":["Vire [50 euros](montant) à [Anne](a)"]}`,
	},
	"studio": {
		`{"name":"annullare","description":"Annullare un appuntamento","examples":["Annulla il mio appuntamento"]}`,
		`{"name":"prenotare","description":"Prenotare un appuntamento","examples":["Prenota un appuntamento"]}`,
		`{"name":"aprire-porta","description":"Aprire la porta","examples":["Apri la porta"]}`,
	},
	"shop": {
		`{"name":"add-to-cart","description":"Add an article to the cart","schema":[{"parameter":"article","type":"string","required":true,"allowedValues":["shirt","jacket","shoes"]},
			{"parameter":"color","type":"string","allowedValues":["red","blue","black"]}],"examples":["Add a [red](color) [shirt](article) to the cart","Put a [jacket](article) into my basket"]}`,
		`{"name":"remove-from-cart","description":"Remove an article from the cart","schema":[{"parameter":"article","type":"string","required":true,"allowedValues":["shirt","jacket","shoes"]}],
			"examples":["Remove the [shoes](article) from the cart"]}`,
		`{"name":"checkout","description":"Check out and pay","examples":["Check out"]}`,
		`{"name":"order-dish","description":"Order a dish","schema":[{"parameter":"dish","type":"string","required":true,"allowedValues":["pizza","soup"]}],"examples":["I want a [pizza](dish)"]}`,
		`{"name":"newsletter","description":"Subscribe to the newsletter","schema":[{"parameter":"email","type":"string","required":true}],"examples":["Subscribe [a@b.com](email) to the newsletter"]}`,
		`{"name":"send-mail","description":"Send a mail","schema":[{"parameter":"to","type":"array","required":true,"items":{"type":"string"}},{"parameter":"subject","type":"string"}],"examples":["Send a mail to [anna@x.org](to)"]}`,
	},
	"stop": {
		`{"name":"stop-timer","description":"Stop the timer","examples":["Stop the timer"]}`,
		`{"name":"unsubscribe","description":"Unsubscribe from the newsletter","examples":["I don't want the newsletter any more","Stop sending me the newsletter"]}`,
		`{"name":"stop-music","description":"Stop the music","examples":["Stop playing music","No more music"]}`,
		`{"name":"timer-aus","description":"Timer stoppen","examples":["Stopp den Timer","Hör auf zu klingeln"]}`,
	},
}

// unmeant are sentences that order nothing, by what makes them so.
var unmeant = map[string]map[string]string{
	"the dot of a title ends no sentence": {
		"clinic": `Don't book me in with Dr. Klein tomorrow at 3 pm; Never book me in with Dr. Weber tomorrow at 3 pm; Don't book an appointment for Mrs. Miller with Dr. Klein tomorrow;
			I do not want an appointment at St. Mary with Dr. Weber on Monday; Do not book room No. 5 with Prof. Jones or Dr. Klein tomorrow`,
		"haus":  `Überweise Hr. Dr. Meier und Anna keine 50 Euro; Öffne Fr. Weber die Haustür nicht; Öffne die Haustür Nr. 5 nicht`,
		"banco": `No transfieras a la Sra. Ana 50 euros; No quiero una cita con la Dra. Ana el lunes`,
	},
	"an undoing act is denied": {
		"clinic": `I don't want to cancel my appointment; Never cancel my appointment; You must not cancel my appointment; Under no circumstances cancel my appointment; There is no need to cancel my appointment;
			Please do not cancel my appointment; Don't cancel my appointment; I do not wish to cancel my appointment; It is not necessary to cancel my appointment; You should not cancel my appointment;
			I never asked you to cancel my appointment; I don't want you to cancel my appointment; I'd rather not cancel my appointment; I am not going to cancel my appointment; On no account cancel my appointment;
			No, don't cancel my appointment; Whatever happens, do not cancel my appointment; I don't think I should cancel my appointment; No reason to cancel my appointment; Please never cancel my appointment`,
		"shop": `I don't want to remove the shoes from the cart; Never remove the shoes from the cart; You must not remove the shoes from the cart; Don't remove the shoes from the cart; There is no need to remove the shoes from the cart`,
		"haus": `Ich möchte meinen Termin nicht stornieren; Storniere meinen Termin nicht; Ich will meinen Termin nicht absagen; Sag meinen Termin nicht ab; Bitte den Termin nicht stornieren; Du musst meinen Termin nicht absagen;
			Ich möchte nicht, dass du meinen Termin stornierst; Niemals meinen Termin stornieren; Auf keinen Fall meinen Termin absagen; Es ist nicht nötig, meinen Termin abzusagen`,
		"banco":   `No quiero cancelar mi cita; No debes cancelar mi cita; No canceles mi cita; Nunca canceles mi cita; No hace falta cancelar mi cita; Jamás canceles mi cita; No es necesario cancelar mi cita; De ninguna manera canceles mi cita`,
		"cabinet": `N'annule pas mon rendez-vous; Je ne veux pas annuler mon rendez-vous; N'annule jamais mon rendez-vous; N'annulez pas mon rendez-vous; Annule pas mon rendez-vous; Il ne faut pas annuler mon rendez-vous; Pas besoin d'annuler mon rendez-vous; Je ne souhaite pas annuler mon rendez-vous; En aucun cas annuler mon rendez-vous`,
		"studio":  `Non annullare il mio appuntamento; Non voglio annullare il mio appuntamento; Non devi annullare il mio appuntamento; Non serve annullare il mio appuntamento; In nessun caso annullare il mio appuntamento`,
	},
	"an act is denied by another word": {
		"haus": `Niemals die Haustür öffnen; Öffne die Haustür niemals; Keinesfalls die Haustür öffnen; Auf keinen Fall die Haustür öffnen; Hör auf, die Haustür zu öffnen; Überweise niemals 50 Euro an Anna; Öffne die Haustür bloß nicht;
			Öffne die Haustür auf keinen Fall; Vermeide es, die Haustür zu öffnen; Unterlass es, die Haustür zu öffnen; Du darfst die Haustür nicht öffnen; Öffne nie die Haustür; Überweise keine 50 Euro an Anna; Hören Sie auf, 50 Euro an Anna zu überweisen`,
		"banco": `Jamás transfieras 50 euros a Ana; No me han robado la tarjeta; No transfieras 50 euros a Ana; Evita transferir 50 euros a Ana; Deja de transferir 50 euros a Ana; Nunca transfieras 50 euros a Ana; No bloquees mi tarjeta;
			No quiero bloquear mi tarjeta; No quiero una cita; Tampoco bloquees mi tarjeta; Bajo ningún concepto bloquees mi tarjeta`,
		"bank": `Avoid transferring 50 euros to Anna; Hold off on transferring 50 euros to Anna; Stop transferring 50 euros to Anna; Never transfer 50 euros to Anna; Refrain from transferring 50 euros to Anna; Under no circumstances transfer 50 euros to Anna;
			You must not transfer 50 euros to Anna; I don't want to transfer 50 euros to Anna; Quit transferring 50 euros to Anna; By no means transfer 50 euros to Anna; You needn't transfer 50 euros to Anna`,
		"cabinet": `Évite de virer 50 euros à Anne; Arrête de virer 50 euros à Anne; Ne vire jamais 50 euros à Anne; Ne vire pas 50 euros à Anne; Cesse de virer 50 euros à Anne; Je ne veux pas virer 50 euros à Anne; Ne vire plus 50 euros à Anne; En aucun cas ne vire 50 euros à Anne`,
		"studio":  `Non aprire la porta; Non aprire mai la porta; Evita di aprire la porta; Smetti di aprire la porta; Non voglio aprire la porta; Non prenotare un appuntamento; Non devi aprire la porta`,
	},
	"it is taken back in the same message": {
		"bank": `Transfer 50 euros to Anna? No way; Transfer 50 euros to Anna? Not now; Transfer 50 euros to Anna - not!; Transfer 50 euros to Anna? No!; Transfer 50 euros to Anna - no, wait; Transfer 50 euros to Anna, never mind;
			Transfer 50 euros to Anna. Forget it; Transfer 50 euros to Anna? Absolutely not; Transfer 50 euros to Anna - just kidding; Transfer 50 euros to Anna - wait!; Transfer 50 euros to Anna... no; Transfer 50 euros to Anna… not`,
		"clinic":  `Cancel my appointment? No thanks; Cancel my appointment - no, wait; Cancel my appointment? Better not; Cancel my appointment? No way!; Cancel my appointment? Not now, thanks; Cancel my appointment? No thank you`,
		"haus":    `Überweise 50 Euro an Anna? Nein danke; Überweise 50 Euro an Anna - doch nicht; Öffne die Haustür? Lieber nicht; Öffne die Haustür - nein, warte; Öffne die Haustür, ach nein; Öffne die Haustür? Auf keinen Fall; Öffne die Haustür - vergiss es; Öffne die Haustür? Jetzt nicht`,
		"banco":   `Transfiere 50 euros a Ana, mejor no; Transfiere 50 euros a Ana? No gracias; Bloquea mi tarjeta - no, espera; ¿Bloquea mi tarjeta? Ni hablar; Bloquea mi tarjeta, olvídalo; Bloquea mi tarjeta? Ahora no`,
		"cabinet": `Annule mon rendez-vous? Non merci; Annule mon rendez-vous, finalement non; Vire 50 euros à Anne? Surtout pas; Vire 50 euros à Anne - non, attends; Vire 50 euros à Anne, laisse tomber; Vire 50 euros à Anne? Pas maintenant`,
		"studio":  `Apri la porta? No grazie; Apri la porta, anzi no; Apri la porta - no, aspetta; Apri la porta, lascia stare; Apri la porta? Meglio di no; Annulla il mio appuntamento? Non ora`,
	},
	"it is undone, or kept as it is": {
		"bank":    `Reverse the transfer of 50 euros to Anna; Undo the transfer of 50 euros to Anna; Revert the transfer of 50 euros to Anna`,
		"shop":    `Undo removing the shoes from the cart; Leave the shoes in the cart; Keep the shoes in the cart; I want anything but pizza; Undo the removal of the shoes from the cart; I want to keep the shoes in the cart; Please leave the shoes in the cart; Everything but pizza; I'd like anything except pizza`,
		"banco":   `Deshaz la transferencia de 50 euros a Ana; Revierte la transferencia de 50 euros a Ana; Mantén mi cita; Desbloquea mi tarjeta`,
		"haus":    `Mach die Überweisung von 50 Euro an Anna rückgängig; Stopp den Timer auf 10 Minuten; Stell den Wecker um 7 Uhr aus; Stell den Wecker um 7 Uhr ab; Schalte den Wecker um 7 Uhr aus; Stoppe den Timer auf 10 Minuten; Behalte meinen Termin; Lösche den Wecker um 7 Uhr`,
		"cabinet": `Garde mon rendez-vous; Je veux garder mon rendez-vous`,
		"studio":  `Mantieni il mio appuntamento`,
	},
	"it is stated": {
		"banco": `Ya transferí 50 euros a Ana; Transferí 50 euros a Ana ayer; Ana me transfirió 50 euros; Ya bloqueé mi tarjeta; Tengo una cita el viernes; Pedí una cita el lunes; He transferido 50 euros a Ana; Ana ha transferido 50 euros a Pedro;
			Hemos bloqueado la tarjeta; Ya tengo una cita el lunes; Transferi 50 euros a Ana ayer; Ya transferi 50 euros a Ana; Ayer transferí 50 euros a Ana; Tenía una cita el lunes; Cancelé mi cita; Me cancelaron la cita`,
		"haus":    `Anna hat mir 50 Euro überwiesen; Gestern überwies ich 50 Euro an Anna; Ich habe Anna 50 Euro überwiesen; Peter hat die Haustür geöffnet; Peter hat den Termin abgesagt; Ich habe meinen Termin storniert; Der Termin wurde storniert`,
		"bank":    `Anna transferred 50 euros to Peter; I transferred 50 euros to Anna; Anna has transferred 50 euros to Peter; I already transferred 50 euros to Anna; Yesterday I transferred 50 euros to Anna; Anna just transferred 50 euros to Peter; 50 euros were transferred to Anna`,
		"cabinet": `J'ai annulé mon rendez-vous; Anne m'a viré 50 euros; Pierre a viré 50 euros à Anne; Hier j'ai annulé mon rendez-vous; J'ai un rendez-vous; Mon rendez-vous a été annulé`,
		"studio":  `Ho annullato il mio appuntamento; Anna ha aperto la porta; Ho un appuntamento; Ieri ho aperto la porta; Ho prenotato un appuntamento`,
	},
	"it is a condition": {
		"banco":   `Si cobro, transfiere 50 euros a Ana; Transfiere 50 euros a Ana si cobro hoy; Cuando cobre, transfiere 50 euros a Ana; En cuanto llegue, bloquea mi tarjeta`,
		"studio":  `Se arriva Anna, apri la porta; Quando arriva Anna apri la porta; Apri la porta se arriva Anna`,
		"cabinet": `Si je suis malade, annule mon rendez-vous; Annule mon rendez-vous quand je serai malade`,
		"bank":    `If I get paid, transfer 50 euros to Anna; Transfer 50 euros to Anna unless Peter objects`,
	},
	"it is asked, quoted or feigned": {
		"shop":    `How do I check out?; Before I check out, what is the total?; I want to know how much the pizza is; How can I check out?; Tell me how to check out; I would like to know whether the pizza is good; I wonder how much a pizza costs; Is it safe to check out?; Why should I check out?`,
		"clinic":  `Translate "Cancel my appointment" into German; Cancel my appointment is what I said yesterday; What does "cancel my appointment" mean?; How do I cancel my appointment?; Say "cancel my appointment"; What happens if I cancel my appointment?; Spell “cancel my appointment”; Should I cancel my appointment?`,
		"bank":    `Pretend to transfer 50 euros to Anna; Imagine I transfer 50 euros to Anna; How do I transfer 50 euros to Anna?; Suppose you transfer 50 euros to Anna; Act as if you transfer 50 euros to Anna`,
		"haus":    `Tu so, als ob du 50 Euro an Anna überweist; Stell dir vor, du öffnest die Haustür; Übersetze „Öffne die Haustür“ ins Englische; Wie öffne ich die Haustür?; Ich möchte wissen, ob der Termin storniert ist; Öffne die Haustür ist, was ich gestern gesagt habe`,
		"banco":   `Finge que transfieres 50 euros a Ana; Traduce "Bloquea mi tarjeta" al inglés; ¿Cómo bloqueo mi tarjeta?; Quiero saber cuánto cuesta una cita; Imagina que transfieres 50 euros a Ana; Bloquea mi tarjeta es lo que dije ayer; ¿Puedo saber si mi tarjeta está bloqueada?`,
		"cabinet": `Fais semblant d'annuler mon rendez-vous; Traduis « Annule mon rendez-vous » en anglais; Comment annuler mon rendez-vous?; Je voudrais savoir si mon rendez-vous est annulé; Annule mon rendez-vous, c'est ce que j'ai dit hier; Imagine que tu vires 50 euros à Anne`,
		"studio":  `Fai finta di aprire la porta; Traduci "Apri la porta" in inglese; Come si apre la porta?; Vorrei sapere se la porta è aperta; Immagina di aprire la porta`,
	},
}

func TestWhatNobodyMeantFiresNothingAndOpensNothing(t *testing.T) {
	t.Parallel()
	for class, scopes := range unmeant {
		for scope, sentences := range scopes {
			candidates := matchertest.InScope(t, matchertest.Scope, scope, meantScopes[scope]...)
			for said := range strings.SplitSeq(sentences, ";") {
				said = strings.TrimSpace(said)
				assert.Empty(t, heldWith(t, candidates, said)[0], "%s: %s: %s", class, scope, said)
			}
		}
	}
}

// meant are orders with words like those of sentences that order nothing.
var meant = map[string]map[string]string{
	"clinic": {
		"cancel-appointment": `Cancel my appointment; Please cancel my appointment; I want to cancel my appointment; I can't come, please cancel my appointment; Don't forget to cancel my appointment; I need to cancel my appointment;
			Why don't you cancel my appointment; Can you cancel my appointment?; Could you please cancel my appointment; Yes, cancel my appointment; No, cancel my appointment; "Cancel my appointment"; Cancel my appointment now; Cancel my appointment, thanks; Never mind the weather, cancel my appointment;
			I don't feel well, please cancel my appointment; Do not hesitate to cancel my appointment; Cancel my appointment, no problem`,
		"book-appointment": `Don't forget to book an appointment tomorrow at 3 pm; Book me in with Dr. Klein tomorrow at 3 pm; Book me in with Dr. Weber on Monday; I want an appointment tomorrow; Can I come in on Monday?; No, book me in with Dr. Weber tomorrow at 3 pm`,
	},
	"bank": {"transfer": `Transfer 50 euros to Anna; Please transfer 50 euros to Peter; I want to transfer 50 euros to Anna; Don't forget to transfer 50 euros to Anna; Can you transfer 50 euros to Anna?; Transfer 50 euros to Anna, not to Peter; Transfer 50 euros to Anna, please`},
	"banco": {
		"transferir":       `Transfiere 50 euros a Ana; Por favor, transfiere 50 euros a Pedro; Quiero transferir 50 euros a Ana; No olvides transferir 50 euros a Ana; Sí, transfiere 50 euros a Ana; No te olvides de transferir 50 euros a Ana`,
		"cita":             `Necesito una cita el lunes; Quiero una cita con un asesor el lunes a las 10 de la mañana; Tengo que pedir cita con un asesor el lunes`,
		"bloquear-tarjeta": `Bloquea mi tarjeta; Me han robado la tarjeta; Quiero bloquear mi tarjeta; Por favor bloquea mi tarjeta`,
		"cancelar-cita":    `Cancela mi cita; Quiero cancelar mi cita; No puedo ir, cancela mi cita; Por favor, cancela mi cita`,
	},
	"haus": {
		"tuer-oeffnen":    `Öffne die Haustür; Bitte die Haustür öffnen; Vergiss nicht, die Haustür zu öffnen; Kannst du die Haustür öffnen?; Nein, öffne die Haustür; Öffne bitte die Haustür`,
		"tuer-schliessen": `Schließ die Haustür ab; Bitte schließ die Haustür ab`,
		"wecker":          `Stell den Wecker auf 7 Uhr; Weck mich morgen um 6:30; Stelle den Wecker auf 8 Uhr`,
		"timer":           `Stell einen Timer auf 10 Minuten; Starte einen Timer auf 5 Minuten`,
		"absagen":         `Ich möchte meinen Termin stornieren; Bitte meinen Termin absagen; Ich kann nicht kommen, bitte meinen Termin stornieren; Ich will meinen Termin absagen`,
		"ueberweisen":     `Überweise 50 Euro an Anna; Bitte überweise 50 Euro an Peter; Ich möchte 50 Euro an Anna überweisen; Überweise 50 Euro an Anna, nicht an Peter`,
	},
	"cabinet": {
		"annuler": `Annule mon rendez-vous; Je veux annuler mon rendez-vous; N'oublie pas d'annuler mon rendez-vous; Je ne peux pas venir, annule mon rendez-vous; Annulez mon rendez-vous s'il vous plaît`,
		"prendre": `Prends un rendez-vous; Je voudrais prendre un rendez-vous`, "virer": `Vire 50 euros à Anne; Peux-tu virer 50 euros à Pierre?`,
	},
	"studio": {
		"annullare": `Annulla il mio appuntamento; Voglio annullare il mio appuntamento; Non dimenticare di annullare il mio appuntamento`, "prenotare": `Prenota un appuntamento; Vorrei prenotare un appuntamento`,
		"aprire-porta": `Apri la porta; Per favore apri la porta`,
	},
	"shop": {
		"remove-from-cart": `Please remove the shoes; Remove the shoes from the cart; I want to remove the shoes from the cart; Take the shoes out of the cart, remove them; Remove the shoes from the cart, I don't need them`,
		"add-to-cart":      `Add a red shirt to the cart; Add the shoes to the cart`, "checkout": `Check out; I want to check out; Please check out`,
		"order-dish": `I want a pizza; I want a pizza, no soup; I want nothing but pizza`, "newsletter": `Subscribe a@b.com to the newsletter`,
	},
	"stop": {
		"stop-timer": `Stop the timer; Please stop the timer; Can you stop the timer?`, "unsubscribe": `I don't want the newsletter any more; Stop sending me the newsletter; Please stop sending me the newsletter; I don't want the newsletter`,
		"stop-music": `Stop playing music; Stop the music; No more music please`, "timer-aus": `Stopp den Timer; Bitte stopp den Timer; Hör auf zu klingeln`,
	},
}

// allFire says the sentences of each tool in its scope, which fire it.
func allFire(t *testing.T, scopes map[string][]string, sentences map[string]map[string]string) {
	t.Helper()
	for scope, tools := range sentences {
		candidates := matchertest.InScope(t, matchertest.Scope, scope, scopes[scope]...)
		for tool, all := range tools {
			for said := range strings.SplitSeq(all, ";") {
				said = strings.TrimSpace(said)
				assert.Contains(t, heldWith(t, candidates, said)[0], tool+" {", "%s: %s", scope, said)
			}
		}
	}
}

func TestWhatIsMeantGoesOnFiring(t *testing.T) {
	t.Parallel()
	allFire(t, meantScopes, meant)
}

func TestNextWordsDoNotCompleteWhatWasRefused(t *testing.T) {
	t.Parallel()
	for scope, talks := range map[string][][2]string{
		"shop": {{"Don't subscribe a@b.com to the newsletter", "a@b.com"}, {"Never add to the cart", "shoes"}},
		"bank": {{"Anna transferred 50 euros to Peter", "Peter"}, {"Don't transfer 50 euros", "Anna"}, {"Never transfer 50 euros", "to Anna"}, {"Never transfer 50 euros to Peter", "Anna"}, {"Transfer 50 euros? No thanks", "Anna"}},
		"haus": {{"Überweise niemals 50 Euro", "Anna"}, {"Peter hat 50 Euro überwiesen", "an Anna"}},
	} {
		candidates := matchertest.InScope(t, matchertest.Scope, scope, meantScopes[scope]...)
		for _, said := range talks {
			outcomes := heldWith(t, candidates, said[0], said[1])
			assert.Empty(t, outcomes[0], said)
			assert.NotContains(t, outcomes[1], "{", said)
		}
	}
}

func TestAnOpenCallIsNotCompletedByWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	for scope, talks := range map[string]map[string][]string{
		"bank":  {"Transfer 50 euros": {"to Anna? no way", "Anna - just kidding", "never to Anna", "anything but Anna", "imagine Anna", "avoid Anna", "I already gave it to Anna"}},
		"haus":  {"Überweise 50 Euro": {"an Anna? nein danke", "niemals an Anna", "stell dir vor Anna"}},
		"banco": {"Transfiere 50 euros": {"jamás a Ana", "a Ana, mejor no"}},
	} {
		candidates := matchertest.InScope(t, matchertest.Scope, scope, meantScopes[scope]...)
		for begun, then := range talks {
			for _, said := range then {
				assert.NotContains(t, heldWith(t, candidates, begun, said)[1], "{", said)
			}
		}
	}
	candidates := matchertest.InScope(t, matchertest.Scope, "bank", meantScopes["bank"]...)
	require.Equal(t, `transfer {"amount":50,"to":"Anna"}`, heldWith(t, candidates, "Transfer 50 euros", "to Anna")[1])
}

func TestATitleStaysWithItsName(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "clinic", meantScopes["clinic"]...)
	require.Equal(t, []string{`book-appointment {"date":"2026-11-23","doctor":"Dr. Weber"}`}, heldWith(t, candidates, "Book me in with Dr. Weber on Monday"))
	require.Equal(t, []string{"book-appointment misses [date]", `book-appointment {"date":"2026-11-23","doctor":"Dr. Weber"}`}, heldWith(t, candidates, "I want an appointment with Dr. Weber", "on Monday"))
}

func TestTheExplanationTellsWhatTheMessageIs(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "clinic", meantScopes["clinic"]...)
	for said, why := range map[string]string{
		"My neighbour cancelled the appointment": "the message tells of somebody else",
		"Tell Tom to cancel my appointment":      "as somebody else's act or wish, a report, a purpose or a thought, and does not order it (nearest: cancel-appointment)",
		"Can I cancel my appointment?":           "the message asks whether it may be done, and does not call for the nearest tool (nearest: cancel-appointment)",
		"never mind":                             "the message is a plain no, and calls for no tool by itself",
		"no":                                     "the message is a plain no, and calls for no tool by itself",
		"Yes, please!":                           "the message is a plain yes, and calls for no tool by itself",
	} {
		ctx, trace := matcher.Recorded(t.Context())
		_, err := chain.New(llm.Options{}).Match(ctx, matcher.Request{Candidates: candidates, Text: said, Now: matchertest.Friday})
		require.NoError(t, err)
		require.Contains(t, trace.Silence, why, said)
	}
}

func TestTheExplanationNamesTheDenial(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "clinic", meantScopes["clinic"]...)
	for _, said := range []string{"Please do not cancel my appointment", "Never cancel my appointment", "I don't want to cancel my appointment"} {
		ctx, trace := matcher.Recorded(t.Context())
		_, err := chain.New(llm.Options{}).Match(ctx, matcher.Request{Candidates: candidates, Text: said, Now: matchertest.Friday})
		require.NoError(t, err)
		require.Contains(t, trace.Silence, "does not want", said)
		require.Contains(t, trace.Silence, "(nearest: cancel-appointment)", said)
	}
}
