package text

// Claims returns the places of the words by which a statement tells something of a thing: "missing" of "my bag is missing",
// "arrive" of "my suitcase did not arrive". Words for which is is true are none.
func Claims(t Text, is func(i int) bool) (claims []int) {
	thing := false // the words name one
	for i, w := range t.Words {
		switch {
		case w.Is(Definites, DefiniteArticles, ownWords):
			thing = true
			continue
		case thing && w.IsSubject() && !t.parted(i) && namesThing(t, i):
			continue
		}
		if thing = false; w.IsSubject() && !is(i) && !w.Is(Auxiliaries, tellingVerbs, havingWords) {
			claims = append(claims, i)
		}
	}
	return claims
}

// namesThing reports whether the word at i, after an article, is of the thing that it brings: the first one, or one before a verb
// such as "is".
func namesThing(t Text, i int) bool {
	if before := t.At(i - 1); before.Is(Definites, DefiniteArticles, ownWords) {
		return true
	}
	end := i
	for end < len(t.Words) && t.Words[end].IsSubject() && !(end > i && t.parted(end)) && !t.Words[end].Is(tellingVerbs, Auxiliaries) {
		end++
	}
	return end < len(t.Words) && !t.parted(end) && t.Words[end].Is(tellingVerbs, Auxiliaries, PastWords, havingWords, Negations, NegatingParticles)
}

// SaysSame reports whether another text has the word at a place, and both deny it or neither does.
func SaysSame(t Text, i int, other Text) bool {
	for at, w := range other.Words {
		if w.Stem == t.Words[i].Stem && deniesAround(t, i) == deniesAround(other, at) {
			return true
		}
	}
	return false
}

// deniesAround reports whether the words around the one at i, up to a pause or an "and", deny something.
func deniesAround(t Text, i int) bool {
	first, end := i, i+1
	for first > 0 && !t.parted(first) && JoiningPhrases.PhraseAt(t.Words, first) == 0 {
		first--
	}
	for end < len(t.Words) && !t.parted(end) && JoiningPhrases.PhraseAt(t.Words, end) == 0 {
		end++
	}
	return AnyIs(t.Words[first:end], Negations, Denials, NegatingParticles)
}
