package text

import (
	"embed"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// List names one of the word lists in every language's table: grammar, not the vocabulary of a domain. Words are
// folded: lower case, no accents. A lookup covers all languages at once, since people mix them and messages do not
// declare theirs.
type List int

// The lists by purpose.
const (
	// Words without a subject.

	StopWords        List = iota // articles, pronouns, prepositions, auxiliaries and question words
	RequestWords                 // phrases around a request, whatever it is
	CalendarWords                // words for a time: values, not subjects
	DefiniteArticles             // articles often left out of names: "The Hague"; not die, which is an English verb
	elisions                     // short words joined to the next one by an apostrophe
	contractions                 // joined forms without their apostrophe (but not ill, well, were, shed, wont)

	// Moods of sentences.

	Fillers           // greetings and similar words at the beginning
	QuestionWords     // first words of a question for information
	WishWords         // words of a wish
	PoliteVerbs       // "can" and "let" of "can you" and "let me"
	PolitePersons     // "you" and "me" after them
	TellingWords      // first words of a statement
	tellingVerbs      // verbs that make a statement of the noun before them
	InformingWords    // words that identify a tool that answers
	offerPhrases      // questions that wish for a thing: "do you have a table"
	possiblePhrases   // questions for a possibility that wish for it
	wishPairs         // wishes of two words whose second alone is none: "I like pizza"
	owingPhrases      // what the speaker must, which a question mark makes a question: "¿tengo que …?"
	abandoningPhrases // ways to abandon a call; few, since a call kept in vain fires nothing by itself
	leavingPhrases    // the same, if a message has nothing else: "goodbye"

	// Relations to earlier messages and to time.

	Refusals        // a plain no
	repairPhrases   // introduce a correction: "no", "I mean"
	loosePhrases    // those with other uses too, which correct only between two pauses
	Hesitations     // hesitation sounds
	soundNames      // those that are names, too: "Ben"
	WrongWords      // say that something was not meant, and are in no name: "wrong button"
	RatherWords     // mark a choice that replaces another: "rather"
	SuitingWords    // say that a time or a thing suits
	insteadPhrases  // before the replaced thing: "instead of"
	contrastWords   // between the denied and the meant thing: "but"
	AgainPhrases    // ask for the same again, or for the opposite
	SamePhrases     // refer to the previous act
	AdditionPhrases // add a thing to the previous ones: "and", "as well"
	JoiningPhrases  // between two wishes
	ReturnWords     // begin a way back, which is no second such act: "and back on Sunday"
	Pronouns        // refer to a thing named before
	ProForms        // stand for the name of a thing, beside what tells it apart: "the debit one"
	DegreeWords     // AdditionPhrases that at the beginning of more words tell a degree: "too late"
	LightVerbs      // verbs without meaning unless with a particle or object
	ActionVerbs     // other verbs, and particles, that name no object
	EverythingWords // objects that name no thing
	conditionWords  // first words of a clause that tells when to act
	provisoPhrases  // make an order depend on what they name: "subject to"
	consentCues     // the same before one of the consentWords: "pending approval"
	consentWords    // a consent, or that it was given
	impersonals     // nobody in particular, beside one of the ableVerbs: "kann man"
	ableVerbs       // what such a person can do
	timeConditions  // those that also ask or tell when, unless a Person follows
	IndefiniteWords // articles of a new thing
	openWords       // words that cannot end a sentence
	Persons         // who acts, or an article
	firstPersons    // the speaker
	OwnGroup        // the speaker with others, who may be counted: "we are 4"
	AnsweringVerbs  // verbs by which the speaker gives an answer: "I take", "ich meine"
	havingWords     // what the speaker has, which tells: "I only have 50 euros"
	beingWords      // what the speaker is, which tells after other words: "on Friday I am away"
	ownForms        // forms of both that need no person
	availableWords  // say that a time suits the speaker: "I have time on Friday"
	KnowingWords    // verbs after which a condition word asks
	wonderingVerbs  // verbs of wanting to know: "I want to know how"
	whetherWords    // words that begin what is wanted to be known, and ask nothing by themselves
	CourtesyWords   // words that make a condition politeness: "if possible"
	TimeUnits       // units of time
	laterWords      // future times without a date: "later"
	laterPhrases    // the same of several words: "next year"
	TroubleWords    // trouble with a thing: "lost", "broken"
	FailingVerbs    // verbs that, denied, mean trouble: "does not work"
	PastWords       // past forms of verbs
	participles     // irregular participles
	accentedWords   // Spanish words with an accent at the end that are no verbs
	personTitles    // titles before the name of a person: "Mrs"
	titleWords      // titles and other short forms, whose dot ends no sentence
	nameTitles      // those that are other words too, unless both words have capitals: "M. Dupont"
	numberingWords  // those before a number: "No. 5"
	adverbs         // between a person and the verb
	nearlyWords     // say that something did not happen, except before an amount: "almost"
	doneInfinitives // infinitives of such auxiliaries: "d'avoir bloqué"
	perfectWords    // auxiliaries of the perfect after a person: "I have turned"

	// Yes and no.

	Denials           // right before an unwanted thing
	Negations         // words that deny a sentence
	NeverWords        // negations that an order begins with
	NegatingParticles // the first of two words that deny a verb: "ne … plus"
	UnableWords       // words after which a negation is of an ability
	nowWords          // the present, after a negation: "but not now"
	hereWords         // where the speaker is: "it is 15 degrees in here"
	WantingWords      // words after which a negation is of a wish
	UndoingWords      // ask to undo something
	DroppingWords     // order to leave or remove something
	UndoingPairs      // nearby pairs that ask to undo: "call the meeting off"
	AlteringWords     // ask for another time or kind of an existing thing
	AlteringPairs     // the same in two words: "put it off"
	GivingVerbs       // verbs that identify a tool that gets or makes a thing
	GettingVerbs      // verbs that ask for any thing
	ReceivingVerbs    // those by which one receives a thing, or has it changed: "get it checked out"
	InfinitiveWords   // right before an infinitive: "to"
	NounNegations     // negations of a noun, before which a verb is not denied: "no taxi"
	Definites         // before an existing thing
	Auxiliaries       // verbs before "not" that it denies with the rest
	AttendingVerbs    // verbs after "cannot" that decline an existing thing
	exceptPhrases     // right before an excepted thing: "except"
	butWords          // the same, a phrase or a word, after one of the allWords: "everyone but"
	allWords          // everybody, any day
	NobodyWords       // people of whom there are none
	notCues           // words after which "no" is a "not": the Spanish "no a Pedro"
	KinWords          // people who are named by another: "Anna's mother"
	otherPersons      // who is neither the speaker nor the reader
	othersVerbs       // what such a person wants, says or has: "she wants"
	spokenTo          // who or what orders are spoken to, and calls before them, also without a comma: "Alexa", "Maman"
	needingVerbs      // those that things do, too: "the kitchen needs"
	thirdModals       // what somebody else must, may or is going to do: "Anna must send"
	ownWords          // make a thing the speaker's: "my"
	UnlessWords       // beside a negation that denies nothing: "why not", "not only"
	InsteadWords      // right before a replaced thing
	KeepingWords      // order to leave a thing where or as it is
	OffWords          // particles that end what a light verb is said of: "turn it off"
	ReversingWords    // UndoingWords that undo any act, also one that removes
	remindingVerbs    // verbs that, denied, order what follows: "do not forget to"
	refrainingPhrases // order to leave an act undone: "hold off on"
	feigningPhrases   // only imagine an act: "pretend to"
	pressingVerbs     // verbs by which a wish or an order for the act after them begins: "be sure to", "I am calling to"
	relayVerbs        // first words of an order whose act is another's: "tell Tom to"
	framePhrases      // before an act that is only told of, or another's: "says", "unable to"
	uncertainPhrases  // before an act that is only thought of, except in a question
	likelyPhrases     // those of them that nearly say it is so: "I probably lost my card"
	reportingVerbs    // verbs that make what is said another's words: "says"
	judgingWords      // after an infinitive, verbs of a sentence about it: "annuler serait une erreur"
	leaveVerbs        // verbs that ask for leave, before the speaker: "darf ich"
	purposeWords      // before an infinitive that is no order: "to delete it you need"
	omittingPhrases   // before an act that is not to be done, or not yet: "instead of"
	excludingPhrases  // before the only thing that is not wanted: "anything but"
	retractingPhrases // after a pause, take back what was said before: "no wait"
	haltingPhrases    // those that are orders too: "stop"
	citingPhrases     // before a person, make a sentence of quoted words: "… is what I said"
	DeedPhrases       // acts that begin with one of the InformingWords: "check out"
	DeedWords         // InformingWords that are an act of the user, too: "return the shoes"
	onlyWords         // turn a negation before them into a limit: "not only"
	PartingWords      // thanks and goodbyes
	YesWords          // true, for a boolean: "refundable: yes"
	NoWords           // false, for a boolean
	AffirmingWords    // agreeing answers
	RefusingWords     // refusing answers
	ConsentPhrases    // complete answers to "shall I?" that are a plain yes; few, since a wrong one spends money
	AssentPhrases     // also a yes, but only a beginning if a refusal follows: "okay, stop"
	RefusalPhrases    // complete answers that are a plain no
	CourtesyPhrases   // may accompany either
	Opposites         // pairs of opposites; a tool does one of the two. Each word of a pair is in the list

	// Acts.

	// acts are verbs of one meaning each, after the act's name, which is the same in all languages. Words of a
	// phrasal verb are joined by an underscore, and may be apart in a text: get_rid. actNouns are nouns of such
	// acts. A word in both names an act unless a plainer verb does.
	acts
	actNouns
	requestThings // RequestWords that also name a thing
	ContractWords // things that end for good when cancelled or closed
	MoneyWords    // objects and ends of a transfer
	HolderWords   // nouns with little meaning after another one: "a user account"
	holding       // things with what is in them: who lost the wallet lost the card

	// Topics.

	// related are words of one topic each, after its name, which is the same in all languages: "weather: rain
	// snow". A word may have several topics; a topic does not replace the word.
	related

	// Dates, times and numbers.

	DateWords      // words, other than names, that begin a date
	BetweenWords   // before the ends of a range
	RangeWords     // between the ends of a range
	OfWords        // between a day, its month and its year
	DayCues        // words after which a short weekday counts
	HourCues       // words after which a number is an hour
	ClockCues      // words after which a number may be an hour
	PairWords      // words for two that are also said of people
	InexactEndings // after such a number: "50 or less"
	OneCues        // words after which "one" is a number
	Homographs     // other languages' numbers that are words of this one
	InexactPhrases // before a number that is a bound, an estimate or excluded
	Estimates      // those before or after a number that make it no bound either: "about"
	BoundNames     // words of parameters for a bound
	StepCues       // before the amount of a change: "by 10"
	ChangeWords    // words for such a change
	MoreWords      // words after such an amount: "10 degrees warmer"
	Currencies     // names of money after a number
	CentNames      // hundredths of money after a number
	SumWords       // between two amounts of one sum
	UnitNames      // units after a number
	UnitSigns      // signs of units, right after a number
	Months         // months, by number
	Weekdays       // weekdays, by number from Sunday (0) on
	ShortWeekdays  // short forms of weekdays, which may be other words
	NearDays       // days relative to today, by days ahead
	MorningCues    // words before a word for tomorrow that make it the morning: "am Morgen"
	PastDays       // beside a weekday that is past: "last"
	ComingDays     // beside the next such weekday
	NextDays       // beside the next such weekday, or that of next week
	AfterNextDays  // beside the one after that
	ThisWeek       // the current week
	NextWeek       // the next week
	LastWeek       // the previous week
	WeekLater      // after a day, by days: "Tuesday week"
	AheadCues      // before an amount of days from now on
	AgoCues        // beside an amount of days until now
	DayUnits       // units of an amount of days, by days; m for months
	BesideDays     // days that are counted from one that is known, by days: "the day after"
	DayShifts      // between an amount of days and the day that it is counted from, by direction
	SpanCues       // before an amount of days that is a length
	BeforeCues     // before a moment that is the latest
	AfterCues      // before a moment that is the earliest
	JoinWords      // words that join the ends of a range only after a BetweenWord
	EveryWords     // before a day that comes again and again
	HalfHours      // parts of an hour after the hour, in minutes
	NightWords     // the night, whose hours are of both halves
	Clock24        // words of languages that write the hours up to 24
	ClockHalves    // halves of the day after an hour: "pm"
	NamedHours     // times of day with a name
	DayParts       // parts of the day, by half: a or p
	NumberWords    // numbers up to ninety, for compound numbers
	Numbers        // numbers that are never compound
	Ordinals       // ordinals in words
	DayOrdinals    // ordinals that are only read as the day of a month: "am dritten März"
	GroupWords     // numbers with an article: "a dozen"
	Scales         // multipliers, by their zeros

	// Names of parameters.

	BooleanWords     // words of a boolean's name without other meaning
	PlaceholderWords // words of a name without other meaning
	DateNames        // names of dates
	ClockNames       // names of times of day
	EdgeNames        // names of the ends of a period
	StartNames       // names of its start
	EndNames         // names of its end
	ArrivalNames     // names of arrivals
	DepartureNames   // names of departures, the start of a trip and the end of a stay
	AmountNames      // names of strings that hold a number
	RatingNames      // names of ratings of any type
	GroupNames       // names of groups of people
	PeopleWords      // people who are counted
	CodeNames        // names of codes: letters and digits for one thing
	PlaceNames       // names of places
	ContentNames     // names of messages, queries or notes
	NotedNames       // names of notes and messages, which are sentences
	EmailNames       // names of e-mail addresses
	LinkNames        // names of URLs
	PhoneNames       // names of telephone numbers
	OriginNames      // names of origins
	DestinationNames // names of destinations
	RoomNames        // names of places in a house
	PersonNames      // names of people
	AuthorNames      // names of authors

	// Words that introduce values.

	StartCues       // words before the start of a period
	EndCues         // words before its end
	LabelWords      // say what kind of value is beside them: "number 4711", "au nom de"
	LinkingWords    // between a name and its number
	Copulas         // between a name and its value
	BoundaryWords   // end a value
	Articles        // articles and similar words
	Determiners     // before a noun, but not part of its name
	ThatWords       // before reported speech
	PuttingVerbs    // orders to put something on a list
	TargetCues      // before the target of such an order
	TrailingWords   // after a value, but not part of it
	PersonVerbs     // verbs before a person's name
	AnnouncingWords // words after which the rest is the value
	ObjectLinks     // between a verb and its object
	PoliteWords     // politeness at the end
	JourneyOrigins  // words before an origin, if one of the JourneyEnds follows it
	JourneyEnds     // words between an origin and a destination
	GoalCues        // words before the name of a place or a person to which something goes
	OriginCues      // words before an origin
	DestinationCues // words before a destination
	PlaceCues       // words before a place
	NamedPlaceCues  // before a place's name
	RoomCues        // words before a room
	PersonCues      // words before a person
	AuthorCues      // words before an author

	// Words after a value that are no part of it.

	asidePhrases   // politeness and haste: "right now"
	BelongingWords // before a day that is part of a name
	OrWords        // between alternatives
	MeansCues      // before a means or a purpose: "via PayPal", "as a present"
	modalVerbs     // verbs whose own verb ends the clause
	idlePhrases    // said while one thinks, or in anger: "one sec"
	repeatingWords // adverbs of a repetition: "monthly"
	NameParticles  // between the words of a name: "van", "de la"
	periodWords    // what an EveryWord repeats, beside the units of time
	timesWords     // several times, in one word: "twice"
	timesNouns     // the same after a number: "three times"

	lists // number of lists
)

// language is the table of one language: the words of each list as its file has them. Words are separated by spaces,
// phrases by semicolons; a word may have a value, as in march=3.
type language struct {
	code  string // ISO 639-1
	words map[List]string
}

//go:embed languages
var tables embed.FS

// languages are all supported languages. To add one, write its file and add it here.
var (
	english, german, french, italian, spanish = load("en"), load("de"), load("fr"), load("it"), load("es")
	languages                                 = []language{english, german, french, italian, spanish}
)

// load reads the file of a language: the name of each list and a colon, then its words, with every further line
// indented. A line that begins with # is a comment.
func load(code string) language {
	file, err := tables.ReadFile("languages/" + code + ".txt")
	if err != nil {
		panic(err)
	}
	table, list := language{code, map[List]string{}}, lists
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			name, words, _ := strings.Cut(line, ":")
			list, line = listOf(name), words
		}
		table.words[list] += line
	}
	return table
}

// listOf returns the list with a name. It panics for another name: a file is part of the program.
func listOf(name string) List {
	i := slices.Index(listNames, name)
	if i < 0 {
		panic("no list of words has the name " + strconv.Quote(name))
	}
	return List(i)
}

// listNames are the names of the constants above, in their order.
var listNames = strings.Fields(`
	StopWords RequestWords CalendarWords DefiniteArticles elisions contractions Fillers QuestionWords WishWords PoliteVerbs PolitePersons
	TellingWords tellingVerbs InformingWords offerPhrases possiblePhrases wishPairs owingPhrases abandoningPhrases leavingPhrases Refusals
	repairPhrases loosePhrases Hesitations soundNames WrongWords RatherWords SuitingWords insteadPhrases contrastWords AgainPhrases SamePhrases
	AdditionPhrases JoiningPhrases ReturnWords Pronouns ProForms DegreeWords LightVerbs ActionVerbs EverythingWords conditionWords provisoPhrases consentCues
	consentWords impersonals ableVerbs timeConditions IndefiniteWords openWords Persons firstPersons OwnGroup AnsweringVerbs havingWords
	beingWords ownForms availableWords KnowingWords wonderingVerbs whetherWords CourtesyWords TimeUnits laterWords laterPhrases TroubleWords
	FailingVerbs PastWords participles accentedWords personTitles titleWords nameTitles numberingWords adverbs nearlyWords doneInfinitives perfectWords Denials Negations
	NeverWords NegatingParticles UnableWords nowWords hereWords WantingWords UndoingWords DroppingWords UndoingPairs AlteringWords AlteringPairs
	GivingVerbs GettingVerbs ReceivingVerbs InfinitiveWords NounNegations Definites Auxiliaries AttendingVerbs exceptPhrases butWords allWords NobodyWords notCues KinWords otherPersons
	othersVerbs spokenTo needingVerbs thirdModals ownWords UnlessWords InsteadWords KeepingWords OffWords ReversingWords remindingVerbs
	refrainingPhrases feigningPhrases pressingVerbs relayVerbs framePhrases uncertainPhrases likelyPhrases reportingVerbs judgingWords
	leaveVerbs purposeWords omittingPhrases excludingPhrases retractingPhrases haltingPhrases citingPhrases DeedPhrases DeedWords onlyWords
	PartingWords YesWords NoWords AffirmingWords RefusingWords ConsentPhrases AssentPhrases RefusalPhrases CourtesyPhrases Opposites acts
	actNouns requestThings ContractWords MoneyWords HolderWords holding related DateWords BetweenWords RangeWords OfWords DayCues HourCues
	ClockCues PairWords InexactEndings OneCues Homographs InexactPhrases Estimates BoundNames StepCues ChangeWords MoreWords Currencies CentNames SumWords
	UnitNames UnitSigns Months Weekdays ShortWeekdays NearDays MorningCues PastDays ComingDays NextDays AfterNextDays ThisWeek NextWeek LastWeek
	WeekLater AheadCues AgoCues DayUnits BesideDays DayShifts SpanCues BeforeCues AfterCues JoinWords EveryWords HalfHours NightWords Clock24
	ClockHalves NamedHours DayParts NumberWords Numbers Ordinals DayOrdinals GroupWords Scales BooleanWords PlaceholderWords DateNames ClockNames EdgeNames StartNames
	EndNames ArrivalNames DepartureNames AmountNames RatingNames GroupNames PeopleWords CodeNames PlaceNames ContentNames NotedNames EmailNames
	LinkNames PhoneNames OriginNames DestinationNames RoomNames PersonNames AuthorNames StartCues EndCues LabelWords LinkingWords Copulas
	BoundaryWords Articles Determiners ThatWords PuttingVerbs TargetCues TrailingWords PersonVerbs AnnouncingWords ObjectLinks PoliteWords
	JourneyOrigins JourneyEnds GoalCues OriginCues DestinationCues PlaceCues NamedPlaceCues RoomCues PersonCues AuthorCues asidePhrases
	BelongingWords OrWords MeansCues modalVerbs idlePhrases repeatingWords NameParticles periodWords timesWords timesNouns`)

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

// each calls do for the words of a list whose entries are "name: words".
func each(list string, do func(name, word string)) {
	for _, one := range entries(list) {
		name, words, _ := strings.Cut(one, ":")
		for word := range strings.FieldsSeq(words) {
			do(name, word)
		}
	}
}

type listSet [(lists + 63) / 64]uint64

func (s *listSet) add(l List)      { s[l/64] |= 1 << (l % 64) }
func (s *listSet) has(l List) bool { return s[l/64]&(1<<(l%64)) != 0 }

// tags are the lists that contain a word. They are looked up once when a text is split, not for each list.
type tags struct {
	any, foreign listSet // lists with the word: in any language, in one other than English
	begins       listSet // lists with the word, or with a phrase that begins with it
	spoken       uint    // languages with the word, as bits by index
}

// entry is a word's value in a list, which may be a number.
type entry struct {
	value    string
	number   int
	isNumber bool
	spoken   uint // languages whose list has the word, as bits by index
}

// tagged holds the tags of every word and phrase, known their entries by list.
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
		for list, words := range table.words {
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
				all[list][word] = entry{value, number, err == nil, all[list][word].spoken | 1<<i}
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

// Has reports whether the list of any language has the word.
func (l List) Has(word string) bool {
	of := tagged[word]
	return of != nil && of.any.has(l)
}

// Value returns the word's value in the list.
func (l List) Value(word string) (string, bool) {
	one, has := known[l][word]
	return one.value, has
}

// Number returns the word's number in the list.
func (l List) Number(word string) (int, bool) {
	one := known[l][word]
	return one.number, one.isNumber
}

// Entries returns the words or phrases of the list, unordered.
func (l List) Entries() []string { return slices.Collect(maps.Keys(known[l])) }

// stemmed maps stems to the lists that have a word with the stem.
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

// HasStem reports whether the list has a word with the stem.
func (l List) HasStem(stem string) bool {
	of := stemmed()[stem]
	return of != nil && of.has(l)
}

// StemIs reports whether the list has a word with the same stem.
func (w Word) StemIs(list List) bool { return list.HasStem(w.Stem) }

// maxListed is the length of the longest phrase that is looked up in sentences, in words.
const maxListed = 5

// PhraseAt returns the number of words of the list's longest phrase at a place; 0 for none.
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

// PhraseNumber returns the number of the list's longest phrase at a place, and how many words it has; 0 for none.
func (l List) PhraseNumber(words []Word, at int) (number, length int) {
	if length = l.PhraseAt(words, at); length == 0 {
		return 0, 0
	}
	said := words[at].Norm
	for _, w := range words[at+1 : at+length] {
		said += " " + w.Norm
	}
	number, _ = l.Number(said)
	return number, length
}

// PhraseBefore returns the number of words of the list's longest phrase that ends before a place; 0 for none.
func (l List) PhraseBefore(words []Word, end int) int {
	for first := max(0, end-maxListed); first < end; first++ {
		if length := l.PhraseAt(words, first); first+length == end {
			return length
		}
	}
	return 0
}

func (t language) has(list List, word string) bool {
	return known[list][word].spoken&(1<<indexOf(t.code)) != 0
}

// indexOf returns the index of the language with a code; -1 for none.
func indexOf(code string) int {
	return slices.IndexFunc(languages, func(t language) bool { return t.code == code })
}

// LanguageOf returns the code of the language of most grammar words in a text; a word of two languages counts half
// for each. It is empty without such a word. In a tie the first of the languages wins.
func LanguageOf(text string) string {
	scores := scoresOf(text)
	best := slices.Max(scores)
	if best == 0 {
		return ""
	}
	return languages[slices.Index(scores, best)].code
}

// maySpeak reports whether no language has more of a text's grammar words than one of those with a code.
func maySpeak(text string, codes ...string) bool {
	scores := scoresOf(text)
	most := slices.Max(scores)
	return slices.ContainsFunc(codes, func(code string) bool { return scores[indexOf(code)] == most })
}

// AndInItalian reports whether the word at i is the Italian "e", which folds like "è".
func AndInItalian(t Text, i int) bool { return t.Surface(i, i+1) == "e" && maySpeak(t.Said, "it") }

// scoresOf counts the grammar words of each language in a text.
func scoresOf(text string) []float64 {
	scores := make([]float64, len(languages))
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
	return scores
}

// NumberIn reports whether a word is a number in the language of a text, and nothing else there: "dos" in Spanish, but not the
// Italian "sei", which is a verb, too.
func NumberIn(said, word string) bool {
	at := indexOf(LanguageOf(said))
	return at >= 0 && (languages[at].has(Numbers, word) || languages[at].has(NumberWords, word)) && !languages[at].has(tellingVerbs, word)
}

// ForeignTo reports whether none of the languages that a text may have has the word in the list: "LA" is not a French article in
// "a hotel in LA".
func ForeignTo(said string, list List, word string) bool {
	scores := scoresOf(said)
	most := slices.Max(scores)
	begins := func(one string) bool { return one == word || strings.HasPrefix(one, word+" ") }
	for i, t := range languages {
		if scores[i] == most && slices.ContainsFunc(entries(t.words[list]), begins) {
			return false
		}
	}
	return most > 0
}
