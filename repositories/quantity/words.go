package quantity

import (
	"maps"
	"math/big"
	"strconv"
	"strings"
	"sync"
)

// The words of amounts in five languages, without accents. Words of two languages mean the same in both.
var (
	articles   = setOf(`a an ein eine einen einer einem un une una`)
	leading    = setOf(`of d de di`)
	ands       = setOf(`and und et e y`)
	ranging    = setOf(`to till until bis a hasta fino or oder ou o -`)
	between    = setOf(`between zwischen entre tra fra`)
	starting   = setOf(`from von de desde da ab`)
	denying    = setOf(`not no never without nicht kein keine keinen nie niemals ohne pas sans jamais non senza mai sin nunca jamas tampoco`)
	linking    = setOf(`to on a au aux al alle alla las la le the an by`) // more words between a negation and its number
	fillers    = setOf(`for in of at about exactly the fur um auf pour pendant per por para durante di de within after`)
	currency   = setOf(`€ $ £`)
	money      = setOf(`euro dollar sterling franc`) // dimensions with hundredths
	pointWords = setOf(`point komma virgule coma virgola`)

	scales = numbersOf(`hundred=100 hundert=100 cento=100 cien=100 ciento=100 thousand=1000 tausend=1000 mille=1000 mila=1000 mil=1000`)
	halves = numbersOf(`einhalb=1 eineinhalb=3 anderthalb=3 zweieinhalb=5 dreieinhalb=7 viereinhalb=9 funfeinhalb=11`)
	parts  = numbersOf(`
		half=2 halbe=2 halben=2 halbes=2 halber=2 demi=2 demie=2 media=2 medio=2 mezza=2 mezzo=2 mezz=2
		quarter=4 quarters=4 viertel=4 quart=4 quarts=4 cuarto=4 cuartos=4 quarto=4 quarti=4`)
	frenchOnes  = setOf(`deux trois quatre cinq sept huit neuf`) // six cents may be money
	germanOnes  = numbersOf(`ein=1 zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9`)
	italianOnes = numbersOf(`uno=1 un=1 due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9`)
	ones        = numbersOf(`
		zero=0 null=0 cero=0 one=1 eins=1 uno=1 two=2 zwei=2 zwo=2 deux=2 due=2 dos=2 three=3 drei=3 trois=3 tre=3 tres=3
		four=4 vier=4 quatre=4 quattro=4 cuatro=4 five=5 funf=5 fuenf=5 cinq=5 cinque=5 cinco=5 six=6 sechs=6 sei=6 seis=6
		seven=7 sieben=7 sept=7 sette=7 siete=7 eight=8 acht=8 huit=8 otto=8 ocho=8 nine=9 neun=9 neuf=9 nove=9 nueve=9
		ten=10 zehn=10 dix=10 dieci=10 diez=10 eleven=11 elf=11 onze=11 undici=11 once=11 twelve=12 zwolf=12 zwoelf=12
		douze=12 dodici=12 doce=12 thirteen=13 dreizehn=13 treize=13 tredici=13 trece=13 fourteen=14 vierzehn=14
		quatorze=14 quattordici=14 catorce=14 fifteen=15 funfzehn=15 fuenfzehn=15 quinze=15 quindici=15 quince=15
		sixteen=16 sechzehn=16 seize=16 sedici=16 dieciseis=16 seventeen=17 siebzehn=17 diciassette=17 diecisiete=17
		eighteen=18 achtzehn=18 diciotto=18 dieciocho=18 nineteen=19 neunzehn=19 diciannove=19 diecinueve=19
		veintiuno=21 veintiun=21 veintiuna=21 veintidos=22 veintitres=23 veinticuatro=24 veinticinco=25 veintiseis=26
		veintisiete=27 veintiocho=28 veintinueve=29`)
	hundreds = numbersOf(`
		doscientos=200 trescientos=300 cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 novecientos=900 ochocientos=800
		doscientas=200 trescientas=300 cuatrocientas=400 quinientas=500 seiscientas=600 setecientas=700 novecientas=900 ochocientas=800`)
	tens = numbersOf(`
		twenty=20 zwanzig=20 vingt=20 vingts=20 venti=20 veinte=20 thirty=30 dreissig=30 trente=30 trenta=30 treinta=30 forty=40
		vierzig=40 quarante=40 quaranta=40 cuarenta=40 fifty=50 funfzig=50 fuenfzig=50 cinquante=50 cinquanta=50
		cincuenta=50 sixty=60 sechzig=60 soixante=60 sessanta=60 sesenta=60 seventy=70 siebzig=70 septante=70 settanta=70
		setenta=70 eighty=80 achtzig=80 huitante=80 ottanta=80 ochenta=80 ninety=90 neunzig=90 nonante=90 novanta=90
		noventa=90`)
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

func numbersOf(words string) map[string]int {
	numbers := map[string]int{}
	for one := range strings.FieldsSeq(words) {
		word, digits, _ := strings.Cut(one, "=")
		numbers[word], _ = strconv.Atoi(digits)
	}
	return numbers
}

// numberWords are single words for whole numbers under a hundred.
var numberWords = sync.OnceValue(func() map[string]int {
	all := maps.Clone(ones)
	maps.Copy(all, hundreds)
	for word, value := range tens {
		all[word] = value
		if strings.HasSuffix(word, "zig") || word == "dreissig" {
			for digit, unit := range germanOnes { // einundzwanzig
				all[digit+"und"+word] = value + unit
			}
		}
		if strings.HasSuffix(word, "nta") || word == "venti" {
			for digit, unit := range italianOnes { // ventuno
				stem := word
				if unit == 1 || unit == 8 {
					stem = word[:len(word)-1]
				}
				all[stem+digit] = value + unit
			}
		}
	}
	return all
})

// wholeNumber reads one word that is a number, including German and Italian compounds up to 999,999.
func wholeNumber(word string) (int, bool) {
	if value, ok := numberWords()[word]; ok {
		return value, true
	}
	const longest = 60 // bytes of a compound under a million
	for _, of := range compounds {
		before, after, ok := strings.Cut(word, of.between)
		if !ok || len(word) > longest || before+after == "" || of.between == "cent" && !strings.HasPrefix(after, "o") { // centotto, but not cents
			continue
		}
		times, one := 1, before == "" || before == "ein"
		if !one {
			times, one = wholeNumber(before)
		}
		if !one || times >= of.most {
			continue
		}
		if after == "" {
			return times * of.size, true
		}
		if rest, ok := wholeNumber(strings.TrimPrefix(after, "und")); ok && rest < of.size {
			return times*of.size + rest, true
		}
	}
	return 0, false
}

// compounds are the multipliers inside a word, the larger first, and what is less than their own number.
var compounds = []struct {
	between    string
	size, most int
}{{"tausend", 1000, 1000}, {"mila", 1000, 1000}, {"mille", 1000, 2}, {"hundert", 100, 100}, {"cento", 100, 10}, {"cent", 100, 10}}

// meaning is a word's unit: its factor to the dimension's base unit, and the zero of a temperature.
type meaning struct {
	dimension    string
	factor, zero *big.Rat
	spoken       bool // used in speech, but not as a tool's unit
}

// measures are the units of each dimension: the factor to the base unit, then names in English, German, French,
// Italian and Spanish, without accents, with underscores for spaces. An ambiguous name has its first meaning as a
// tool's unit, and any in a text.
var measures = []struct{ dimension, units string }{
	{"time", `
		1/1000 ms millisecond milliseconds millisekunde millisekunden milliseconde millisecondes millisecondo millisecondi milisegundo milisegundos
		1 s sec secs second seconds sek sekunde sekunden seconde secondes secondo secondi seg segundo segundos
		60 min mins minute minutes minuten minuto minuti minutos mn
		900 viertelstunde viertelstunden
		1800 halbstunde
		2700 dreiviertelstunde
		3600 h hr hrs hour hours std stunde stunden heure heures ora ore hora horas
		86400 d day days tag tage tagen jour jours journee journees giorno giorni dia dias
		604800 week weeks wk wks woche wochen semaine semaines settimana settimane semana semanas`},
	{"month", `
		1 month months monat monate monaten mois mese mesi mes meses
		12 year years yr yrs jahr jahre jahren an ans annee annees anno anni ano anos`},
	{"length", `
		1/1000 mm millimeter millimeters millimetre millimetres millimetro millimetri milimetro milimetros
		1/100 cm centimeter centimeters centimetre centimetres zentimeter zentimetern centimetro centimetri centimetros
		1 m meter meters metre metres metern metro metri metros
		1000 km kms kilometer kilometers kilometre kilometres kilometern chilometro chilometri kilometro kilometros
		127/5000 inch inches zoll pouce pouces pollice pollici pulgada pulgadas
		381/1250 ft foot feet fuss pied pieds piede piedi pie pies
		1143/1250 yd yard yards
		201168/125 mi mile miles meile meilen miglio miglia milla millas`},
	{"mass", `
		1/1000 mg milligram milligrams milligramm milligramme milligrammes milligrammo milligrammi miligramo miligramos
		1 g gram grams gramm gramme grammes grammo grammi gramo gramos
		500 pfund
		1000 kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes chilo chili chilogrammo chilogrammi kilogramo kilogramos
		1000000 t tonne tonnes tonnen tonnellata tonnellate tonelada toneladas
		45359237/1600000 oz ounce ounces unze unzen oncia onza onzas
		45359237/100000 lb lbs pound pounds`},
	{"volume", `
		1/1000 ml milliliter milliliters millilitre millilitres millilitro millilitri mililitro mililitros
		1/100 cl centiliter centiliters centilitre centilitres zentiliter centilitro centilitri centilitros
		1/10 dl deciliter deciliters decilitre decilitres deziliter decilitro decilitri decilitros
		1 l liter liters litre litres litern litro litri litros`},
	{"speed", `
		1 m/s meters_per_second metres_per_second
		5/18 km/h kmh kph kilometers_per_hour kilometres_per_hour stundenkilometer kilometres_a_l_heure kilometres_heure chilometri_orari kilometros_por_hora
		1397/3125 mph miles_per_hour`},
	{"power", `1 w watt watts vatio vatios 1000 kw kilowatt kilowatts kilovatio kilovatios`},
	{"energy", `1 wh watt_hour watt_hours 1000 kwh kilowatt_hour kilowatt_hours kilowattstunde kilowattstunden`},
	{"data", `
		1 byte bytes octet octets
		1000 kb kilobyte kilobytes
		1000000 mb megabyte megabytes
		1000000000 gb gigabyte gigabytes
		1000000000000 tb terabyte terabytes`},
	{"share", `1 % percent per_cent prozent pourcent pour_cent percento per_cento porciento por_ciento`},
	{"euro", `1 € eur euro euros 1/100 cent cents centime centimes centesimo centesimi centimo centimos`},
	{"dollar", `1 $ usd dollar dollars dolar dolares dollaro dollari buck bucks 1/100 cent cents`},
	{"sterling", `1 £ gbp pound pounds pfund pounds_sterling pound_sterling 1/100 penny pence p`},
	{"franc", `1 chf franken francs franchi francos 1/100 rappen`},
	{"celsius", `1 c °c celsius degree_celsius degrees_celsius grad_celsius degre_celsius degres_celsius grado_celsius gradi_celsius grados_celsius centigrade`},
	{"celsius", `1 ° degree degrees grad degre degres grado gradi grados`},
	{"fahrenheit", `1 f °f fahrenheit degree_fahrenheit degrees_fahrenheit grad_fahrenheit`},
	{"fahrenheit", `1 ° degree degrees grad degre degres grado gradi grados`},
	{"kelvin", `1 k kelvin kelvins`},
}

// temperatures are one dimension; each has its own zero, in degrees Celsius.
var temperatures = map[string]meaning{
	"celsius":    {dimension: "temperature", factor: big.NewRat(1, 1), zero: new(big.Rat)},
	"fahrenheit": {dimension: "temperature", factor: big.NewRat(5, 9), zero: big.NewRat(-160, 9)},
	"kelvin":     {dimension: "temperature", factor: big.NewRat(1, 1), zero: big.NewRat(-27315, 100)},
}

var knownUnits = sync.OnceValue(func() map[string][]meaning {
	words := map[string][]meaning{}
	for _, measure := range measures {
		means := meaning{dimension: measure.dimension}
		for word := range strings.FieldsSeq(measure.units) {
			if factor, is := new(big.Rat).SetString(word); is {
				means.factor, means.zero = factor, new(big.Rat)
				continue
			}
			if of, is := temperatures[measure.dimension]; is {
				means = of
			}
			name := strings.ReplaceAll(word, "_", " ")
			words[name] = append(words[name], means)
		}
	}
	minutes := words["min"][0]
	minutes.spoken = true
	words["m"] = append(words["m"], minutes)
	return words
})

const longestName = 4

// ownMeaning returns the meaning of a custom unit: its own dimension.
func ownMeaning(name string) meaning {
	return meaning{dimension: "own " + singular(name), factor: big.NewRat(1, 1), zero: new(big.Rat)}
}

// singular returns a name without the s of most plurals.
func singular(name string) string {
	if len(name) > 2 {
		return strings.TrimSuffix(name, "s")
	}
	return name
}
