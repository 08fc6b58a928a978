package text

import (
	"slices"
	"strings"
)

// Mood is what a sentence does.
type Mood uint8

// Moods.
const (
	Fragment  Mood = iota // names a thing or orders: "appointment, please", "book a desk"
	Wish                  // says that something is wanted: "I need", "can you"
	Question              // asks for knowledge: "when is", "do I need"
	Statement             // tells: "my appointment was fine"
	MoodCount             // how many moods there are
)

// MoodOf reads the mood from the first words and the marks of a request.
func MoodOf(text string, words []Word) Mood {
	first := Opening(words)
	switch {
	case first < 0:
		return Fragment
	case asking(words[first:]):
		return Question
	case wishes(words):
		return Wish
	case telling[words[first].Norm]:
		return Statement
	case strings.HasSuffix(strings.TrimRight(text, " \n"), "?") && !orders(words[first:]):
		return Question
	}
	return Fragment
}

// Opening is the place of the first word that is no greeting or filler, or -1.
func Opening(words []Word) int {
	for i, w := range words {
		if !fillers[w.Norm] {
			return i
		}
	}
	return -1
}

// asking reports whether the words begin as a question for knowledge does. "What
// about" and "why don't you" suggest; "can you" and "would you" order.
func asking(words []Word) bool {
	if !questionWords[words[0].Norm] {
		return false
	}
	if len(words) < 3 {
		return true
	}
	suggests := words[1].Norm == "about" || words[0].Norm == "why" && words[2].Norm == "not"
	return !suggests
}

func wishes(words []Word) bool {
	for i, w := range words {
		if wishWords[w.Norm] {
			return true
		}
		if i > 0 && (orders(words[i-1:]) || wishPairs[words[i-1].Norm+" "+w.Norm]) {
			return true
		}
	}
	return false
}

// orders reports whether the words begin with "can you", "could I", "let me" and the
// like.
func orders(words []Word) bool {
	if len(words) < 2 {
		return false
	}
	return politeVerbs[words[0].Norm] && politePersons[words[1].Norm]
}

var fillers = Set(`hey hi hello ok okay well so and but yes yeah yep sure great good fine please excuse oh um uh
	now then also just actually hallo bonjour ciao hola bitte ja oui si und et e y also alors allora`)

var questionWords = Set(`what when where who whom whose which why how do does did is are was were has have
	was wann wo wer wie welche welcher welches warum wieso weshalb ist sind hat gibt
	que quel quelle quels quelles quand ou comment pourquoi qui combien est
	cosa quando dove come perche quanto quale chi
	cuando donde como cual cuanto quien cuales cuantos`)

var wishWords = Set(`want wants need needs wish please pls plz looking wondering require required requesting must gimme hoping
	mochte mochten brauche brauchen bitte gerne gern hatte
	veux voudrais voudrait souhaite aimerais besoin svp vorrei voglio bisogno favore quiero quisiera necesito favor`)

// wishPairs are wishes of two words, of which the second alone is none: "I like pizza".
var wishPairs = map[string]bool{"would like": true, "would love": true, "would prefer": true, "ich will": true, "will ich": true}

var politeVerbs = Set(`can could would will may might shall let give show get tell help kannst konnen konnten konntest
	wurden wurdest peux pouvez pourriez pourrais puoi potresti puede puedes podria podrias`)

var politePersons = Set(`you i we me us someone ihr sie du mir uns ich tu vous je nous mi`)

// telling are the words with which a sentence about how things are begins.
var telling = Set(`i we he she it they my our his her their your the this that these those there you
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

// Abandons reports whether a text says that what was begun is not wanted any more.
func Abandons(text string) bool {
	var said []string
	for _, w := range Split(text) {
		if !fillers[w.Norm] {
			said = append(said, w.Norm)
		}
	}
	whole := strings.Join(said, " ")
	return slices.ContainsFunc(abandoning, func(way string) bool {
		return whole == way || strings.HasPrefix(whole, way+" ") && len(said) <= 6
	})
}
