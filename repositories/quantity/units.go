package quantity

import (
	"math/big"
	"strings"
	"sync"
)

// meaning is what a word measures: how many of the dimension's base units one of it is, and
// where its zero lies, which only temperatures ask for.
type meaning struct {
	dimension    string
	factor, zero *big.Rat
	spoken       bool // people say so, and no tool calls its unit so
}

// measures are the units of each dimension: how many base units one is, then how it is
// called in English, German, French, Italian and Spanish, without accents. A name of several
// words has underscores. Where a word has several meanings, the first is meant by a unit that
// is called so, and any by what is said.
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

// temperatures are all one dimension, each with a zero of its own, in degrees Celsius.
var temperatures = map[string]meaning{
	"celsius":    {dimension: "temperature", factor: big.NewRat(1, 1), zero: new(big.Rat)},
	"fahrenheit": {dimension: "temperature", factor: big.NewRat(5, 9), zero: big.NewRat(-160, 9)},
	"kelvin":     {dimension: "temperature", factor: big.NewRat(1, 1), zero: big.NewRat(-27315, 100)},
}

// known are the meanings of all words.
var known = sync.OnceValue(func() map[string][]meaning {
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

// longestName is how many words the name of a unit has at most.
const longestName = 4
