package quantity

import (
	"strings"
	"sync"
)

// The words that an amount is made of, in English, German, French, Italian and Spanish,
// without accents. They stand only beside each other and beside units, where words that two
// languages share mean the same in both.
const (
	ones = `
		zero=0 null=0 cero=0 one=1 eins=1 uno=1 two=2 zwei=2 zwo=2 deux=2 due=2 dos=2 three=3 drei=3 trois=3 tre=3 tres=3
		four=4 vier=4 quatre=4 quattro=4 cuatro=4 five=5 funf=5 fuenf=5 cinq=5 cinque=5 cinco=5 six=6 sechs=6 sei=6 seis=6
		seven=7 sieben=7 sept=7 sette=7 siete=7 eight=8 acht=8 huit=8 otto=8 ocho=8 nine=9 neun=9 neuf=9 nove=9 nueve=9
		ten=10 zehn=10 dix=10 dieci=10 diez=10 eleven=11 elf=11 onze=11 undici=11 once=11 twelve=12 zwolf=12 zwoelf=12
		douze=12 dodici=12 doce=12 thirteen=13 dreizehn=13 treize=13 tredici=13 trece=13 fourteen=14 vierzehn=14
		quatorze=14 quattordici=14 catorce=14 fifteen=15 funfzehn=15 fuenfzehn=15 quinze=15 quindici=15 quince=15
		sixteen=16 sechzehn=16 seize=16 sedici=16 dieciseis=16 seventeen=17 siebzehn=17 diciassette=17 diecisiete=17
		eighteen=18 achtzehn=18 diciotto=18 dieciocho=18 nineteen=19 neunzehn=19 diciannove=19 diecinueve=19
		veintiuno=21 veintiun=21 veintiuna=21 veintidos=22 veintitres=23 veinticuatro=24 veinticinco=25 veintiseis=26
		veintisiete=27 veintiocho=28 veintinueve=29`
	tens = `
		twenty=20 zwanzig=20 vingt=20 vingts=20 venti=20 veinte=20 thirty=30 dreissig=30 trente=30 trenta=30 treinta=30 forty=40
		vierzig=40 quarante=40 quaranta=40 cuarenta=40 fifty=50 funfzig=50 fuenfzig=50 cinquante=50 cinquanta=50
		cincuenta=50 sixty=60 sechzig=60 soixante=60 sessanta=60 sesenta=60 seventy=70 siebzig=70 septante=70 settanta=70
		setenta=70 eighty=80 achtzig=80 huitante=80 ottanta=80 ochenta=80 ninety=90 neunzig=90 nonante=90 novanta=90
		noventa=90`
	hundreds   = `hundred=100 hundert=100 cento=100 cien=100 ciento=100`
	thousands  = `thousand=1000 tausend=1000 mille=1000 mila=1000 mil=1000`
	germanOnes = `ein=1 zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9`
	halves     = `einhalb=1 eineinhalb=3 anderthalb=3 zweieinhalb=5 dreieinhalb=7 viereinhalb=9 funfeinhalb=11`
	articles   = `a an ein eine einen einer einem un une una`
	fractions  = `
		half=2 halbe=2 halben=2 halbes=2 halber=2 demi=2 demie=2 media=2 medio=2 mezza=2 mezzo=2 mezz=2
		quarter=4 quarters=4 viertel=4 quart=4 quarts=4 cuarto=4 cuartos=4 quarto=4 quarti=4`
	leading  = `of d de di`
	ands     = `and und et e y`
	ranging  = `to till until bis a hasta fino or oder ou o -`
	between  = `between zwischen entre tra fra`
	starting = `from von de desde da ab`
	denying  = `not no never without nicht kein keine keinen nie ohne pas sans jamais non senza mai sin nunca`
	fillers  = `for in of at about exactly the fur um auf pour pendant per por para durante di de within after`
	currency = `€ $ £`
)

// numberWords are the words that are whole numbers under a hundred by themselves.
var numberWords = sync.OnceValue(func() map[string]int {
	all := tableOf(ones)
	for word, value := range tableOf(tens) {
		all[word] = value
		for digit, unit := range tableOf(germanOnes) { // einundzwanzig
			if strings.HasSuffix(word, "zig") || word == "dreissig" {
				all[digit+"und"+word] = value + unit
			}
		}
		for digit, unit := range tableOf(`uno=1 un=1 due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9`) { // ventuno
			stem := word
			if unit == 1 || unit == 8 {
				stem = word[:len(word)-1]
			}
			if strings.HasSuffix(word, "nta") || word == "venti" {
				all[stem+digit] = value + unit
			}
		}
	}
	return all
})

// The other tables, read once.
var (
	hundredfold = sync.OnceValue(func() map[string]int { return tableOf(germanOnes) })
	scales      = sync.OnceValue(func() map[string]int { return tableOf(hundreds + " " + thousands) })
	halfs       = sync.OnceValue(func() map[string]int { return tableOf(halves) })
	parts       = sync.OnceValue(func() map[string]int { return tableOf(fractions) })
	allWords    = sync.OnceValue(func() map[string]map[string]bool {
		all := map[string]map[string]bool{}
		for _, list := range []string{articles, leading, ands, ranging, between, starting, denying, fillers, currency} {
			all[list] = map[string]bool{}
			for word := range strings.FieldsSeq(list) {
				all[list][word] = true
			}
		}
		return all
	})
)

// wholeNumber reads one word that is a number, the hundreds that German joins included.
func wholeNumber(word string) (int, bool) {
	if value, is := numberWords()[word]; is {
		return value, true
	}
	before, after, is := strings.Cut(word, "hundert")
	if !is {
		return 0, false
	}
	times, one := hundredfold()[before]
	rest, two := numberWords()[strings.TrimPrefix(after, "und")]
	if before+after == "" || !one && before != "" || !two && after != "" {
		return 0, false
	}
	return max(1, times)*100 + rest, true
}

// in reports whether a list has the word.
func in(list, word string) bool { return allWords()[list][word] }

// tableOf reads a list of words with numbers.
func tableOf(list string) map[string]int {
	table := map[string]int{}
	for one := range strings.FieldsSeq(list) {
		word, digits, _ := strings.Cut(one, "=")
		value := 0
		for _, digit := range digits {
			value = 10*value + int(digit-'0')
		}
		table[word] = value
	}
	return table
}
