package text

import "strings"

// The lists are grammar, not vocabulary of any domain: they say which words of a text
// carry no subject. All are folded: lower case, no accents.

// contractions are keyed without their apostrophe. Those that are words of their own
// (ill, well, were, shed, wont) are left out.
var contractions = pairs(`dont=do not; doesnt=does not; didnt=did not; cant=can not; cannot=can not;
	couldnt=could not; wouldnt=would not; shouldnt=should not; isnt=is not; arent=are not; wasnt=was not;
	werent=were not; havent=have not; hasnt=has not; hadnt=had not; neednt=need not; mustnt=must not;
	im=i am; ive=i have; id=i would; youre=you are; youve=you have; youd=you would; youll=you will;
	theyre=they are; theyve=they have; weve=we have; thats=that is; whats=what is; whos=who is;
	wheres=where is; hows=how is; whens=when is; theres=there is; heres=here is; lets=let us;
	wanna=want to; gonna=going to; gotta=have to; gimme=give me; lemme=let me`)

// elisions are the short words that French and Italian join to the next one.
var elisions = Set(`l d j m n s t c qu un dell all nell sull quest`)

// StopWords carry no subject: articles, pronouns, prepositions, auxiliaries and
// question words of English, German, French, Italian and Spanish.
var StopWords = Set(`
	a an the i me my mine myself you your yours he him his she her hers it its we us our ours they them their
	theirs this that these those one ones someone somebody something anything everything nothing
	is am are was were be been being do does did done doing have has had having will would shall should can
	could may might must not no yes nor of in on at to for from by with about as into onto over under up down
	out off through during before after between and or but if then than so because while until since there
	here what which who whom whose when where why how just now some any all both each every other another
	such same own also too very really quite much many more most few less only ever never again still yet
	already even maybe perhaps well
	ich du er sie es wir ihr mich mir dich dir uns euch mein meine meinen meiner dein deine der die das den dem
	des ein eine einen einem einer und oder aber nicht kein keine ist sind bin bist sein haben habe hat hatte
	werden wird wurde kann konnen konnte soll muss im auf aus bei mit nach von vom zu zum zur fur uber
	unter vor durch wie wer wo wann warum welche welcher welches auch noch nur schon sehr
	je tu il elle nous vous ils elles mon ma mes ton ta tes son sa ses notre nos votre vos le la les un une des du
	au aux et ou mais ne pas est suis sont etre ai avoir avez avons que qui quoi quel quelle quels quelles
	ce cet cette ces dans pour par sur avec sans chez de en y plait sil
	io lui lei noi voi loro mi ti ci vi lo gli i uno una del dello della dei degli delle nel nella al allo alla
	ai dal dalla sul sulla con per tra fra e ed o ma non sono sei siamo ho hai ha abbiamo che chi cosa quale
	quanto dove perche mio mia miei tuo tua suo sua questo questa quello quella di da in
	yo el ella nosotros ellos ellas me te se nos os los las unos unas al y pero si no es soy estoy esta
	son ser tengo tiene hay que quien cual cuando donde como porque para sin sobre desde hasta mi mis tu tus su
	sus este estos estas eso l d j m n s t c qu`)

// RequestWords are what people say around what they want, whatever it is.
var RequestWords = Set(`
	want wants wanted need needs needed like liked love wish wishes hope hoping please pls plz thank thanks
	help helping assist tell let lets give get got getting make made go going come look looking try trying
	know think see able ask asking hey hi hello ok okay sure great good fine kindly thing things stuff
	say said request requests requested require required user users customer customers person people
	use used using uses used tool function call allow allows current
	mochte mochten will wollen wollte brauche brauchen bitte gerne gern hatte danke
	veux veut voudrais voudrait aimerais souhaite besoin faut svp merci bonjour
	vorrei voglio vuole vuoi bisogno favore piacere grazie ciao
	quiero quiere quisiera necesito necesita favor gracias hola puede puedes podria`)

// CalendarWords say when; they are values, not subjects.
var CalendarWords = Set(`
	today tonight tomorrow yesterday now later soon morning afternoon evening night noon midnight
	monday tuesday wednesday thursday friday saturday sunday weekend week month year day hour minute
	mon tue tues wed thu thur thurs fri sat sun
	january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec next last this am pm oclock
	heute morgen ubermorgen montag dienstag mittwoch donnerstag freitag samstag sonntag uhr
	demain aujourdhui lundi mardi mercredi jeudi vendredi samedi dimanche heures
	domani oggi lunedi martedi mercoledi giovedi venerdi sabato domenica
	manana hoy lunes martes miercoles jueves viernes sabado domingo`)

// Set is a list of words for looking them up.
func Set(words string) map[string]bool {
	fields := strings.Fields(words)
	found := make(map[string]bool, len(fields))
	for _, field := range fields {
		found[field] = true
	}
	return found
}

func pairs(text string) map[string]string {
	found := map[string]string{}
	for entry := range strings.SplitSeq(text, ";") {
		from, to, _ := strings.Cut(strings.TrimSpace(entry), "=")
		found[from] = to
	}
	return found
}

// Subjects returns the stems of the text's words that say what it is about.
func Subjects(text string) map[string]bool {
	found := map[string]bool{}
	for _, w := range Split(text) {
		if IsSubject(w) {
			found[w.Stem] = true
		}
	}
	return found
}

// IsSubject reports whether a word can say what a text is about.
func IsSubject(w Word) bool {
	return !StopWords[w.Norm] && !RequestWords[w.Norm] && !CalendarWords[w.Norm] && !StartsWithDigit(w.Norm)
}

// StartsWithDigit reports whether the word begins with an ASCII digit.
func StartsWithDigit(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// Denials are the words right before what is not wanted.
var Denials = Set(`no not without except non sans senza sin ohne kein keine keinen never`)

// BooleanWords are those of a boolean parameter's name that say only that it is one.
var BooleanWords = Set(`is has have allow allows allowed include includes included including with offer offers offered
		serve serves enable enabled flag want wants wanted need needs needed use show required welcome available`)

// Units are the stems of what numbers are measured in.
var Units = Stems(`mile kilometer km meter metre kg kilo kilogram gram pound ounce liter litre dollar buck euro cent
	percent degree celsius fahrenheit guest adult passenger night hour minute second inch foot feet`)
