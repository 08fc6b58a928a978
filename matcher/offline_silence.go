package matcher

import "strings"

// refuses reports whether the text says that the thing is not wanted, or wants it
// undone. A tool whose own words speak of that ("cancel booking", "card not working")
// is meant by such a text, and so not refused by it.
func refuses(p *profile, words []word) bool {
	if undoes(p, words) {
		return false
	}
	begun := false // a word with a subject stands before
	for i, w := range words {
		if contradicts(p, w) {
			return true
		}
		if undoing[w.norm] && !p.known[w.stem] {
			return true
		}
		if dropping[w.norm] && !begun && !p.known[w.stem] {
			return true
		}
		if negations[w.norm] && !p.known[w.stem] && negates(p, words, i) {
			return true
		}
		begun = begun || subject(w)
	}
	return false
}

// contradicts reports whether the word is the opposite of one that the tool is named
// for or described with: "off" for a tool that turns on.
func contradicts(p *profile, w word) bool {
	if p.known[w.stem] {
		return false
	}
	for _, opposite := range opposites[w.norm] {
		if p.title[stem(opposite)] {
			return true
		}
	}
	return false
}

// undoes reports whether the text wants something undone and the tool does that.
func undoes(p *profile, words []word) bool {
	for _, w := range words {
		if undoing[w.norm] && p.known[w.stem] {
			return true
		}
	}
	return false
}

// negates reports whether the negation at i is of a wish or of what the tool does:
// "do not want", "no appointment", but not "I can not find" or "I do not know".
func negates(p *profile, words []word, i int) bool {
	if i == 0 || words[i].norm == "never" || foreignNegations[words[i].norm] {
		return true
	}
	if unable[words[i-1].norm] || words[i-1].norm == "or" {
		return false
	}
	for _, w := range words[i+1 : min(i+4, len(words))] {
		if wanting[w.norm] || p.name[w.stem] {
			return true
		}
	}
	return false
}

// thanks reports whether the text is a thank-you or a good-bye and no request.
func thanks(p *profile, words []word, m mood) bool {
	if m == request || m == question {
		return false
	}
	for _, w := range words {
		if parting[w.norm] && !p.known[w.stem] {
			return true
		}
	}
	return false
}

// opposites are pairs of which a tool does the one or the other.
var opposites = mutual(`on off; open close; open shut; start stop; enable disable; add remove; add delete; lock unlock;
	up down; increase decrease; raise lower; show hide; mute unmute; subscribe unsubscribe; activate deactivate; buy sell;
	connect disconnect; enter leave; begin end; freeze unfreeze; block unblock; install uninstall; arm disarm; import export;
	an aus; einschalten ausschalten; offnen schliessen; allumer eteindre; ouvrir fermer; accendere spegnere; aprire chiudere;
	encender apagar; abrir cerrar`)

func mutual(text string) map[string][]string {
	found := map[string][]string{}
	for pair := range strings.SplitSeq(text, ";") {
		both := strings.Fields(pair)
		found[both[0]] = append(found[both[0]], both[1])
		found[both[1]] = append(found[both[1]], both[0])
	}
	return found
}

var (
	undoing = set(`cancel cancels cancelled canceled cancelling canceling cancellation abort undo revoke withdraw
		nevermind stornieren storniere absagen abbrechen abbestellen annuler annulez annule annulla annullare
		annulli disdire disdici cancelar cancela cancele anular anula`)
	dropping = set(`stop forget remove delete drop discard quit skip ignore leave vergiss oublie oubliez dimentica
		lascia olvida deja`)
	negations = set(`not no never without nor neither nicht kein keine keinen keinem keiner nie pas jamais aucun aucune
		non mai nessun nessuno nunca ningun ninguna`)
	foreignNegations = set(`nicht kein keine keinen keinem keiner nie pas jamais aucun aucune non mai nessun nessuno
		nunca ningun ninguna`)
	unable  = set(`can could able`)
	wanting = set(`want need wish like require care interested mean thanks thank longer now necessary more intend plan
		going bother have`)
	parting = set(`thanks thank thx cheers bye goodbye danke merci grazie gracias tschuss adieu arrivederci adios`)
)
