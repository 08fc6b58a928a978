package matcher

import (
	"slices"
	"strings"
)

// mood is what a sentence does.
type mood uint8

const (
	fragment  mood = iota // names a thing or orders: "appointment, please", "book a desk"
	request               // says that something is wanted: "I need", "can you"
	question              // asks for knowledge: "when is", "do I need"
	statement             // tells: "my appointment was fine"
	moods
)

// moodOf reads the mood from the first words and the marks of a request.
func moodOf(text string, words []word) mood {
	first := opening(words)
	switch {
	case first < 0:
		return fragment
	case asking(words[first:]):
		return question
	case wishes(words):
		return request
	case telling[words[first].norm]:
		return statement
	case strings.HasSuffix(strings.TrimRight(text, " \n"), "?") && !orders(words[first:]):
		return question
	}
	return fragment
}

// opening is the place of the first word that is no greeting or filler, or -1.
func opening(words []word) int {
	for i, w := range words {
		if !fillers[w.norm] {
			return i
		}
	}
	return -1
}

// asking reports whether the words begin as a question for knowledge does. "What
// about" and "why don't you" suggest; "can you" and "would you" order.
func asking(words []word) bool {
	if !questionWords[words[0].norm] {
		return false
	}
	if len(words) < 3 {
		return true
	}
	suggests := words[1].norm == "about" || words[0].norm == "why" && words[2].norm == "not"
	return !suggests
}

func wishes(words []word) bool {
	for i, w := range words {
		if wishWords[w.norm] {
			return true
		}
		if i > 0 && (orders(words[i-1:]) || wishPairs[words[i-1].norm+" "+w.norm]) {
			return true
		}
	}
	return false
}

// orders reports whether the words begin with "can you", "could I", "let me" and the
// like.
func orders(words []word) bool {
	if len(words) < 2 {
		return false
	}
	return politeVerbs[words[0].norm] && politePersons[words[1].norm]
}

var fillers = set(`hey hi hello ok okay well so and but yes yeah yep sure great good fine please excuse oh um uh
	now then also just actually hallo bonjour ciao hola bitte ja oui si und et e y also alors allora`)

var questionWords = set(`what when where who whom whose which why how do does did is are was were has have
	was wann wo wer wie welche welcher welches warum wieso weshalb ist sind hat gibt
	que quel quelle quels quelles quand ou comment pourquoi qui combien est
	cosa quando dove come perche quanto quale chi
	cuando donde como cual cuanto quien cuales cuantos`)

var wishWords = set(`want wants need needs wish please pls plz looking wondering require required requesting must gimme hoping
	mochte mochten brauche brauchen bitte gerne gern hatte
	veux voudrais voudrait souhaite aimerais besoin svp vorrei voglio bisogno favore quiero quisiera necesito favor`)

// wishPairs are wishes of two words, of which the second alone is none: "I like pizza".
var wishPairs = map[string]bool{"would like": true, "would love": true, "would prefer": true, "ich will": true, "will ich": true}

var politeVerbs = set(`can could would will may might shall let give show get tell help kannst konnen konnten konntest
	wurden wurdest peux pouvez pourriez pourrais puoi potresti puede puedes podria podrias`)

var politePersons = set(`you i we me us someone ihr sie du mir uns ich tu vous je nous mi`)

// telling are the words with which a sentence about how things are begins.
var telling = set(`i we he she it they my our his her their your the this that these those there you
	yesterday someone everyone nobody if maybe perhaps ich wir mein meine der die das es je mon ma le la les mi mio mia il lo
	yo el mis nuestro`)

// abandoning are the ways to drop what was begun, as they stand in a text of their own.
// They are few, since a call that is kept in vain fires nothing by itself.
var abandoning = []string{
	"never mind", "nevermind", "forget it", "forget about it", "cancel", "cancel that", "cancel it", "drop it", "leave it", "no thanks",
	"no thank you", "not anymore", "stop", "scratch that",
	"vergiss es", "vergessen sie es", "egal", "abbrechen", "laisse tomber", "laissez tomber", "annule", "annuler",
	"lascia stare", "lascia perdere", "annulla", "olvidalo", "dejalo", "cancela",
}

// abandons reports whether a text says that what was begun is not wanted any more.
func abandons(text string) bool {
	var said []string
	for _, w := range split(text) {
		if !fillers[w.norm] {
			said = append(said, w.norm)
		}
	}
	whole := strings.Join(said, " ")
	return slices.ContainsFunc(abandoning, func(way string) bool {
		return whole == way || strings.HasPrefix(whole, way+" ") && len(said) <= 6
	})
}
