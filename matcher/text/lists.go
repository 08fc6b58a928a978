package text

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// List names one of the word lists in every language's table: grammar, not vocabulary of
// any domain. Words are folded: lower case, no accents. A word is looked up in all
// languages at once, since people mix them and messages do not say theirs.
type List int

// The lists, by what they are for.
const (
	// languageCode is the language's own, of ISO 639-1.
	languageCode List = iota

	// What carries no subject.

	StopWords        // articles, pronouns, prepositions, auxiliaries and question words
	RequestWords     // what people say around what they want, whatever it is
	CalendarWords    // words that say when: values, not subjects
	DefiniteArticles // the articles that people leave out of a name: "The Hague"; not die, which is an English verb
	elisions         // short words that are joined to the next one by an apostrophe
	contractions     // what is written together, without its apostrophe (but not ill, well, were, shed, wont)

	// What a sentence does.

	Fillers           // greetings and the like before what is meant
	QuestionWords     // first words of a question for knowledge
	WishWords         // words of a wish
	PoliteVerbs       // "can" and "let" of "can you" and "let me"
	PolitePersons     // "you" and "me" after them
	TellingWords      // first words of a sentence about how things are
	tellingVerbs      // verbs that tell of the noun before them
	InformingWords    // words by which a tool that answers is known
	offerPhrases      // questions for a thing, which wish for it: "do you have a table"
	possiblePhrases   // questions whether something can be done, which wish for it
	wishPairs         // wishes of two words, of which the second alone is none: "I like pizza"
	abandoningPhrases // ways to drop what was begun; few, since a call that is kept in vain fires nothing by itself

	// What a message has to do with those before it, and with the world.

	Refusals        // words that are a plain no
	repairPhrases   // what one says before saying it anew: "no", "I mean"
	loosePhrases    // those of them that are said for other reasons too, and mean it only between two pauses
	Hesitations     // sounds of somebody who looks for words
	RatherWords     // words of a choice that takes another one's place: "rather"
	SuitingWords    // what is said of a time or a thing that will do
	insteadPhrases  // what stands before the thing that is replaced: "instead of"
	contrastWords   // what stands between what is denied and what is meant: "but"
	AgainPhrases    // what asks for the same once more, or for the opposite
	SamePhrases     // what stands for what was done before
	AdditionPhrases // what adds a thing to those before it: "and", "as well"
	JoiningPhrases  // what stands between two wishes
	Pronouns        // words that stand for a thing that was named before
	LightVerbs      // verbs that say nothing without their particle or object
	ActionVerbs     // other verbs, and particles, that name no thing to do it to
	EverythingWords // objects that name no thing either
	conditionWords  // first words of a clause that says when something is to be done
	timeConditions  // those of them that ask or tell when as well, unless a Person follows
	IndefiniteWords // articles of a thing that was not named before
	openWords       // words that a sentence does not end with
	Persons         // who does something, or an article
	KnowingWords    // verbs after which such a word asks
	courtesyWords   // words after which a condition is politeness: "if possible"
	TimeUnits       // units of time
	aheadWords      // words before an amount of time, from now on
	laterWords      // times to come that are no date: "later"
	TroubleWords    // what is wrong with a thing: "lost", "broken"
	FailingVerbs    // verbs that, where they are denied, say the same: "does not work"
	PastWords       // forms of verbs that tell of the past
	participles     // irregular participles
	adverbs         // words between a person and what they did
	perfectWords    // auxiliaries of the perfect after a person: "I have turned"

	// Yes and no.

	Denials           // words right before what is not wanted
	Negations         // words that deny a sentence
	NegatingParticles // the first of two words that deny a verb: "ne … plus"
	UnableWords       // words after which a negation is of what one can do
	WantingWords      // words after which a negation is of a wish
	UndoingWords      // words that ask for something to be undone
	DroppingWords     // orders to leave something alone
	UndoingPairs      // two words, near each other, that ask for it together: "call the meeting off"
	AlteringWords     // words that ask for another time or another kind of what one has
	AlteringPairs     // the same in two words: "put it off"
	GivingVerbs       // verbs by which a tool is known that gets or makes a thing
	GettingVerbs      // verbs by which one asks for a thing, whatever it is
	Definites         // words before a thing that there is already
	Auxiliaries       // verbs before "not" that it denies with what follows
	AttendingVerbs    // verbs after "cannot" by which one will not have what one has
	UnlessWords       // words beside a negation that denies nothing: "why not", "not only"
	InsteadWords      // words right before what something else takes the place of
	onlyWords         // words after a negation that make it a limit: "not only"
	PartingWords      // thanks and good-byes
	YesWords          // values of a boolean: "refundable: yes"
	NoWords           // the same for false
	AffirmingWords    // answers that agree
	RefusingWords     // answers that do not
	ConsentPhrases    // whole answers to "shall I?" that are a plain yes, whatever it was; few, since a wrong one spends money
	AssentPhrases     // a yes as well, but only a beginning where a refusal follows: "okay, stop"
	RefusalPhrases    // whole answers to it that are a plain no
	CourtesyPhrases   // what may stand beside either
	Opposites         // pairs of opposites, of which a tool does one or the other; each word of a pair is in the list

	// What is done.

	// acts are verbs of one meaning each, after the name of the act, which is the same in all
	// languages. The words of a phrasal verb are joined by a low line, and may stand apart: get_rid.
	// actNouns are nouns of such acts. A word that is in both names an act where no plainer verb does.
	acts
	actNouns
	requestThings // RequestWords that name a thing as well
	ContractWords // what ends for good where it is cancelled or closed
	MoneyWords    // what a transfer moves, and between what
	HolderWords   // nouns that say little behind another one: "a user account"

	// What things are about.

	// related are words of one topic each, after its name, which is the same in all languages:
	// "weather: rain snow". A word may be of several topics, and stands for none.
	related

	// Dates, times and numbers.

	DateWords      // words other than names that a date begins with
	BetweenWords   // what stands before the ends of a range
	RangeWords     // what stands between the ends of a range
	OfWords        // what stands between a day, its month and its year
	DayCues        // words after which a short weekday is one
	HourCues       // words after which a number is an hour
	ClockCues      // words after which it may be one
	PairWords      // words for two that are said of people as well
	OneCues        // words after which "one" counts
	Homographs     // numbers of other languages that are words of this one
	InexactPhrases // what stands before a number that is a bound, an estimate or excluded
	BoundNames     // words of parameters that ask for a bound
	StepCues       // words before a number by which something changes: "by 10"
	ChangeWords    // words of such a change
	MoreWords      // words after such a number: "10 degrees warmer"
	Currencies     // what money is called after a number
	UnitNames      // what numbers are measured in
	UnitSigns      // the same in signs, written right after a number
	Months         // months, by number
	Weekdays       // weekdays, by number from Sunday (0) on
	ShortWeekdays  // short forms of weekdays, which may be words of their own
	NearDays       // days that are named from today, by how far ahead they are
	NamedHours     // times of day that have a name
	DayParts       // parts of the day, by the half that they are in: a or p
	NumberWords    // numbers up to ninety, of which larger ones are put together
	Numbers        // numbers that are read alone
	Ordinals       // ordinals in words
	GroupWords     // words that count with an article: "a dozen"
	PointWords     // the decimal sign, where it is spoken
	Scales         // words that multiply a number, by their zeros

	// Parameters by their names.

	BooleanWords     // words of a boolean's name that say only that it is one
	PlaceholderWords // words of a name that say only that there is a value
	DateNames        // names of dates
	ClockNames       // names of times of day
	EdgeNames        // names of the ends of a period
	StartNames       // names of its start
	EndNames         // names of its end
	AmountNames      // names of strings that hold a number
	RatingNames      // names of ratings, whatever holds them
	GroupNames       // names of what has a size in people
	PeopleWords      // people who are counted
	CodeNames        // names of codes: letters and digits that stand for one thing
	PlaceNames       // names of places
	ContentNames     // names of what is said, searched for or noted
	NotedNames       // names of what is noted or passed on, sentences of their own
	EmailNames       // names of e-mail addresses
	LinkNames        // names of URLs
	PhoneNames       // names of telephone numbers
	OriginNames      // names of where something comes from
	DestinationNames // names of where it goes
	RoomNames        // names of places in a house
	PersonNames      // names of people
	AuthorNames      // names of who made it

	// What brings a value.

	StartCues       // words before the start of a period
	EndCues         // words before its end
	LinkingWords    // words between a name and its number
	Copulas         // words between a name and its value
	BoundaryWords   // words that end a value
	Articles        // articles and all that stands in their place
	Determiners     // words that stand before a noun and name none of it
	ThatWords       // words after which comes what somebody says
	PuttingVerbs    // orders to put something on a list
	TargetCues      // words before where it is put
	TrailingWords   // words after a value that are none of it
	PersonVerbs     // verbs before a person's name
	AnnouncingWords // words after which the rest is the value
	ObjectLinks     // words between a verb and its object
	PoliteWords     // politeness at the end
	OriginCues      // words before an origin
	DestinationCues // words before a destination
	PlaceCues       // words before a place
	NamedPlaceCues  // words before a place that is a name
	RoomCues        // words before a room
	PersonCues      // words before a person
	AuthorCues      // words before an author

	lists // how many there are
)

// language is the table of one language. Words are parted by spaces, phrases by
// semicolons; a word may have a value, as in march=3.
type language map[List]string

// languages are all supported languages. To add one, write its table and name it here.
var languages = []language{english, german, french, italian, spanish}

// entries are the words or phrases of a list in a table.
func entries(words string) []string {
	if !strings.Contains(words, ";") {
		return strings.Fields(words)
	}
	var phrases []string
	for phrase := range strings.SplitSeq(words, ";") {
		if words := strings.Fields(phrase); len(words) > 0 {
			phrases = append(phrases, strings.Join(words, " "))
		}
	}
	return phrases
}

// each takes the words of a list whose entries are "name: words".
func each(list string, do func(name, word string)) {
	for _, one := range entries(list) {
		name, words, _ := strings.Cut(one, ":")
		for word := range strings.FieldsSeq(words) {
			do(name, word)
		}
	}
}

// listSet is a set of lists, as bits.
type listSet [(lists + 63) / 64]uint64

func (s *listSet) add(l List)      { s[l/64] |= 1 << (l % 64) }
func (s *listSet) has(l List) bool { return s[l/64]&(1<<(l%64)) != 0 }

// tags are what the lists know of a word. It is looked up once, where its text is split, and not in
// each list that is asked for it.
type tags struct {
	any, foreign listSet // the lists that have it: in any language, in one other than English
	begins       listSet // those with a phrase that begins with it, or that have it
	spoken       uint    // the languages that have it, as bits by their places
}

// entry is what a list has for a word: a value, which may be a number.
type entry struct {
	value    string
	number   int
	isNumber bool
}

// tagged has the tags of every word and phrase of the lists, and known their entries.
var tagged, known = read()

func read() (map[string]*tags, [lists]map[string]entry) {
	found, all := map[string]*tags{}, [lists]map[string]entry{}
	of := func(word string) *tags {
		if found[word] == nil {
			found[word] = &tags{}
		}
		return found[word]
	}
	for i, table := range languages {
		for list, words := range table {
			if all[list] == nil {
				all[list] = map[string]entry{}
			}
			for _, one := range entries(words) {
				if list == Opposites { // each word of a pair is in the list
					for word := range strings.FieldsSeq(one) {
						of(word).any.add(list)
					}
					continue
				}
				word, value, _ := strings.Cut(one, "=")
				number, err := strconv.Atoi(value)
				all[list][word] = entry{value, number, err == nil}
				t, first := of(word), word
				t.any.add(list)
				t.spoken |= 1 << i
				if i > 0 {
					t.foreign.add(list)
				}
				if end := strings.IndexByte(word, ' '); end > 0 {
					first = word[:end]
				}
				of(first).begins.add(list)
			}
		}
	}
	return found, all
}

// Has reports whether a language has the word in the list.
func (l List) Has(word string) bool {
	of := tagged[word]
	return of != nil && of.any.has(l)
}

// Value returns what the list has for the word.
func (l List) Value(word string) (string, bool) {
	one, has := known[l][word]
	return one.value, has
}

// Number returns the number that the list has for the word.
func (l List) Number(word string) (int, bool) {
	one := known[l][word]
	return one.number, one.isNumber
}

// Entries returns the words or phrases of the list, in no order.
func (l List) Entries() []string { return slices.Collect(maps.Keys(known[l])) }

// stemmed has the lists that have a word of a stem.
var stemmed = sync.OnceValue(func() map[string]*listSet {
	found := map[string]*listSet{}
	for list := range lists {
		for word := range known[list] {
			if stem := Stem(word); found[stem] == nil {
				found[stem] = &listSet{}
			}
			found[Stem(word)].add(list)
		}
	}
	return found
})

// HasStem reports whether the list has a word of a stem.
func (l List) HasStem(stem string) bool {
	of := stemmed()[stem]
	return of != nil && of.has(l)
}

// StemIs reports whether the list has a word of the same stem.
func (w Word) StemIs(list List) bool { return list.HasStem(w.Stem) }

// maxListed is the longest phrase of the lists that are looked up in sentences, in words.
const maxListed = 5

// PhraseAt returns how many words the longest phrase of the list has that stands at a place;
// 0 for none.
func (l List) PhraseAt(words []Word, at int) (longest int) {
	if at >= len(words) || words[at].tags == nil || !words[at].tags.begins.has(l) {
		return 0
	}
	said := words[at].Norm
	for end := at + 1; ; end++ {
		if l.Has(said) {
			longest = end - at
		}
		if end == len(words) || end == at+maxListed {
			return longest
		}
		said += " " + words[end].Norm
	}
}

// PhraseBefore returns how many words the longest phrase of the list has that ends right
// before a place; 0 for none.
func (l List) PhraseBefore(words []Word, end int) int {
	for first := max(0, end-maxListed); first < end; first++ {
		if length := l.PhraseAt(words, first); first+length == end {
			return length
		}
	}
	return 0
}

// has reports whether the language has the word in the list.
func (t language) has(list List, word string) bool {
	return slices.ContainsFunc(entries(t[list]), func(one string) bool {
		own, _, _ := strings.Cut(one, "=")
		return own == word
	})
}

// LanguageOf returns the code of the language that most of a text's grammar words are of; a
// word of two languages counts half for each. It is empty if there is no such word, and
// the first of the languages where there are as many of another.
func LanguageOf(text string) string {
	scores, best := make([]float64, len(languages)), 0
	for _, w := range Split(text) {
		if w.tags == nil || len(w.Norm) < 2 {
			continue
		}
		for i := range languages {
			if w.tags.spoken&(1<<i) != 0 {
				scores[i] += 1 / float64(bits.OnesCount(w.tags.spoken))
			}
		}
	}
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	if scores[best] == 0 {
		return ""
	}
	return languages[best][languageCode]
}

// foreignTo reports whether a word is in the list by another language than that of the text: "LA" is no
// French article in "a hotel in LA".
func foreignTo(said string, list List, word string) bool {
	code := LanguageOf(said)
	return code != "" && !slices.ContainsFunc(languages, func(t language) bool {
		return t[languageCode] == code && slices.ContainsFunc(entries(t[list]), func(one string) bool { return one == word || strings.HasPrefix(one, word+" ") })
	})
}
