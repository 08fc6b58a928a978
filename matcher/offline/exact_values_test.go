package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/offline"
)

// payments are tools with an amount, a person and a day, by language.
var payments = map[string]string{
	"en": `{"name":"transfer","description":"Transfer money","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true,"minValue":0.01,"maxValue":5000},
		{"parameter":"to","type":"string","required":true,"allowedValues":["Anna","Peter"]},{"parameter":"day","type":"string","format":"date"}],
		"examples":["Transfer [50 euros](amount) to [Anna](to)"]}`,
	"de": `{"name":"ueberweisen","description":"Geld überweisen","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},
		{"parameter":"to","type":"string","required":true,"allowedValues":["Anna","Peter"]},{"parameter":"day","type":"string","format":"date"}],
		"examples":["Überweise [50 Euro](amount) an [Anna](to)"]}`,
	"fr": `{"name":"virer","description":"Virer de l'argent","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},
		{"parameter":"to","type":"string","required":true,"allowedValues":["Anna","Pierre"]},{"parameter":"day","type":"string","format":"date"}],
		"examples":["Vire [50 euros](amount) à [Anna](to)"]}`,
	"es": `{"name":"transferir","description":"Transferir dinero","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},
		{"parameter":"to","type":"string","required":true,"allowedValues":["Ana","Pedro"]},{"parameter":"day","type":"string","format":"date"}],
		"examples":["Transfiere [50 euros](amount) a [Ana](to)"]}`,
	"it": `{"name":"trasferire","description":"Trasferire denaro","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true},
		{"parameter":"to","type":"string","required":true,"allowedValues":["Anna","Pietro"]},{"parameter":"day","type":"string","format":"date"}],
		"examples":["Trasferisci [50 euro](amount) a [Anna](to)"]}`,
}

// outcome renders what a message does: the values of each call, and of a rejected one the faults.
func outcome(t testing.TB, language, said string, tools ...string) string {
	t.Helper()
	request := matcher.Request{
		Text: said, Candidates: matchertest.InScope(t, matchertest.Scope, "r", tools...), Now: matchertest.Friday, Language: language,
	}
	result, err := offline.New().Match(t.Context(), request)
	require.NoError(t, err)
	var lines []string
	for _, match := range result.Matches {
		values, err := json.Marshal(match.Values)
		require.NoError(t, err)
		lines = append(lines, string(values))
	}
	for _, rejected := range result.Rejected {
		values, err := json.Marshal(rejected.Values)
		require.NoError(t, err)
		line := string(values)
		for _, fault := range rejected.Errors {
			line += fmt.Sprintf(" ! %s %s", fault.Parameter, fault.Detail)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// tells checks lines of "language: words = what they do" for the tools of the language.
func tells(t *testing.T, tools map[string]string, lines string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		language, rest, _ := strings.Cut(line, ": ")
		said, want, _ := strings.Cut(rest, " = ")
		assert.Equal(t, want, outcome(t, language, said, tools[language]), line)
	}
}

func TestNobodyIsPaidWhoIsNotMeant(t *testing.T) {
	t.Parallel()
	tells(t, payments, `
en: Transfer 50 euros to Anna, not to Peter = {"amount":50,"to":"Anna"}
en: Transfer 50 euros to everyone but Anna = {"amount":50} ! to is required
en: Transfer 50 euros to everybody except Anna = {"amount":50} ! to is required
en: Transfer 50 euros to anyone other than Anna = {"amount":50} ! to is required
en: Transfer 50 euros to Anna's mother = {"amount":50} ! to is required
en: Transfer 50 euros to the mother of Anna = {"amount":50} ! to is required
en: Transfer 50 euros to Anna's account = {"amount":50,"to":"Anna"}
en: Transfer 50 euros to Anna, please = {"amount":50,"to":"Anna"}
de: Überweise 50 Euro an Anna, nicht an Peter = {"amount":50,"to":"Anna"}
de: Überweise 50 Euro an jeden außer Anna = {"amount":50} ! to is required
de: Überweise 50 Euro an alle bis auf Anna = {"amount":50} ! to is required
de: Überweise 50 Euro an Annas Mutter = {"amount":50} ! to is required
de: Überweise 50 Euro an die Mutter von Anna = {"amount":50} ! to is required
de: Überweise 50 Euro auf Annas Konto = {"amount":50,"to":"Anna"}
fr: Vire 50 euros à Anna, pas à Pierre = {"amount":50,"to":"Anna"}
fr: Vire 50 euros à tous sauf Anna = {"amount":50} ! to is required
fr: Vire 50 euros à la mère d'Anna = {"amount":50} ! to is required
es: Transfiere 50 euros a Ana, no a Pedro = {"amount":50,"to":"Ana"}
es: Transfiere 50 euros a todos menos Ana = {"amount":50} ! to is required
es: Transfiere 50 euros a todos excepto a Ana = {"amount":50} ! to is required
es: Transfiere 50 euros a la madre de Ana = {"amount":50} ! to is required
it: Trasferisci 50 euro a Anna, non a Pietro = {"amount":50,"to":"Anna"}
it: Trasferisci 50 euro a tutti tranne Anna = {"amount":50} ! to is required
it: Trasferisci 50 euro a tutti meno Anna = {"amount":50} ! to is required
it: Trasferisci 50 euro alla madre di Anna = {"amount":50} ! to is required`)
}

func TestAmountsAreExactOrMissing(t *testing.T) {
	t.Parallel()
	tells(t, payments, `
en: Transfer 50 euros to Anna = {"amount":50,"to":"Anna"}
en: Transfer 1,500 euros to Anna = {"amount":1500,"to":"Anna"}
en: Transfer 1.500 euros to Anna = {"to":"Anna"} ! amount is required: "1.500 euros" may be 1500 or 1.5
en: Transfer -50 euros to Anna = {"to":"Anna"} ! amount is required: -50 is below the minimum of 0.01
en: Transfer minus 50 euros to Anna = {"to":"Anna"} ! amount is required: -50 is below the minimum of 0.01
en: Transfer 6000 euros to Anna = {"to":"Anna"} ! amount is required: 6000 is above the maximum of 5000
en: Transfer half of 50 euros to Anna = {"to":"Anna"} ! amount is required: "half of 50 euros" is no exact number
en: Transfer 10 percent of 500 euros to Anna = {"to":"Anna"} ! amount is required: "of 500 euros" is no exact number
en: Transfer 50 euros or less to Anna = {"to":"Anna"} ! amount is required: "50 euros or less" is no exact number
en: Transfer ~50 euros to Anna = {"to":"Anna"} ! amount is required: "50 euros" is no exact number
de: Überweise 1.500 Euro an Anna = {"amount":1500,"to":"Anna"}
de: Überweise 1 500 Euro an Anna = {"amount":1500,"to":"Anna"}
de: Überweise 1'500 Euro an Anna = {"amount":1500,"to":"Anna"}
de: Überweise 1.500,50 Euro an Anna = {"amount":1500.5,"to":"Anna"}
de: Überweise 1,500 Euro an Anna = {"to":"Anna"} ! amount is required: "1,500 Euro" may be 1500 or 1.5
de: Überweise die Hälfte von 50 Euro an Anna = {"to":"Anna"} ! amount is required: "die Hälfte von 50 Euro" is no exact number
de: Überweise maximal 50 Euro an Anna = {"to":"Anna"} ! amount is required: "maximal 50 Euro" is no exact number
de: Überweise 50 Euro oder weniger an Anna = {"to":"Anna"} ! amount is required: "50 Euro oder weniger" is no exact number
fr: Vire 1 500 euros à Anna = {"amount":1500,"to":"Anna"}
fr: Vire la moitié de 50 euros à Anna = {"to":"Anna"} ! amount is required: "la moitié de 50 euros" is no exact number
fr: Vire moins de 50 euros à Anna = {"to":"Anna"} ! amount is required: "moins de 50 euros" is no exact number
fr: Vire 50 euros au maximum à Anna = {"to":"Anna"} ! amount is required: "50 euros au maximum" is no exact number
es: Transfiere 50 euros a Ana = {"amount":50,"to":"Ana"}
es: Transfiere 1.500 euros a Ana = {"amount":1500,"to":"Ana"}
es: Transfiere 1,500 euros a Ana = {"to":"Ana"} ! amount is required: "1,500 euros" may be 1500 or 1.5
es: Transfiere 12,50 euros a Ana = {"amount":12.5,"to":"Ana"}
es: Transfiere menos de 50 euros a Ana = {"to":"Ana"} ! amount is required: "menos de 50 euros" is no exact number
es: Transfiere unos 50 euros a Ana = {"to":"Ana"} ! amount is required: "unos 50 euros" is no exact number
es: Transfiere como máximo 50 euros a Ana = {"to":"Ana"} ! amount is required: "como máximo 50 euros" is no exact number
es: Transfiere 50 euros como máximo a Ana = {"to":"Ana"} ! amount is required: "50 euros como máximo" is no exact number
es: Transfiere la mitad de 50 euros a Ana = {"to":"Ana"} ! amount is required: "la mitad de 50 euros" is no exact number
it: Trasferisci 1.500 euro a Anna = {"amount":1500,"to":"Anna"}
it: Trasferisci al massimo 50 euro a Anna = {"to":"Anna"} ! amount is required: "al massimo 50 euro" is no exact number
it: Trasferisci circa 50 euro a Anna = {"to":"Anna"} ! amount is required: "circa 50 euro" is no exact number
it: Trasferisci la metà di 50 euro a Anna = {"to":"Anna"} ! amount is required: "la metà di 50 euro" is no exact number`)
	const alone = `{"name":"transfer","description":"Transfer money","schema":[{"parameter":"amount","type":"number","unit":"EUR","required":true,"minValue":0.01}],"examples":["Transfer [50 euros](amount)"]}`
	assert.Equal(t, `{"amount":50}`, outcome(t, "en", "Transfer 50 euros", alone))
	assert.Equal(t, `{} ! amount is required: -50 is below the minimum of 0.01`, outcome(t, "en", "Transfer -50 euros", alone))
}

func TestANumberOutOfBoundsIsNamed(t *testing.T) {
	t.Parallel()
	tells(t, map[string]string{
		"en": `{"name":"volume","description":"Set the volume","schema":[{"parameter":"level","type":"integer","required":true,"minValue":0,"maxValue":100}],"examples":["Set the volume to [30](level)"]}`,
		"de": `{"name":"lautstaerke","description":"Lautstärke einstellen","schema":[{"parameter":"level","type":"integer","required":true,"minValue":0,"maxValue":100}],"examples":["Stell die Lautstärke auf [30](level)"]}`,
	}, `
en: Set the volume to 40 = {"level":40}
en: Set the volume to 130 = {} ! level 130 is above the maximum of 100
en: Set the volume not to 30 = {} ! level is required
de: Stell die Lautstärke auf 40 = {"level":40}
de: Stell die Lautstärke auf 130 = {} ! level 130 is above the maximum of 100
de: Stell die Lautstärke nicht auf 30 = `)
	tells(t, map[string]string{
		"en": `{"name":"add","description":"Add shirts to the cart","schema":[{"parameter":"quantity","type":"integer","maxValue":20}],"examples":["Add [two](quantity) shirts to the cart"]}`,
	}, `
en: Add five shirts to the cart = {"quantity":5}
en: Add 25 shirts to the cart = {} ! quantity 25 is above the maximum of 20
en: Add 25 shirts please = {} ! quantity 25 is above the maximum of 20
en: Add 20 shirts please = {"quantity":20}
en: Add shirts to the cart = {}`)
}
