package parameters_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

func TestValuesOfAFormatAreISO8601(t *testing.T) {
	const date, clock, both, lasting = `"type":"string","format":"date"`, `"type":"string","format":"time"`, `"type":"string","format":"date-time"`, `"type":"string","format":"duration"`
	checkRules(t, []rule{
		{date, `"2026-12-01"`, ``},
		{date, `"2024-02-29"`, ``},
		{date, `"2026-02-29"`, `"2026-02-29" is not a date in the form of ISO 8601, as 2026-12-01`},
		{date, `"soon"`, `"soon" is not a date in the form of ISO 8601, as 2026-12-01`},
		{date, `"1.12.2026"`, `"1.12.2026" is not a date in the form of ISO 8601, as 2026-12-01`},
		{date, `""`, `"" is not a date in the form of ISO 8601, as 2026-12-01`},
		{date, `5`, `5 is not a string`},
		{clock, `"09:30"`, ``},
		{clock, `"09:30:15"`, ``},
		{clock, `"09:30:15.250Z"`, ``},
		{clock, `"09:30+02:00"`, ``},
		{clock, `"9:00"`, `"9:00" is not a time in the form of ISO 8601, as 15:04`},
		{clock, `"09:30:15+2:00"`, `"09:30:15+2:00" is not a time in the form of ISO 8601, as 15:04`},
		{clock, `"09:30-23:59"`, ``},
		{clock, `"09:30-24:00"`, `"09:30-24:00" is not a time in the form of ISO 8601, as 15:04`},
		{clock, `"24:30"`, `"24:30" is not a time in the form of ISO 8601, as 15:04`},
		{clock, `"9 am"`, `"9 am" is not a time in the form of ISO 8601, as 15:04`},
		{both, `"2026-12-01T09:30:00+01:00"`, ``},
		{both, `"2026-12-01T09:30:00Z"`, ``},
		{both, `"2026-12-01T09:30"`, ``},
		{both, `"2026-01-01T9:00"`, `"2026-01-01T9:00" is not a date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-01-01T9:00:00Z"`, `"2026-01-01T9:00:00Z" is not a date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-01-01T10:00:00+23:59"`, ``},
		{both, `"2026-01-01T10:00:00+24:00"`, `"2026-01-01T10:00:00+24:00" is not a date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-01-01T10:00:00+10:60"`, `"2026-01-01T10:00:00+10:60" is not a date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-12-01"`, `"2026-12-01" is not a date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-12-01 09:30"`, `"2026-12-01 09:30" is not a date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{lasting, `"PT1H30M"`, ``},
		{lasting, `"P3Y6M4DT12H30M5S"`, ``},
		{lasting, `"P2W"`, ``},
		{lasting, `"PT0.5S"`, ``},
		{lasting, `"P"`, `"P" is not a duration in the form of ISO 8601, as PT1H30M`},
		{lasting, `"P1DT"`, `"P1DT" is not a duration in the form of ISO 8601, as PT1H30M`},
		{lasting, `"PT30M1H"`, `"PT30M1H" is not a duration in the form of ISO 8601, as PT1H30M`},
		{lasting, `"20 minutes"`, `"20 minutes" is not a duration in the form of ISO 8601, as PT1H30M`},
		{`"type":"array","items":{"type":"string","format":"date","description":"d"}`, `["2026-12-01","soon"]`, `p[1]: "soon" is not a date in the form of ISO 8601, as 2026-12-01`},
	})
}

func TestFormatsAreTheSameInTheThreeLanguages(t *testing.T) {
	inEachLanguage(t, `"type":"string","format":"date"`, "", func(t *testing.T, tool *repositories.Tool) {
		p := tool.Params()
		require.Equal(t, parameters.Date, p.List()[0].Format)
		require.Contains(t, string(p.ModelSchema()), `"format":"date"`)
		_, faults := p.Check(values(t, `{"day":"2026-12-01"}`))
		require.Empty(t, faults)
		_, faults = p.Check(values(t, `{"day":"Monday"}`))
		require.Equal(t, []string{`day: "Monday" is not a date in the form of ISO 8601, as 2026-12-01`}, details(faults))
	})
}

// A model's hour of one digit has one meaning, and ISO 8601 has two digits.
func TestHoursOfAModelGetTwoDigits(t *testing.T) {
	for _, c := range []struct{ format, value, want string }{
		{"time", "9:00", "09:00"},
		{"time", "9:00:15+02:00", "09:00:15+02:00"},
		{"time", "19:00", "19:00"},
		{"time", "9:00+24:00", ""},
		{"time", "9", ""},
		{"date-time", "2026-01-01T9:00", "2026-01-01T09:00"},
		{"date-time", "2026-01-01T9:00:00Z", "2026-01-01T09:00:00Z"},
		{"date-time", "2026-01-01T10:00:00+24:00", ""},
		{"duration", "9:00", ""},
	} {
		inEachLanguage(t, `"type":"string","format":"`+c.format+`"`, "", func(t *testing.T, tool *repositories.Tool) {
			got := tool.Params().Read(map[string]any{"day": c.value})
			if c.want == "" {
				require.Len(t, got.Errors, 1, c)
				return
			}
			require.Empty(t, got.Errors, c)
			require.Equal(t, map[string]any{"day": c.want}, got.Values)
			require.Equal(t, c.want != c.value, len(got.Coerced) == 1, c)
		})
	}
	got := only(t, `"type":"array","items":{"type":"string","format":"time"}`).Read(values(t, `{"p":["9:00","10:00"]}`))
	require.Empty(t, got.Errors)
	require.Equal(t, map[string]any{"p": []any{"09:00", "10:00"}}, got.Values)
}

// TestFormatsHoldAtEveryDepthOfASchema has a date at several places, for programs and for models.
func TestFormatsHoldAtEveryDepthOfASchema(t *testing.T) {
	const flaw = `"garbage" is not a date in the form of ISO 8601, as 2026-12-01`
	for _, c := range []struct{ property, value, at string }{
		{`{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}`, `VALUE`, ""},
		{`{"$ref":"#/$defs/D"}`, `VALUE`, ""},
		{`{"type":["string","null"],"format":"date"}`, `VALUE`, ""},
		{`{"format":"date"}`, `VALUE`, ""},
		{`{"allOf":[{"$ref":"#/$defs/D"},{"minLength":1}]}`, `VALUE`, ""},
		{`{"type":"array","items":{"type":"string","format":"date"}}`, `["2026-12-02",VALUE]`, "a[1]: "},
		{`{"type":"array","prefixItems":[{"$ref":"#/$defs/D"}]}`, `[VALUE]`, "a[0]: "},
		{`{"type":"object","properties":{"when":{"type":"string","format":"date"}}}`, `{"when":VALUE}`, "a.when: "},
		{`{"type":"object","additionalProperties":{"$ref":"#/$defs/D"}}`, `{"x":VALUE}`, "a.x: "},
		{`{"type":"object","properties":{"o":{"oneOf":[{"type":"object","properties":{"d":{"$ref":"#/$defs/D"}}},{"type":"null"}]}}}`, `{"o":{"d":VALUE}}`, "a.o.d: "},
	} {
		p := compiled(t, `"parameters":{"type":"object","properties":{"a":`+c.property+`},"$defs":{"D":{"type":"string","format":"date"}}}`)
		for value, want := range map[string][]string{`"2026-12-01"`: nil, `"garbage"`: {"a: " + c.at + flaw}} {
			given := values(t, `{"a":`+strings.ReplaceAll(c.value, "VALUE", value)+`}`)
			out, faults := p.Check(given)
			require.Equal(t, want, details(faults), c.property)
			got := p.Read(given)
			require.Equal(t, want, details(got.Errors), c.property)
			require.Equal(t, out, got.Values)
		}
	}
}

func TestHoursOfAModelGetTwoDigitsAtEveryDepth(t *testing.T) {
	p := compiled(t, `"parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":"string","format":"time"},{"type":"null"}]},"o":{"type":"object","properties":{"at":{"type":"array","items":{"type":"string","format":"date-time"}}}}}}`)
	got := p.Read(values(t, `{"a":"9:00","o":{"at":"2026-12-01T9:00:00Z"}}`))
	require.Empty(t, got.Errors)
	require.JSONEq(t, `{"a":"09:00","o":{"at":["2026-12-01T09:00:00Z"]}}`, marshalled(t, got.Values))
	require.ElementsMatch(t, []string{"a", "o"}, got.Coerced)
}

// Other formats are annotations since draft 2019-09, and rules before.
func TestOtherFormatsOfASchemaFollowItsDraft(t *testing.T) {
	const properties = `"type":"object","properties":{"a":{"type":"string","format":"email"},"o":{"dependencies":{"x":{"properties":{"u":{"format":"uri"}}}}}}`
	for draft, refused := range map[string]bool{
		``: false, `"$schema":"https://json-schema.org/draft/2019-09/schema",`: false, `"$schema":"http://json-schema.org/draft-07/schema#",`: true,
	} {
		_, faults := compiled(t, `"parameters":{`+draft+properties+`}`).Check(values(t, `{"a":"garbage","o":{"x":1,"u":"::"}}`))
		require.Equal(t, refused, len(faults) == 2, "%s %v", draft, faults)
		require.Equal(t, !refused, len(faults) == 0, "%s %v", draft, faults)
	}
	_, faults := compiled(t, `"parameters":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"time"}}}`).Check(values(t, `{"a":"09:00"}`))
	require.Empty(t, faults, "an offset is optional in every draft")
}

func TestFormatsBehindAReferenceAreShown(t *testing.T) {
	for _, property := range []string{
		`{"$ref":"#/$defs/D"}`, `{"$ref":"#/$defs/E"}`, `{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}`, `{"oneOf":[{"type":"null"},{"$ref":"#/$defs/D"}]}`,
	} {
		list := compiled(t, `"parameters":{"type":"object","properties":{"a":`+property+`,"l":{"type":"array","items":`+property+`}},"$defs":{"D":{"type":"string","format":"date"},"E":{"$ref":"#/$defs/D"}}}`).List()
		require.Equal(t, parameters.Parameter{Name: "a", Type: "string", Format: parameters.Date}, list[0], property)
		require.Equal(t, parameters.Date, list[1].Items.Format, property)
	}
	for _, property := range []string{`{"anyOf":[{"type":"string","format":"date"},{"type":"integer"}]}`, `{"$ref":"#/$defs/a"}`, `{"type":"integer","format":"date"}`} {
		list := compiled(t, `"parameters":{"type":"object","properties":{"a":`+property+`},"$defs":{"a":{"$ref":"#/$defs/a"}}}`).List()
		require.Empty(t, list[0].Format, property)
	}
}

func TestFaultsOfFormats(t *testing.T) {
	for tool, want := range map[string][]string{
		`"schema":[{"parameter":"p","type":"string","format":"datetime"}]`:                                    {`/tools/0/schema/0/format: "datetime" is not one of "date", "time", "date-time", "duration"; did you mean "date-time"?`},
		`"schema":[{"parameter":"p","type":"integer","format":"date"}]`:                                       {`/tools/0/schema/0/format: is for a string, and the parameter is an integer`},
		`"schema":[{"parameter":"p","type":"string","format":"date","default":"today"}]`:                      {`/tools/0/schema/0/default: "today" is not a date in the form of ISO 8601, as 2026-12-01`},
		`"parameters":{"type":"object","properties":{"p":{"type":"string","format":"date","value":"today"}}}`: {`/tools/0/parameters/properties/p/value: "today" is not a date in the form of ISO 8601, as 2026-12-01`},
		`"parameters":{"type":"object","properties":{"p":{"type":"string","format":"email"}}}`:                nil,
	} {
		_, faults := decoded(t, tool)
		require.Equal(t, want, faults, tool)
	}
}

func TestSecondsOfDurations(t *testing.T) {
	for duration, want := range map[string]string{"PT1H30M": "5400", "P1DT2H": "93600", "P2W": "1209600", "PT0.5S": "0.5", "P0D": "0", "P1M": "", "P1Y2M": "", "P1Y": "", "PT": "", "soon": ""} {
		got, ok := parameters.Seconds(duration)
		require.Equal(t, want, got, duration)
		require.Equal(t, want != "", ok, duration)
	}
}

// Earlier versions took more times in the definitions of lists.
func TestStoredTimesOfListsAreRead(t *testing.T) {
	for _, fields := range []string{`"default":"9:00"`, `"value":"9:00"`, `"allowedValues":["9:00","9:30"]`, `"allowedValues":["9:00","10:00"],"aliases":{"9:00":["nine"]}`} {
		list := `[{"parameter":"p","type":"string","format":"time",` + fields + `}]`
		record := &repositories.Repository{Tools: []repositories.Tool{{Name: "t", Schema: json.RawMessage(list)}}}
		require.NoError(t, record.Compile(), fields)
		if values, _ := record.Tools[0].Params().Check(nil); len(values) > 0 {
			require.Equal(t, map[string]any{"p": "09:00"}, values)
		}
		_, faults := decoded(t, `"schema":`+list)
		require.Len(t, faults, 1, fields)
	}
}

func FuzzFormats(f *testing.F) {
	for _, value := range []string{"", "P", "PT1H30M", "P1Y2M", "2026-12-01T09:30:00+01:00", "24:00", "2026-12-01T9:30:00+24:00", "2026-02-30"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, format := range []parameters.Format{parameters.Date, parameters.Time, parameters.DateTime, parameters.Duration} {
			if format.Flaw(value) == "" {
				require.NotEmpty(t, value)
			}
		}
		if _, ok := parameters.Seconds(value); ok {
			require.Empty(t, parameters.Duration.Flaw(value))
		}
	})
}
