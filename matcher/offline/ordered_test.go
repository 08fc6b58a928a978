package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

// orderedScopes are tools whose acts cannot be taken back, in five languages.
var orderedScopes = map[string][]string{
	"office": {
		`{"name":"cancel_reservation","description":"Cancel a reservation","parameters":{"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"}},"required":["code"]},"examples":["cancel my reservation [HX-4821](code)"]}`,
		`{"name":"delete_user","description":"Delete a user account","schema":[{"parameter":"username","type":"string","required":true}],"examples":["delete the user [jdoe](username)"]}`,
		`{"name":"restart_server","description":"Restart a server","parameters":{"type":"object","properties":{"server":{"type":"string","pattern":"^[a-z]+-[0-9]{2}$"}},"required":["server"]},"examples":["restart server [web-01](server)"]}`,
		`{"name":"pay_bill","description":"Pay an open bill","schema":[{"parameter":"bill","type":"string","allowedValues":["phone","power"],"required":true}],"examples":["pay the [phone](bill) bill"]}`,
		`{"name":"block_card","description":"Block a card","schema":[{"parameter":"card","type":"string","allowedValues":["credit","debit"],"required":true}],"examples":["block my [credit](card) card"]}`,
		`{"name":"close_ticket","description":"Close a support ticket","parameters":{"type":"object","properties":{"ticket":{"type":"string","pattern":"^INC-[0-9]{5}$"}},"required":["ticket"]},"examples":["close ticket [INC-10023](ticket)"]}`,
		`{"name":"send_money","description":"Send money to a person","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},{"parameter":"to","type":"string","allowedValues":["Anna","Tom"],"required":true}],
			"examples":["send [500 euros](amount) to [Anna](to)"]}`,
	},
	"stock": {`{"name":"return_item","description":"Start a return of an item","parameters":{"type":"object","properties":{"item":{"type":"string","enum":["shoes","shirt"]},
		"order_id":{"type":"string","pattern":"^[0-9]{8}$"}},"required":["item"]},"examples":["I want to return the [shoes](item) from order [12345678](order_id)"]}`},
	"buero": {
		`{"name":"reservierung_stornieren","description":"Eine Reservierung stornieren","parameters":{"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"}},"required":["code"]},"examples":["storniere meine Reservierung [HX-4821](code)"]}`,
		`{"name":"weckruf","description":"Einen Weckruf einrichten","schema":[{"parameter":"zeit","type":"string","format":"time","required":true}],"examples":["weck mich um [7 Uhr](zeit)"]}`,
		`{"name":"tisch_reservieren","description":"Einen Tisch reservieren","schema":[{"parameter":"personen","type":"integer","required":true}],"examples":["einen Tisch für [vier](personen)"]}`,
		`{"name":"geld_senden","description":"Geld senden","schema":[{"parameter":"betrag","type":"number","unit":"EUR","required":true},{"parameter":"an","type":"string","allowedValues":["Anna","Tom"],"required":true}],
			"examples":["schick [50 Euro](betrag) an [Anna](an)"]}`,
	},
	"bureau": {
		`{"name":"annuler_reservation","description":"Annuler une réservation","parameters":{"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"}},"required":["code"]},"examples":["annulez ma réservation [HX-4821](code)"]}`,
		`{"name":"bloquer_carte","description":"Bloquer une carte bancaire","schema":[{"parameter":"carte","type":"string","allowedValues":["crédit","débit"],"required":true}],"examples":["bloquez ma carte de [crédit](carte)"]}`,
		`{"name":"resilier_abonnement","description":"Résilier un abonnement","schema":[{"parameter":"offre","type":"string","allowedValues":["Premium","Basique"],"required":true}],"examples":["résiliez mon abonnement [Premium](offre)"]}`,
		`{"name":"supprimer_compte","description":"Supprimer le compte d'un utilisateur","schema":[{"parameter":"nom","type":"string","required":true}],"examples":["supprimez le compte de [jdupont](nom)"]}`,
	},
	"oficina": {
		`{"name":"cancelar_reserva","description":"Cancelar una reserva","parameters":{"type":"object","properties":{"codigo":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"}},"required":["codigo"]},"examples":["cancela mi reserva [HX-4821](codigo)"]}`,
		`{"name":"bloquear_tarjeta","description":"Bloquear una tarjeta","schema":[{"parameter":"tipo","type":"string","allowedValues":["crédito","débito"],"required":true}],"examples":["bloquea mi tarjeta de [crédito](tipo)"]}`,
		`{"name":"poner_alarma","description":"Poner una alarma","schema":[{"parameter":"hora","type":"string","format":"time","required":true}],"examples":["pon una alarma a las [7 de la mañana](hora)"]}`,
	},
	"ufficio": {
		`{"name":"annulla_prenotazione","description":"Annullare una prenotazione","parameters":{"type":"object","properties":{"codice":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"}},"required":["codice"]},"examples":["annulla la prenotazione [HX-4821](codice)"]}`,
		`{"name":"blocca_carta","description":"Bloccare una carta","schema":[{"parameter":"tipo","type":"string","allowedValues":["credito","debito"],"required":true}],"examples":["blocca la mia carta di [credito](tipo)"]}`,
		`{"name":"temperatura","description":"Impostare la temperatura","schema":[{"parameter":"gradi","type":"integer","required":true}],"examples":["metti la temperatura a [22](gradi) gradi"]}`,
	},
}

// unordered are sentences with the words of an order that order nothing.
var unordered = map[string]map[string]string{
	"it only names a thing": {
		"office":  `HX-4821; reservation number HX-4821; Concerning HX-4821; the user jdoe; user jdoe; web-01; Server web-01 is fine.; Server web-01 is slow.; server web-01; ticket INC-10023; phone bill; the power bill; credit card; 500 euros to Anna; 500 euros for Tom`,
		"buero":   `HX-4821; Reservierung HX-4821; Betrifft: Reservierung HX-4821; 50 Euro an Anna; Die Reservierung HX-4821`,
		"bureau":  `HX-4821; ma réservation HX-4821; carte de crédit; abonnement Premium; le compte de jdupont`,
		"oficina": `HX-4821; mi reserva HX-4821; tarjeta de crédito`,
		"ufficio": `HX-4821; la prenotazione HX-4821; carta di credito; Fuori ci sono 22 gradi.`,
	},
	"it makes a condition": {
		"office":  `Close ticket INC-10023 once Tom has confirmed.; Close ticket INC-10023 after Tom has confirmed.; Pay the phone bill when the salary is there.; Pay the phone bill as long as it's cheap.; Pay the phone bill assuming there is enough money.; Restart web-01 unless Tom objects`,
		"buero":   `Storniere die Reservierung HX-4821, es sei denn, Paul kommt.; Storniere die Reservierung HX-4821, solange es geht.`,
		"bureau":  `Annulez ma réservation HX-4821 à moins que Paul vienne.; Bloquez ma carte de crédit sauf si je la trouve.`,
		"oficina": `Cancela la reserva HX-4821 salvo que venga Luis.; Cancela la reserva HX-4821 a menos que venga Luis.`,
		"ufficio": `Annulla la prenotazione HX-4821 quando arriviamo a casa.; Annulla la prenotazione HX-4821 salvo che venga Luca.`,
	},
	"it excepts, or orders the opposite": {
		"office":  `Delete all users except the user jdoe.; Restart every server but web-01.; Restart a server other than web-01.; Reopen ticket INC-10023.; Unblock my credit card; un-block my credit card; Restore the deleted user jdoe`,
		"buero":   `Storniere alle Reservierungen außer HX-4821.; Alles stornieren außer Reservierung HX-4821.`,
		"bureau":  `Annulez toutes les réservations sauf HX-4821.; Débloquez ma carte de crédit.`,
		"oficina": `Cancela todas las reservas excepto la HX-4821.; Desbloquea mi tarjeta de crédito.`,
		"ufficio": `Annulla tutte le prenotazioni tranne la HX-4821.; Sblocca la mia carta di credito.`,
	},
	"its denial is interrupted or typed like in a chat": {
		"office": `Do not, under any circumstances, send 500 euros to Anna; Do not, please, pay the phone bill; Never, ever close ticket INC-10023; Please do not, whatever he says, restart server web-01; donot close ticket INC-10023;
			dnt close ticket INC-10023; Block my credit card NOT`,
		"buero":   `nix stornieren HX-4821; bitte nich stornieren Reservierung HX-4821; Storniere nur nicht HX-4821; Storniere bloß nicht HX-4821`,
		"oficina": `Ni se te ocurra cancelar la reserva HX-4821; Ni se le ocurra bloquear mi tarjeta de crédito`,
	},
	"it is a purpose, a thought about the act, or a failure": {
		"office": `To delete the user jdoe you need admin rights.; Failed to delete the user jdoe.; Unable to restart server web-01.; Deleting the user jdoe would break the reports.; Prevent anyone from deleting the user jdoe.;
			Warning: this will delete the user jdoe.; Blocking my credit card would be stupid.; Restarting web-01 takes ten minutes.; In order to pay the phone bill I need money`,
		"buero":   `Um die Reservierung HX-4821 zu stornieren, brauche ich das Passwort.; Zum Stornieren der Reservierung HX-4821 brauche ich das Passwort.`,
		"bureau":  `Pour annuler ma réservation HX-4821, il faut un code.; Impossible d'annuler la réservation HX-4821.; Arrêtez de supprimer le compte de jdupont.; Hors de question de bloquer ma carte de crédit.; Bloquer ma carte de crédit serait une erreur.`,
		"oficina": `Cancelar la reserva HX-4821 sería un error.; Para bloquear mi tarjeta de crédito necesito el PIN.; Imposible cancelar la reserva HX-4821.`,
		"ufficio": `Annullare la prenotazione HX-4821 sarebbe un errore.; Per annullare la prenotazione HX-4821 serve un codice.; Impossibile annullare la prenotazione HX-4821.`,
	},
	"it is reported": {
		"office":  `Ticket INC-10023 closed.; Server web-01 restarted by itself.; User jdoe deleted himself.; Server web-01 keeps restarting.`,
		"buero":   `Reservierung HX-4821 storniert.; Ihr habt meine Reservierung HX-4821 storniert.; Ihr storniert ständig meine Reservierung HX-4821.`,
		"ufficio": `Avete annullato la prenotazione HX-4821.; Prenotazione HX-4821 annullata.; Annullai la prenotazione HX-4821.`,
		"oficina": `Tarjeta de crédito bloqueada.; Reserva HX-4821 cancelada.`,
	},
	"it is for others, or their words": {
		"office": `Tell Tom to send 50 euros to Anna.; Ask Tom to pay the phone bill.; Let Tom close ticket INC-10023.; Remind me to pay the phone bill.; Only the admin may delete the user jdoe.; An SMS says I must send 500 euros to Anna.;
			My boss wants me to close ticket INC-10023.; Block my credit card, says the letter.; HR said we should delete the user jdoe.`,
		"buero":   `Sag Paul, er soll die Reservierung HX-4821 stornieren.; Paul soll die Reservierung HX-4821 stornieren.; Niemand darf die Reservierung HX-4821 stornieren.; Frag Paul, ob er die Reservierung HX-4821 storniert.`,
		"bureau":  `Dites à Paul d'annuler la réservation HX-4821.; Rappelle-moi d'annuler ma réservation HX-4821.; Seul mon mari peut annuler la réservation HX-4821.`,
		"oficina": `Dile a Luis que cancele la reserva HX-4821.; Recuérdame cancelar la reserva HX-4821.; Nadie bloquea mi tarjeta de crédito.`,
		"ufficio": `Di' a Luca di annullare la prenotazione HX-4821.; Ricordami di annullare la prenotazione HX-4821.`,
	},
	"it is only wished or threatened": {
		"office":  `I would like to send 500 euros to Anna, but I can't.; The last thing I want is to block my credit card.; One more fee and I'll block my credit card.; Maybe I will pay the phone bill.; I might close ticket INC-10023 some day`,
		"buero":   `Vielleicht storniere ich die Reservierung HX-4821.; Entweder Rabatt, oder ich storniere die Reservierung HX-4821.; Das Letzte, was ich will, ist die Reservierung HX-4821 zu stornieren.`,
		"bureau":  `Peut-être que j'annulerai ma réservation HX-4821.`,
		"oficina": `Tal vez cancele la reserva HX-4821.; Ojalá pudiera cancelar la reserva HX-4821.`,
		"ufficio": `Stavo per annullare la prenotazione HX-4821.; Avrei voluto annullare la prenotazione HX-4821.; Potrei annullare la prenotazione HX-4821.; Quasi quasi annullo la prenotazione HX-4821.`,
	},
	"its leave, its way or its reason is asked for": {
		"office":  `Can I block my credit card in the app?; Can I pay the phone bill in cash?; May I close ticket INC-10023?; Could I restart server web-01 online?; Close ticket INC-10023? Never!; Would you ever block my credit card?; Explain why you want to block my credit card.; Tell me why you close ticket INC-10023.; Explain how to delete the user jdoe.`,
		"buero":   `Kann ich die Reservierung HX-4821 kostenlos stornieren?; Darf ich die Reservierung HX-4821 stornieren?; Erklär mir, wie ich die Reservierung HX-4821 storniere.`,
		"bureau":  `Bloquer ma carte de crédit ? Pas question.; Expliquez-moi comment annuler ma réservation HX-4821.`,
		"oficina": `Explícame cómo cancelar la reserva HX-4821.`,
		"ufficio": `Spiegami come annullare la prenotazione HX-4821.`,
	},
	"its act is denied": {
		"bureau": `N'annulez pas ma réservation HX-4821; N’annulez surtout pas ma réservation HX-4821; Ne pas annuler ma réservation HX-4821; Je ne veux pas annuler ma réservation HX-4821; Je ne veux plus annuler ma réservation HX-4821;
			Vous ne devez pas annuler ma réservation HX-4821; On ne veut pas annuler la réservation HX-4821; N'annulez jamais ma réservation HX-4821; Ne supprimez pas le compte de jdupont; Ne supprimez jamais le compte de jdupont;
			Ne résiliez pas mon abonnement Premium; Je ne veux pas résilier mon abonnement Premium; Ne bloquez pas ma carte de crédit; Ne bloquez plus ma carte de crédit`,
		"office": `I don't want to block my credit card; I do not want to pay the phone bill; We don't want to send 500 euros to Anna`,
		"stock":  `I don't want to return the shoes from order 12345678; I do not wish to return the shirt from order 12345678`,
	},
}

func TestWhatOrdersNothingFiresNothing(t *testing.T) {
	t.Parallel()
	for class, scopes := range unordered {
		for scope, sentences := range scopes {
			candidates := matchertest.InScope(t, matchertest.Scope, scope, orderedScopes[scope]...)
			for said := range strings.SplitSeq(sentences, ";") {
				said = strings.TrimSpace(said)
				assert.NotContains(t, heldWith(t, candidates, said)[0], "{", "%s: %s: %s", class, scope, said)
			}
		}
	}
}

// ordered are orders with words like those of sentences that order nothing.
var ordered = map[string]map[string]string{
	"office": {
		"cancel_reservation": `Cancel HX-4821; Please cancel reservation HX-4821; HX-4821, cancel it please; Reservation HX-4821: cancel it; Call off reservation HX-4821; I want to cancel reservation HX-4821`,
		"delete_user":        `Delete user jdoe; Please delete the user jdoe; Remove the user jdoe; I want to delete the user jdoe`,
		"restart_server":     `Restart web-01; Server web-01 is slow, restart it; Restart server web-01 please`,
		"pay_bill":           `Pay the phone bill; I want to pay the phone bill; phone bill: pay it`,
		"block_card":         `Block my credit card; Can you block my credit card?; Blocking of my credit card, please`,
		"send_money":         `Send 500 euros to Anna; I would like to send 50 euros to Tom`,
		"close_ticket":       `Close ticket INC-10023; Ticket INC-10023: close it`,
	},
	"buero": {
		"reservierung_stornieren": `Storniere HX-4821; Reservierung HX-4821 stornieren; Bitte die Reservierung HX-4821 stornieren; Stornierung der Reservierung HX-4821 bitte`,
		"tisch_reservieren":       `einen Tisch für sechs; Ich möchte einen Tisch für sechs`, "geld_senden": `Schick 50 Euro an Tom; Kannst du 50 Euro an Tom schicken?`,
	},
	"stock":   {"return_item": `I want to return the shirt; Return the shoes from order 12345678`},
	"bureau":  {"annuler_reservation": `N'oubliez pas d'annuler ma réservation HX-4821; Je ne viens pas, annulez ma réservation HX-4821; Annulez HX-4821; Je veux annuler ma réservation HX-4821`, "bloquer_carte": `Bloquez ma carte de débit`, "resilier_abonnement": `Je voudrais résilier mon abonnement Premium`},
	"oficina": {"cancelar_reserva": `¿Podrías cancelar la reserva HX-4821?; ¿Puede cancelar la reserva HX-4821?; Cancela HX-4821; Quiero cancelar la reserva HX-4821`, "bloquear_tarjeta": `Bloquea mi tarjeta de débito; Por favor, bloquee mi tarjeta de débito`},
	"ufficio": {"annulla_prenotazione": `Potresti annullare la prenotazione HX-4821?; Puoi annullare la prenotazione HX-4821?; Annulla HX-4821; Vorrei annullare la prenotazione HX-4821`, "temperatura": `Metti la temperatura a 20 gradi; Temperatura a 20 gradi`},
}

func TestWhatIsOrderedFires(t *testing.T) {
	t.Parallel()
	allFire(t, orderedScopes, ordered)
}

func TestOnlyTheOrderFiresBesideWhatIsNotToBeDone(t *testing.T) {
	t.Parallel()
	for scope, sentences := range map[string]map[string]string{
		"office": {
			"Instead of sending 500 euros to Anna, pay the phone bill.": `pay_bill {"bill":"phone"}`, "Rather than blocking my credit card, close ticket INC-10023.": `close_ticket {"ticket":"INC-10023"}`,
			"Before deleting the user jdoe, restart server web-01.": `restart_server {"server":"web-01"}`, "Pay the phone bill instead of blocking my credit card.": `pay_bill {"bill":"phone"}`,
		},
		"buero":   {"Statt die Reservierung HX-4821 zu stornieren, weck mich um 7 Uhr.": `weckruf {"zeit":"07:00"}`},
		"bureau":  {"Au lieu d'annuler ma réservation HX-4821, bloquez ma carte de crédit.": `bloquer_carte {"carte":"crédit"}`, "Avant d'annuler ma réservation HX-4821, bloquez ma carte de crédit.": `bloquer_carte {"carte":"crédit"}`},
		"oficina": {"En vez de cancelar la reserva HX-4821, bloquea mi tarjeta de crédito.": `bloquear_tarjeta {"tipo":"crédito"}`, "Antes de cancelar la reserva HX-4821, bloquea mi tarjeta de crédito.": `bloquear_tarjeta {"tipo":"crédito"}`},
		"ufficio": {"Invece di annullare la prenotazione HX-4821, blocca la mia carta di credito.": `blocca_carta {"tipo":"credito"}`, "Prima di annullare la prenotazione HX-4821, blocca la mia carta di credito.": `blocca_carta {"tipo":"credito"}`},
	} {
		candidates := matchertest.InScope(t, matchertest.Scope, scope, orderedScopes[scope]...)
		for said, fired := range sentences {
			assert.Equal(t, fired, heldWith(t, candidates, said)[0], said)
		}
	}
}

func TestAToolThatRemindsOrTellsGoesOnFiring(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "others",
		`{"name":"remind","description":"Remind the user of something","schema":[{"parameter":"what","type":"string","required":true}],"examples":["remind me to [pay the bill](what)"]}`,
		`{"name":"tell_staff","description":"Tell the staff to do something","schema":[{"parameter":"who","type":"string","allowedValues":["Tom","Anna"],"required":true}],"examples":["tell [Tom](who) to hurry"]}`,
		`{"name":"pay_bill","description":"Pay a bill","examples":["pay the bill"]}`)
	for said, fired := range map[string]string{"Remind me to pay the bill": "remind {", "Tell Anna to hurry": `tell_staff {"who":"Anna"}`, "Pay the bill": "pay_bill {"} {
		assert.Contains(t, heldWith(t, candidates, said)[0], fired, said)
	}
}

func TestAfterAnOrderThatIsTakenBackAThingOrdersNothing(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "office", orderedScopes["office"]...)
	for _, begun := range []string{"Cancel my reservation", "Delete the user"} {
		for _, stop := range []string{"stop", "cancel", "never mind", "no"} {
			outcomes := heldWith(t, candidates, begun, stop, "HX-4821")
			assert.NotContains(t, outcomes[2], "{", "%s; %s", begun, stop)
		}
	}
}
