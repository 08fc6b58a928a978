package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// plain are tools as they are written first, with few words and examples, and what is said to them in several languages.
// What is expected precedes each text, a dash means nothing.
var plain = []struct{ tools, said string }{
	{
		`{"name":"book_table","description":"Book a table","schema":[{"parameter":"people","type":"integer","required":true}],"examples":["a table for [4](people)"]},
		{"name":"cancel_booking","description":"Cancel a booking"},
		{"name":"block_card","description":"Block a bank card that is lost or stolen"},
		{"name":"wake_up","description":"Wake-up call","schema":[{"parameter":"time","type":"string","required":true}]},
		{"name":"track_order","description":"Track an order","schema":[{"parameter":"order id","type":"string","required":true}]}`,
		`cancel_booking {} = I can't make it on Tuesday, please cancel
		cancel_booking {} = I can't come on Friday, please cancel
		- = I can't find it, please cancel
		block_card {} = I lost my wallet
		block_card {} = my card was stolen
		block_card {} = somebody stole my card
		- = I lost my umbrella
		- = the missing card arrived
		wake_up {"time":"by 7"} = wake me by 7
		wake_up {"time":"7"} = wake me at 7
		track_order {"order id":"4711"} = track order id 4711
		track_order {"order id":"A-4711"} = id like to track the order with id A-4711`,
	},
	{
		`{"name":"start_pump","description":"Start the pump","schema":[{"parameter":"speed","type":"integer"}],"examples":["Start the pump"]},
		{"name":"book_appointment","description":"Book an appointment at the clinic","schema":[{"parameter":"day","type":"string","required":true}],"examples":["I need an appointment on [Monday](day)"]},
		{"name":"cancel_appointment","description":"Cancel an appointment at the clinic","examples":["I need to cancel my appointment"]},
		{"name":"move_appointment","description":"Move an appointment to another day","examples":["Move my appointment to [Thursday](new_day)"],"schema":[{"parameter":"new_day","type":"string","required":true}]},
		{"name":"refill","description":"Order a prescription again","examples":["I need a new prescription for [ibuprofen](medicine)"],"schema":[{"parameter":"medicine","type":"string","required":true}]},
		{"name":"call_nurse","description":"Call a nurse to the patient","examples":["I need a nurse"]}`,
		`start_pump {} = Start the pump in building 4
		- = I need to be there at my appointment
		book_appointment misses [day] = I need an appointment`,
	},
	{`{"name":"cancel_order","description":"Cancel an order"}`, `- = I can't make it on Tuesday, please cancel`},
	{`{"name":"absagen","description":"Einen Termin absagen"}`, `absagen {} = Ich kann am Freitag nicht kommen, bitte absagen
		absagen {} = Ich muss meinen Termin absagen
		- = Muss ich meinen Termin absagen?`},
	{
		`{"name":"termin_buchen","description":"Termin in der Praxis vereinbaren","schema":[{"parameter":"datum","type":"string","format":"date","required":true},{"parameter":"uhrzeit","type":"string","format":"time","required":true}]},
		{"name":"termin_absagen","description":"Einen Termin absagen"}`,
		`termin_buchen misses [datum uhrzeit] = Ich brauche einen Termin
		termin_buchen {"datum":"2026-12-14","uhrzeit":"10:30"} = Kann ich am 14. Dezember um 10:30 Uhr einen Termin haben?
		- = Kann ich den Termin absagen?
		- = Ich musste gestern in die Praxis
		- = Ich brauche keinen Termin
		- = Mein Mann braucht einen Termin`,
	},
	{
		`{"name":"get_towel","description":"Get a towel"},{"name":"get_taxi","description":"Order a taxi","schema":[{"parameter":"when","type":"string"}]},
		{"name":"get_weather","description":"Get the weather"},{"name":"saldo","description":"Decir el saldo de la cuenta","readOnly":true}`,
		`get_towel {} = get me a towel
		get_towel {} = can I get a towel?
		get_taxi {} = can I get a taxi
		get_weather {} = what is the weather
		saldo {} = ¿Cuál es mi saldo?
		- = where is my towel
		- = is there a towel?
		- = how much is a taxi?
		- = did the taxi arrive?`,
	},
	{
		`{"name":"pump","description":"Release a pump","schema":[{"parameter":"number","type":"integer","description":"pump number","required":true}],"examples":["la pompe 3 s'il vous plaît","surtidor 3 por favor"]},
		{"name":"flight","description":"Reservar un vuelo","schema":[{"parameter":"origin","type":"string","required":true},{"parameter":"destination","type":"string","required":true}],
			"examples":["reserva un vuelo","prenota un volo","réserve un vol"]}`,
		`pump {"number":4} = la pompe 4
		pump {"number":4} = la pompe 4 s'il vous plaît
		pump {"number":4} = el surtidor 4 por favor
		- = la pompe 4 est en panne
		flight {"destination":"Roma","origin":"Madrid"} = reserva un vuelo de Madrid a Roma
		flight {"destination":"Lyon","origin":"Paris"} = réserve un vol de Paris à Lyon
		flight {"destination":"Roma","origin":"Milano"} = prenota un volo da Milano a Roma
		flight {"destination":"Palma de Mallorca","origin":"Madrid"} = reserva un vuelo de Madrid a Palma de Mallorca
		flight misses [origin] = reserva un vuelo a Roma`,
	},
	{
		`{"name":"liberer_pompe","description":"Libérer une pompe","schema":[{"parameter":"pompe","type":"integer","required":true}]},
		{"name":"reserver_vol","description":"Réserver un vol","schema":[{"parameter":"depart","type":"string","required":true},{"parameter":"arrivee","type":"string","required":true}]}`,
		`liberer_pompe {"pompe":4} = libère la pompe numéro 4
		liberer_pompe {"pompe":4} = la pompe 4 s'il vous plaît
		reserver_vol {"arrivee":"Lyon","depart":"Paris"} = je voudrais réserver un vol de Paris pour Lyon
		reserver_vol {"arrivee":"Lyon","depart":"Oslo"} = réserve un vol d'Oslo à Lyon`,
	},
	{
		`{"name":"abrir_surtidor","description":"Abrir un surtidor","schema":[{"parameter":"surtidor","type":"integer","required":true}]},
		{"name":"cancelar","description":"Cancelar una reserva","schema":[{"parameter":"codigo","type":"string","description":"código de reserva, p. ej. AB12CD","required":true}]},
		{"name":"hotel","description":"Reservar una habitación de hotel","schema":[{"parameter":"ciudad","type":"string","required":true}],"examples":["Quiero un hotel en [Roma](ciudad)"]}`,
		`abrir_surtidor {"surtidor":4} = abre el surtidor 4
		cancelar {"codigo":"XK45PT"} = Cancela la reserva XK45PT, por favor
		hotel {"ciudad":"Viena"} = ¿Me reservas un hotel en Viena?
		abrir_surtidor {"surtidor":4}; cancelar {"codigo":"XK45PT"} = abre el surtidor 4 y cancela la reserva XK45PT`,
	},
	{
		`{"name":"clima","description":"Regolare il climatizzatore","schema":[{"parameter":"gradi","type":"number","required":true}],"examples":["Metti il clima a [20](gradi) gradi"]},
		{"name":"sblocca","description":"Sbloccare una pompa","schema":[{"parameter":"pompa","type":"integer","required":true}]},
		{"name":"soccorso","description":"Chiamare il soccorso stradale","schema":[{"parameter":"luogo","type":"string","required":true}]},
		{"name":"carta_identita","description":"Prenotare un appuntamento per la carta d'identità","schema":[{"parameter":"data","type":"string","format":"date","required":true}]}`,
		`clima misses [gradi] = Metti il clima circa a 20 gradi
		clima {"gradi":21}; sblocca {"pompa":1} = Metti il clima a 21 gradi e sblocca la pompa 1
		soccorso {"luogo":"Bologna"} = Chiama il soccorso stradale a Bologna
		sblocca {"pompa":2} = Potete sbloccarmi la pompa 2?
		carta_identita misses [data] = Appuntamento per la carta d'identità la prossima settimana
		- = La pompa 4 è rotta`,
	},
	{
		`{"name":"ajouter_panier","description":"Ajouter un article au panier","schema":[{"parameter":"article","type":"string","required":true,"allowedValues":["chemise","robe","veste"]},
			{"parameter":"quantite","type":"integer","required":true},{"parameter":"couleur","type":"string","allowedValues":["rouge","bleu","noir"]}]},
		{"name":"adresse","description":"Changer l'adresse de livraison","schema":[{"parameter":"adresse","type":"string","required":true}]},
		{"name":"retourner","description":"Retourner un article","schema":[{"parameter":"commande","type":"string","description":"numéro de commande, par ex. FR-10234","required":true}]},
		{"name":"suivre_commande","description":"Donner l'état d'une commande","readOnly":true,"schema":[{"parameter":"numero","type":"string","description":"par ex. FR-10234","required":true}]}`,
		`ajouter_panier {"article":"chemise","couleur":"bleu","quantite":2} = Ajoutez deux chemises bleues au panier
		ajouter_panier misses [quantite] = Ajoutez une ou deux vestes au panier
		adresse {"adresse":"8 avenue Foch, Metz"} = Changez mon adresse de livraison : 8 avenue Foch, Metz
		suivre_commande {"numero":"FR-20311"} = Où en est ma commande FR-20311 ?`,
	},
	{
		`{"name":"inscrire_cantine","description":"Inscrire un élève à la cantine","schema":[{"parameter":"eleve","type":"string","required":true},
			{"parameter":"jour","type":"string","required":true,"allowedValues":["lundi","mardi"]}],"examples":["Inscrivez [Léa](eleve) à la cantine le [mardi](jour)"]},
		{"name":"signaler_absence","description":"Signaler l'absence d'un élève","schema":[{"parameter":"eleve","type":"string","required":true}]},
		{"name":"rendez_vous","description":"Prendre rendez-vous avec un professeur","schema":[{"parameter":"professeur","type":"string","required":true},{"parameter":"heure","type":"string","format":"time"}]},
		{"name":"emprunter_livre","description":"Emprunter un livre","schema":[{"parameter":"titre","type":"string","required":true}]}`,
		`inscrire_cantine {"eleve":"Inès","jour":"mardi"} = Merci d'inscrire Inès à la cantine le mardi
		inscrire_cantine {"eleve":"Camille","jour":"lundi"} = Pouvez-vous inscrire ma fille Camille à la cantine le lundi ?
		signaler_absence {"eleve":"Anna"} = Signalez l'absence d'Anna
		signaler_absence misses [eleve] = Je dois signaler une absence
		rendez_vous {"professeur":"Mme Dubois"} = Je voudrais un rendez-vous avec Mme Dubois
		rendez_vous misses [professeur] = un rendez-vous avec le professeur vers midi svp
		emprunter_livre {"titre":"Le Petit Prince"} = Je veux emprunter « Le Petit Prince »
		- = Léa mange à la cantine le mardi`,
	},
	{
		`{"name":"order_towels","description":"Bring towels to a room","schema":[{"parameter":"room","type":"integer","required":true},{"parameter":"count","type":"integer","description":"how many","required":true}]}`,
		`order_towels {"count":4,"room":214} = Please bring four towels to room 214
		order_towels {"count":2,"room":31} = Could you send 2 towels up to room 31, please?
		order_towels {"count":3,"room":77} = room 77 needs three towels`,
	},
	{
		`{"name":"urlaub","description":"Urlaub beantragen oder eintragen","schema":[{"parameter":"von","type":"string","format":"date","required":true},{"parameter":"bis","type":"string","format":"date","required":true}]}`,
		`urlaub {"bis":"2027-02-05","von":"2027-02-01"} = Bitte Urlaub vom 1.2. bis zum 5.2. eintragen
		urlaub {"bis":"2027-02-05","von":"2027-02-01"} = Trag bitte Urlaub vom 1.2. bis 5.2. ein`,
	},
}

func TestPlainToolsAreCalledInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, set := range plain {
		for one := range strings.SplitSeq(set.said, "\n") {
			want, said, _ := strings.Cut(strings.TrimSpace(one), " = ")
			assert.Equal(t, strings.TrimPrefix(want, "-"), matched(t, said, set.tools), said)
		}
	}
}
