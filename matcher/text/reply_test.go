package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answers by language: plainly yes, plainly no, and neither, separated by lines and bars.
var answers = map[string]struct{ yes, no, neither string }{
	"English": {`
yes|Yes.|YES!| yes please|yes, please|yeah, that's fine|yes, I'd like that|ok cool|sounds good|Yes, I do|yeah sure|yep|ok
Okay, do it|ok thanks|alright then|please do|go ahead|Yes, go ahead, thank you very much|let's do it|that's right|that’s fine
yes, quickly|Yes, right away please|sure, as soon as possible|ok, immediately|do it, asap|yes now
of course|absolutely|sure|confirm|um, yes|by all means|👍|👍🏽👍|yes 👍|✔️|✅`, `
no|No!|no no|nope|no thanks|No, thank you|no, cancel it|no cancel it|No, don't do it|please don't|dont|Not now.
no, not this time|no, that's wrong|I'd rather not|I don't want that|of course not|absolutely not|not at all|stop|ok, stop
please stop|cancel|Cancel that, please.|never mind|no way|forget it|👎|no 🙏|❌`, `
yes but only 20 euros|yes, and book a table|yes if it is free|yes unless it rains|yes?|yes, why?|why not|why not?|no idea
no problem|no worries|no doubt|no rush, go ahead|no, go ahead|no, ok|yes no|yes, cancel it|do not stop|don't cancel
please don't forget it|don't stop, go ahead|no more than 20|not sure|maybe|I guess so|yeah right|sure, why not|yes tomorrow
yes 20|yes, A-17|yes to the first one|no, the other one|yes...|yes…|yes 😂|yes / no|"yes"|(yes)|okay I'd like a table for two
yes, if possible|yes, for me|yes, today please|yes, can you|quickly|immediately, yes|no, immediately|stop, right now|now|hurry up
is it ok|is it ok?|ok?|can you stop|I said yes|say yes|don't say no|please|thanks|great|👍 👎|🤔|🙏|👍?|go|yes $|y̶e̶s̶|да|好`},
	"German": {`
ja|Ja, bitte|ja mach das|Ja, mach's|ja gerne|Gerne!|klar|Na klar|natürlich|natuerlich|selbstverständlich|in Ordnung
ja, schnell|ja bitte sofort|klar, so schnell wie möglich|einverstanden|auf jeden Fall|Ja, genau|jawohl|ok, mach das bitte|machen Sie das|ja, danke|ja, das passt|bestätigt`, `
nein|Nein danke|nein, danke|nö|nee|lieber nicht|nein, lieber nicht|nein lieber nicht|auf keinen Fall|bitte nicht|mach das nicht
Nein, mach das bitte nicht|stopp|abbrechen|Nein, abbrechen|nein abbrechen|brich das ab|vergiss es|ich möchte das nicht
natürlich nicht|sicher nicht|lass das|nein, passt|nein, das stimmt nicht`, `
ja aber nur 20 Euro|ja, aber nicht heute|ja ja|Ja ja ja|jein|ja nein|ja oder nein|ja, morgen|ja und buche einen Tisch
ja, wenn möglich|schnell|nein, sofort|ja, wenn es geht|kein Problem|keine Ahnung|nein, kein Problem|nicht abbrechen|bitte nicht abbrechen|auf keinen Fall abbrechen
egal|vielleicht|warum nicht|warum nicht?|ja?|bitte|danke|nein, mach das|nein, doch|mach das Licht an|ja, mach das Licht an
lass das Licht an|morgen|hm|ach ja?|sicher?|passt|gut`},
	"French": {`
oui|Oui, s'il te plaît|oui s’il vous plaît|oui merci|ouais|bien sûr|d'accord|ok d'accord|je suis d'accord|vas-y|Allez-y !
oui, tout de suite|oui, vite s'il vous plaît|fais-le|volontiers|je confirme|tout à fait|ça marche|mais oui|oui c'est bon`, `
non|Non merci|non, merci|surtout pas|pas du tout|annule|non, annule|non annule|annulez ça|arrête|laisse tomber|bien sûr que non
ne le fais pas|certainement pas|je ne veux pas|non c'est bon|Non, pas maintenant`, `
oui, si possible|tout de suite|oui mais seulement 20 euros|oui, et réserve une table|oui ou non|oui non|si tu veux|pas de problème|pas de souci
non pas de problème|pourquoi pas|pourquoi pas ?|oui ?|merci|je ne sais pas|peut-être|ne pas annuler|n'annule pas
surtout pas annuler|oui demain|non, vas-y|ça va|c'est bon`},
	"Italian": {`
sì, subito|sì, in fretta|sì|si|Sì, grazie|sì per favore|si si|certo|certo che sì|va bene|ok va bene|d'accordo|procedi|fallo pure|confermo|volentieri
vai avanti`, `
no|No grazie|no, grazie|annulla|no, annulla|no annulla|annullalo|meglio di no|assolutamente no|certo che no|non farlo
lascia stare|fermati|no, va bene così|no, non ora|basta`, `
sì, se possibile|subito|sì ma solo 20 euro|sì, e prenota un tavolo|sì o no|sì no|se vuoi|non annullare|non annulla|nessun problema|non so|forse
perché no|perché no?|sì?|grazie|sì domani|no, procedi|va bene domani|certo come no|va bene così`},
	"Spanish": {`
sí, rápido|vale, cuanto antes|sí|si|Sí, por favor|sí sí|claro|claro que sí|por supuesto|de acuerdo|vale|vale, hazlo|¡Adelante!|dale|hazlo|está bien|confirmo
desde luego`, `
no|No, gracias|no gracias|mejor no|cancela|no, cancela|cancélalo|no, cancélalo|para nada|claro que no|de ninguna manera
no lo hagas|no quiero|olvídalo|ahora no|déjalo`, `
sí, si es posible|rápido|sí pero solo 20 euros|sí, y reserva una mesa|sí o no|si quieres|si no|si puede ser|no cancelar|no anular|no canceles
no hay problema|no sé|no tengo idea|por qué no|¿por qué no?|¿sí?|gracias|sí mañana|no, hazlo|tal vez|ja ja|jajaja|y|para`},
}

func parted(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == '\n' || r == '|' })
}

func TestConsents(t *testing.T) {
	for language, of := range answers {
		for _, said := range parted(of.yes) {
			yes, no := Consents(said)
			require.True(t, yes && !no, "%s yes: %q is %v, %v", language, said, yes, no)
		}
		for _, said := range parted(of.no) {
			yes, no := Consents(said)
			require.True(t, no && !yes, "%s no: %q is %v, %v", language, said, yes, no)
		}
		for _, said := range append(parted(of.neither), "", " ", ".", "\xff", "yes\xff", "yes\u200bno", "yes\x00", strings.Repeat("yes ", 40)) {
			yes, no := Consents(said)
			require.False(t, yes || no, "%s neither: %q is %v, %v", language, said, yes, no)
		}
	}
}

func TestEveryPhraseOfAnAnswerIsReadAsItIsListed(t *testing.T) {
	for _, list := range []List{ConsentPhrases, AssentPhrases, RefusalPhrases, CourtesyPhrases} {
		for _, said := range list.Entries() {
			yes, no := Consents(said)
			require.Equal(t, list == ConsentPhrases || list == AssentPhrases, yes, said)
			require.Equal(t, list == RefusalPhrases, no, said)
		}
	}
}

// FuzzConsents searches for a text that is both yes and no, and for one that stays so with a question mark or a
// condition.
func FuzzConsents(f *testing.F) {
	for _, of := range answers {
		for _, said := range parted(of.yes + "|" + of.no + "|" + of.neither) {
			f.Add(said)
		}
	}
	f.Fuzz(func(t *testing.T, said string) {
		yes, no := Consents(said)
		require.False(t, yes && no, "both")
		for _, more := range []string{"?", " but cheaper", " wenn es geht", " 20", " peut-être"} {
			yes, no := Consents(said + more)
			require.False(t, yes || no, "%q", said+more)
		}
		if yes {
			_, no := Consents("no, " + said)
			require.False(t, no, "a refusal that is followed by a yes")
		}
	})
}

func BenchmarkConsents(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Consents("ok, do it please")
		Consents("I would like a table for two at eight")
	}
}
