package matcher

import "strings"

// inWords reads a number in words that begins at word i, ordinals and the words for
// two and twelve included; end is i for none.
func (r *momentText) inWords(i int) (value, end int) {
	w := r.at(i)
	if value, end = r.someOf(i); end > i {
		return value, end
	}
	if small[w] > 0 || w == "zero" {
		value, end = r.spelled(i)
		if end == i && w == "one" && r.countsOne(i) {
			return 1, i + 1
		}
		return r.lastOrdinal(value, i, end)
	}
	if value, ok := ordinalWords[w]; ok {
		return value, i + 1
	}
	if value, ok := foreignNumbers[w]; ok {
		return value, i + 1
	}
	return 0, i
}

// someOf reads "a hundred", "a dozen", "a couple" and "dozen".
func (r *momentText) someOf(i int) (value, end int) {
	at := i
	if r.at(i) == "a" || r.at(i) == "an" {
		at++
	}
	if value, ok := groupWords[r.at(at)]; ok && (at > i || !scaleWords[r.at(at)]) {
		return value, at + 1
	}
	return 0, i
}

// countsOne reports whether a lone "one" is said as a number: "for one", "just one",
// or nothing else.
func (r *momentText) countsOne(i int) bool { return len(r.words) == 1 || oneCues[r.at(i-1)] }

// lastOrdinal reads the ordinal that ends a number: "twenty-first".
func (r *momentText) lastOrdinal(value, first, end int) (int, int) {
	last, ok := ordinalWords[r.at(end)]
	if end > first && ok && value >= 20 && value%10 == 0 && last < 10 {
		return value + last, end + 1
	}
	return value, end
}

// onlyNumber is the number that the whole text is, a currency or a unit aside. An
// ordinal word is none: "second" is a class before it is a 2.
func (r *momentText) onlyNumber() []string {
	if len(r.words) == 0 || ordinalWords[r.words[len(r.words)-1].norm] > 0 {
		return nil
	}
	values, end := r.amount(0)
	if end == 0 {
		return nil
	}
	for ; end < len(r.words); end++ {
		if !units[r.words[end].stem] && !currencies[r.words[end].norm] {
			return nil
		}
	}
	if r.negative(0) {
		values = each(values, func(value string) string { return "-" + value })
	}
	return values
}

var (
	groupWords   = map[string]int{"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12, "couple": 2, "pair": 2}
	scaleWords   = set(`hundred thousand million billion`)
	oneCues      = set(`for just only of exactly`)
	currencies   = set(`usd eur chf gbp jpy dollars euros francs pounds yen bucks`)
	ordinalWords = ordinals(`first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
		fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth`)
	// Words that mean something else in another of the languages are left out, as
	// the Italian due and sei.
	foreignNumbers = counted(
		`- zwei drei vier funf sechs sieben acht neun zehn elf zwolf`,
		`- deux trois quatre cinq - sept huit neuf dix onze douze`,
		`- - tre quattro cinque - sette otto nove dieci undici dodici`,
		`- dos tres cuatro cinco seis siete ocho nueve diez once doce`)
)

func ordinals(words string) map[string]int {
	found := counted(words)
	found["thirtieth"] = 30
	return found
}

// counted numbers the words of each language from one on; a dash skips a number.
func counted(languages ...string) map[string]int {
	found := map[string]int{}
	for _, words := range languages {
		for i, w := range strings.Fields(words) {
			if w != "-" {
				found[w] = i + 1
			}
		}
	}
	return found
}
