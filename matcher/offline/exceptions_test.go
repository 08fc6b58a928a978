package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"earshot/matcher/matchertest"
)

var exceptionScope = []string{
	`{"name":"give-raise","description":"Give an employee a raise","schema":[{"parameter":"employee","type":"string","required":true},
		{"parameter":"percent","type":"number","required":true,"unit":"percent"}],"examples":["Give [Maria](employee) a raise of [5 percent](percent)"]}`,
	`{"name":"turn-off","description":"Turn a device off","schema":[{"parameter":"device","type":"string","required":true,"allowedValues":["light","tv"]},
		{"parameter":"room","type":"string","allowedValues":["kitchen","hall"]}],"examples":["Turn off the [light](device) in the [kitchen](room)"]}`,
	`{"name":"ueberweisen","description":"Geld überweisen","schema":[{"parameter":"betrag","type":"number","unit":"Euro","required":true},
		{"parameter":"empfaenger","type":"string","required":true}],"examples":["Überweise [50 Euro](betrag) an [Anna](empfaenger)"]}`,
	`{"name":"extend-rental","description":"Extend a rental","schema":[{"parameter":"days","type":"integer","required":true,"unit":"days"}],"examples":["Extend my rental by [2 days](days)"]}`,
	`{"name":"cancel-rental","description":"Cancel a rental","schema":[{"parameter":"booking","type":"string","required":true,"allowedValues":["R-[0-9]{4}"]}],"examples":["Cancel rental [R-1234](booking)"]}`,
	`{"name":"virer","description":"Virer de l'argent","schema":[{"parameter":"montant","type":"number","unit":"euros","required":true},
		{"parameter":"beneficiaire","type":"string","required":true}],"examples":["Virez [50 euros](montant) à [Anne](beneficiaire)"]}`,
}

func TestWhatIsExceptedIsNoValue(t *testing.T) {
	t.Parallel()
	candidates := matchertest.InScope(t, matchertest.Scope, "exceptions", exceptionScope...)
	for _, said := range []string{
		"Turn off the light everywhere but in the kitchen",
		"Turn off all lights but the kitchen", "Turn off the light in every room other than the kitchen", "Überweise 50 Euro an alle außer Anna",
	} {
		assert.Equal(t, []string{""}, heldWith(t, candidates, said), said)
	}
	for said, want := range map[string]string{
		"Rather than extend my rental by 2 days, cancel rental R-1234": `cancel-rental {"booking":"R-1234"}`,
		"Turn off the light in the hall but not in the kitchen":        `turn-off {"device":"light","room":"hall"}`,
		"Give everyone but Maria a raise of 5 percent":                 `give-raise misses [employee]`,
		"Virez 50 euros à tous sauf Anne":                              `virer misses [beneficiaire]`,
		"Give Maria a raise of 5 percent":                              `give-raise {"employee":"Maria","percent":5}`,
		"Überweise 50 Euro an Anna":                                    `ueberweisen {"betrag":50,"empfaenger":"Anna"}`,
		"Überweise 50 Euro an niemanden":                               `ueberweisen misses [empfaenger]`,
		"Virez 50 euros à Anne":                                        `virer {"beneficiaire":"Anne","montant":50}`,
	} {
		assert.Equal(t, []string{want}, heldWith(t, candidates, said), said)
	}
}
