package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// measured are tools with values that must be exact.
var measured = map[string]string{
	"rx": `{"name":"order-prescription","description":"Order a prescription","examples":["I need a new prescription for [paracetamol](medicine)","order [2](packs) packs of [aspirin](medicine)"],
		"schema":[{"parameter":"medicine","type":"string","required":true},{"parameter":"packs","type":"integer","description":"how many packs"}]}`,
	"rezept": `{"name":"rezept-bestellen","description":"Ein Rezept bestellen","examples":["ich brauche ein Rezept für [Paracetamol](mittel)"],
		"schema":[{"parameter":"mittel","type":"string","required":true},{"parameter":"packungen","type":"integer","description":"wie viele Packungen"}]}`,
	"pay": `{"name":"transfer-money","description":"Transfer money to somebody","examples":["transfer [50](amount) euros to [Anna](to)","überweise [50](amount) Euro an [Anna](to)","virez [50](amount) euros à [Anna](to)"],
		"schema":[{"parameter":"amount","type":"number","required":true,"description":"amount in euros"},{"parameter":"to","type":"string","required":true}]}`,
	"heat": `{"name":"set-heating","description":"Set the heating to a temperature","examples":["set the heating to [21](degrees) degrees","stell die Heizung auf [21](degrees) Grad","mets le chauffage à [21](degrees) degrés"],
		"schema":[{"parameter":"degrees","type":"integer","required":true}]}`,
	"louder": `{"name":"raise-volume","description":"Raise the volume","examples":["raise the volume by [5](steps)"],"schema":[{"parameter":"steps","type":"integer","required":true}]}`,
	"cap":    `{"name":"set-budget","description":"Set the budget","examples":["my budget is [100](budget) euros"],"schema":[{"parameter":"budget","type":"integer","required":true,"description":"the maximum to spend"}]}`,
	"table": `{"name":"book-table","description":"Book a table","examples":["a table for [4](people) people"],
		"schema":[{"parameter":"people","type":"integer","required":true},{"parameter":"day","type":"string","description":"the day"}]}`,
}

func TestValuesAreCertainOrAbsent(t *testing.T) {
	t.Parallel()
	for line := range strings.SplitSeq(strings.TrimSpace(`
rx: I need a new prescription for ibuprofen 600 = order-prescription {"medicine":"ibuprofen 600"}
rx: order a prescription for vitamin D 1000 = order-prescription {"medicine":"vitamin D 1000"}
rx: I need a new prescription for vitamin B 12 please = order-prescription {"medicine":"vitamin B 12"}
rx: order 2 packs of aspirin 500 = order-prescription {"medicine":"aspirin 500","packs":2}
rx: order a prescription for ibuprofen 600, 3 packs = order-prescription {"medicine":"ibuprofen 600","packs":3}
rx: order two packs of metformin = order-prescription {"medicine":"metformin","packs":2}
rx: I need a new prescription for L-thyroxine = order-prescription {"medicine":"L-thyroxine"}
rx: could you order two packs of L-thyroxine = order-prescription {"medicine":"L-thyroxine","packs":2}
rx: order 3 packs of D-mannose = order-prescription {"medicine":"D-mannose","packs":3}
rx: order 3 packs of T-drops = order-prescription {"medicine":"T-drops","packs":3}
rx: I need a new prescription for St John's wort = order-prescription {"medicine":"St John's wort"}
rx: I need a new prescription for co-codamol = order-prescription {"medicine":"co-codamol"}
rezept: ich brauche ein Rezept für Ibuprofen 600 = rezept-bestellen {"mittel":"Ibuprofen 600"}
rezept: ich brauche ein Rezept für Vitamin D 1000 = rezept-bestellen {"mittel":"Vitamin D 1000"}
rezept: ich brauche ein Rezept für L-Thyroxin = rezept-bestellen {"mittel":"L-Thyroxin"}
pay: transfer 20 euros to Anna = transfer-money {"amount":20,"to":"Anna"}
pay: transfer exactly 100 euros to Anna = transfer-money {"amount":100,"to":"Anna"}
pay: transfer €20 to Anna = transfer-money {"amount":20,"to":"Anna"}
pay: transfer 20 dollars to Anna = transfer-money misses [amount]
pay: transfer $20 to Anna = transfer-money misses [amount]
pay: transfer 20 $ to Anna = transfer-money misses [amount]
pay: transfer 20 pounds to Anna = transfer-money misses [amount]
pay: transfer up to 500 euros to Anna = transfer-money misses [amount]
pay: transfer about 20 euros to Anna = transfer-money misses [amount]
pay: transfer roughly 20 euros to Anna = transfer-money misses [amount]
pay: transfer at least 20 euros to Anna = transfer-money misses [amount]
pay: transfer at most 20 euros to Anna = transfer-money misses [amount]
pay: transfer less than 30 euros to Anna = transfer-money misses [amount]
pay: transfer more than 30 euros to Anna = transfer-money misses [amount]
pay: transfer a maximum of 100 euros to Anna = transfer-money misses [amount]
pay: transfer anything but 40 euros to Anna = transfer-money misses [amount]
pay: transfer not 40 euros to Anna = transfer-money misses [amount]
pay: transfer 20 to 30 euros to Anna = transfer-money misses [amount]
pay: transfer 30 or 40 euros to Anna = transfer-money misses [amount]
pay: transfer almost 100 euros to Anna = transfer-money misses [amount]
pay: überweise 50 Euro an Anna = transfer-money {"amount":50,"to":"Anna"}
pay: überweise höchstens 50 Euro an Anna = transfer-money misses [amount]
pay: überweise ungefähr 50 Euro an Anna = transfer-money misses [amount]
pay: überweise mindestens 50 Euro an Anna = transfer-money misses [amount]
pay: überweise weniger als 50 Euro an Anna = transfer-money misses [amount]
pay: überweise 20 bis 30 Euro an Anna = transfer-money misses [amount]
pay: überweise 50 Dollar an Anna = transfer-money misses [amount]
pay: virez 50 euros à Anna = transfer-money {"amount":50,"to":"Anna"}
pay: virez environ 50 euros à Anna = transfer-money misses [amount]
pay: virez au moins 50 euros à Anna = transfer-money misses [amount]
pay: virez moins de 50 euros à Anna = transfer-money misses [amount]
pay: virez 50 dollars à Anna = transfer-money misses [amount]
heat: set the heating to 21 = set-heating {"degrees":21}
heat: set the heating to 21 degrees = set-heating {"degrees":21}
heat: set the heating to about 20 = set-heating misses [degrees]
heat: set the heating to at most 22 degrees = set-heating misses [degrees]
heat: set the heating below 20 = set-heating misses [degrees]
heat: set the heating to between 20 and 22 = set-heating misses [degrees]
heat: set the heating to anything but 25 = set-heating misses [degrees]
heat: set the heating down by 2 degrees = set-heating misses [degrees]
heat: lower the heating by 3 degrees = set-heating misses [degrees]
heat: set the heating 2 degrees higher = set-heating misses [degrees]
heat: set the heating 2 degrees warmer = set-heating misses [degrees]
heat: stell die Heizung auf 21 Grad = set-heating {"degrees":21}
heat: stell die Heizung auf höchstens 21 Grad = set-heating misses [degrees]
heat: stell die Heizung auf etwa 21 Grad = set-heating misses [degrees]
heat: mets le chauffage à 21 degrés = set-heating {"degrees":21}
heat: mets le chauffage à environ 21 degrés = set-heating misses [degrees]
louder: raise the volume by 10 steps = raise-volume {"steps":10}
cap: my budget is at most 300 euros = set-budget {"budget":300}
cap: my budget is up to 300 euros = set-budget {"budget":300}
table: book a table for 4 = book-table {"people":4}
table: book a table for 4 people on Friday = book-table {"day":"Friday","people":4}
table: book a table for about 6 people = book-table misses [people]
table: book a table for at least 4 people = book-table misses [people]
table: book a table for up to 8 people = book-table misses [people]
table: book a table for 4 or 5 people = book-table misses [people]
table: book a table for Thursday's dinner for 4 = book-table {"day":"Thursday","people":4}
table: book table 7 for 4 people = book-table {"people":4}`), "\n") {
		tool, rest, _ := strings.Cut(line, ": ")
		said, want, _ := strings.Cut(rest, " = ")
		assert.Equal(t, want, matched(t, said, measured[tool]), said)
	}
}

func TestTheReasonSaysWhichNumberIsNone(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ tool, said, want string }{
		{"pay", "transfer up to 500 euros to Anna", `{"to":"Anna"} ! amount is required: "up to 500" is no exact number`},
		{"pay", "transfer 20 dollars to Anna", `{"to":"Anna"} ! amount is required: "20 dollars" is in another unit`},
		{"pay", "überweise höchstens 50 Euro an Anna", `{"to":"Anna"} ! amount is required: "höchstens 50" is no exact number`},
		{"heat", "lower the heating by 3 degrees", `{} ! degrees is required: "by 3" is a change, and no number to set`},
	} {
		assert.Equal(t, one.want, outcome(t, "", one.said, measured[one.tool]), one.said)
	}
}
