package parameters_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// inEachLanguage decodes a tool with one parameter, day, in each of the three forms of parameters, and passes it to
// check. allowed are literals.
func inEachLanguage(t *testing.T, fields, allowed string, check func(t *testing.T, tool *repositories.Tool)) {
	t.Helper()
	rule, enum := "", ""
	if allowed != "" {
		rule, enum = `,"allowedValues":`+allowed, `,"enum":`+allowed
	}
	for form, tool := range map[string]string{
		"SERMAS":      `"schema":[{"parameter":"day","required":true,` + fields + rule + `}]`,
		"Toolbox":     `"parameters":[{"name":"day","description":"d",` + fields + rule + `}]`,
		"JSON Schema": `"parameters":{"type":"object","properties":{"day":{` + fields + enum + `}},"required":["day"]}`,
	} {
		t.Run(form, func(t *testing.T) {
			read, err := decodeOne(tool)
			require.NoError(t, err)
			check(t, read)
		})
	}
}

// decodeOne decodes a repository of one tool with the given fields.
func decodeOne(fields string) (*repositories.Tool, error) {
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", fmt.Appendf(nil, `{"tools":[{"name":"t",%s}]}`, fields))
	if err != nil {
		return nil, err
	}
	return &repository.Tools[0], nil
}

func TestAskIsTheQuestionOfTheFirstThatHasOne(t *testing.T) {
	inEachLanguage(t, `"type":"string","ask":"Which day suits you?"`, "", func(t *testing.T, tool *repositories.Tool) {
		require.Equal(t, "Which day suits you?", tool.Params().Ask("nobody", "day"))
		require.Empty(t, tool.Params().Ask("nobody"))
		require.Empty(t, tool.Params().Ask())
		require.NotContains(t, string(tool.Params().ModelSchema()), "suits", "a model is not told how a user is asked")
		require.Contains(t, string(tool.Given()), "Which day suits you?", "events carry the definition as it was given")
	})
}

func TestGroundedReachesTheViewAndNoModel(t *testing.T) {
	for _, grounded := range []bool{true, false} {
		inEachLanguage(t, fmt.Sprintf(`"type":"string","grounded":%v`, grounded), "", func(t *testing.T, tool *repositories.Tool) {
			require.NotContains(t, string(tool.Params().ModelSchema()), "grounded")
			require.Equal(t, grounded, tool.Params().List()[0].Grounded)
			require.Contains(t, string(tool.Given()), "grounded", "events carry the definition as it was given")
		})
	}
}

func TestWordsOfTheListsHaveTheirTypes(t *testing.T) {
	for tool, word := range map[string]string{
		`"schema":[{"parameter":"city","type":"string","ask":{"de":"Wo?"}}]`:                        "ask",
		`"parameters":[{"name":"city","type":"string","description":"d","ask":5}]`:                  "ask",
		`"schema":[{"parameter":"stops","type":"array","items":{"type":"string","ask":"Where?"}}]`:  "ask",
		`"schema":[{"parameter":"city","type":"string","grounded":"yes"}]`:                          "grounded",
		`"parameters":[{"name":"city","type":"string","description":"d","grounded":1}]`:             "grounded",
		`"parameters":{"type":"object","properties":{"city":{"grounded":"yes"}}}`:                   "grounded",
		`"schema":[{"parameter":"stops","type":"array","items":{"type":"string","grounded":true}}]`: "grounded",
	} {
		_, err := decodeOne(tool)
		require.ErrorContains(t, err, word, tool)
	}
}

// read returns the decoded value of a program and of a model.
func read(tool *repositories.Tool, given any) (program, model any) {
	values, _ := tool.Params().Check(map[string]any{"day": given})
	return values["day"], tool.Params().Read(map[string]any{"day": given}).Values["day"]
}

func TestAliasBecomesItsValueWhoeverSaysIt(t *testing.T) {
	const aliases = `"type":"string","aliases":{"Friday":["Freitag","vendredi"],"Monday":["Montag","miércoles no"]}`
	inEachLanguage(t, aliases, `["Friday","Monday"]`, func(t *testing.T, tool *repositories.Tool) {
		for said, converted := range map[string]any{
			"Freitag": "Friday", " freitag": "Friday", "VENDREDI": "Friday", "Miercoles  No": "Monday", "Monday": "Monday", "Dienstag": nil,
		} {
			program, model := read(tool, said)
			require.Equal(t, converted, program, said)
			require.Equal(t, converted, model, said)
		}
		params := tool.Params()
		require.Equal(t, []string{"day"}, params.Read(map[string]any{"day": "Freitag"}).Coerced)
		require.Contains(t, string(params.ModelSchema()), "Freitag = Friday", "a model hears it, and has to know what it stands for")
		require.NotContains(t, string(params.ModelSchema()), "aliases")
		require.Equal(t, "Friday", params.List()[0].Aliases[0].Value)
	})
}

func TestAliasesOfNumbersListsAndDefaults(t *testing.T) {
	inEachLanguage(t, `"type":"integer","aliases":{"1":["first","erste"]},"default":"first"`, `[1,2]`, func(t *testing.T, tool *repositories.Tool) {
		program, model := read(tool, "Erste")
		require.Equal(t, json.Number("1"), program)
		require.Equal(t, json.Number("1"), model)
		values, faults := tool.Params().Check(nil)
		require.Empty(t, faults)
		require.Equal(t, json.Number("1"), values["day"])
	})
	for form, tool := range map[string]string{
		"SERMAS":      `"schema":[{"parameter":"day","type":"array","items":{"type":"string","allowedValues":["Friday"],"aliases":{"Friday":["Freitag"]}}}]`,
		"JSON Schema": `"parameters":{"type":"object","properties":{"day":{"type":"array","items":{"type":"string","enum":["Friday"],"aliases":{"Friday":["Freitag"]}}}}}`,
	} {
		one, err := decodeOne(tool)
		require.NoError(t, err)
		program, model := read(one, []any{"Freitag", "Friday"})
		require.Equal(t, []any{"Friday", "Friday"}, program, form)
		require.Equal(t, []any{"Friday", "Friday"}, model, form)
		for _, said := range []any{"Freitag", `["freitag"]`} {
			_, model = read(one, said)
			require.Equal(t, []any{"Friday"}, model, form)
		}
		require.Equal(t, "Freitag", one.Params().List()[0].Items.Aliases[0].Words)
		require.NotContains(t, string(one.Params().ModelSchema()), "aliases")
	}
}

func TestAliasHasOneValueThatIsAllowed(t *testing.T) {
	for _, test := range []struct{ allowed, aliases, pointer, detail string }{
		{`["Friday","Monday"]`, `{"Friday":["fr"],"Monday":["mo","FR"]}`, "/aliases/Monday/1", `"FR" stands for "Friday" and for "Monday"`},
		{`["Friday","Monday"]`, `{"Friday":["monday"]}`, "/aliases/Friday/0", `"monday" stands for "Monday" and for "Friday"`},
		{`["Friday","Monday"]`, `{"Sunday":["Sonntag"]}`, "/aliases/Sunday", `"Sunday" is not an allowed value`},
	} {
		for form, tool := range map[string]string{
			"/tools/0/schema/0":                  `"schema":[{"parameter":"day","type":"string","allowedValues":` + test.allowed + `,"aliases":` + test.aliases + `}]`,
			"/tools/0/parameters/properties/day": `"parameters":{"type":"object","properties":{"day":{"type":"string","enum":` + test.allowed + `,"aliases":` + test.aliases + `}}}`,
		} {
			_, err := decodeOne(tool)
			require.ErrorContains(t, err, form+test.pointer+": "+test.detail)
		}
	}
	for detail, tool := range map[string]string{
		"stands beside allowedValues": `"schema":[{"parameter":"day","type":"string","aliases":{"Friday":["fr"]}}]`,
		"stand on items":              `"schema":[{"parameter":"day","type":"array","items":{"type":"string"},"aliases":{"Friday":["fr"]}}]`,
		"is empty":                    `"schema":[{"parameter":"day","type":"string","allowedValues":["Friday"],"aliases":{"Friday":["  "]}}]`,
		"/aliases/Friday":             `"schema":[{"parameter":"day","type":"string","allowedValues":["Friday"],"aliases":{"Friday":"fr"}}]`,
		"is for numbers":              `"schema":[{"parameter":"day","type":"string","unit":"minutes"}]`,
		"/unit":                       `"schema":[{"parameter":"day","type":"integer","unit":5}]`,
	} {
		_, err := decodeOne(tool)
		require.ErrorContains(t, err, detail)
	}
}

// Definitions from elsewhere may use the same keywords differently.
func TestWordsOfOthersInASchemaSayNothing(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{
		"a":{"type":"string","unit":"px","ask":5,"aliases":["b"]},"c":{"type":"string","aliases":{"x":["y"]}},"d":{"type":"number","unit":{"of":1}}}}`)
	values, faults := p.Check(map[string]any{"a": "5 px", "c": "y"})
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"a": "5 px", "c": "y"}, values)
}

func TestAmountsBecomeNumbersOfTheUnit(t *testing.T) {
	inEachLanguage(t, `"type":"integer","unit":"minutes"`, "", func(t *testing.T, tool *repositories.Tool) {
		for said, number := range map[string]any{
			"two hours": json.Number("120"), "1h30": json.Number("90"), "30 seconds": nil, "2 kg": nil, "2 to 3 hours": nil, "not 2 hours": nil,
		} {
			program, model := read(tool, said)
			require.Equal(t, number, program, said)
			require.Equal(t, number, model, said)
		}
		program, model := read(tool, "5")
		require.Nil(t, program, "a program's text is no number")
		require.Equal(t, json.Number("5"), model)
		program, _ = read(tool, json.Number("5"))
		require.Equal(t, json.Number("5"), program)
		_, faults := tool.Params().Check(map[string]any{"day": "2 kg"})
		require.Len(t, faults, 1)
		require.Contains(t, faults[0].Detail, `"2 kg" does not convert to minutes`)
		shown := string(tool.Params().ModelSchema())
		require.Contains(t, shown, "(in minutes)")
		require.NotContains(t, shown, `"unit"`)
	})
}
