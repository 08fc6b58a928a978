package parameters_test

import (
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
		{date, `"2026-02-29"`, `"2026-02-29" is no date in the form of ISO 8601, as 2026-12-01`},
		{date, `"soon"`, `"soon" is no date in the form of ISO 8601, as 2026-12-01`},
		{date, `"1.12.2026"`, `"1.12.2026" is no date in the form of ISO 8601, as 2026-12-01`},
		{date, `""`, `"" is no date in the form of ISO 8601, as 2026-12-01`},
		{date, `5`, `5 is not a string`},
		{clock, `"09:30"`, ``},
		{clock, `"09:30:15"`, ``},
		{clock, `"09:30:15.250Z"`, ``},
		{clock, `"09:30+02:00"`, ``},
		{clock, `"9:00"`, `"9:00" is no time in the form of ISO 8601, as 15:04`},
		{clock, `"09:30:15+2:00"`, `"09:30:15+2:00" is no time in the form of ISO 8601, as 15:04`},
		{clock, `"09:30-23:59"`, ``},
		{clock, `"09:30-24:00"`, `"09:30-24:00" is no time in the form of ISO 8601, as 15:04`},
		{clock, `"24:30"`, `"24:30" is no time in the form of ISO 8601, as 15:04`},
		{clock, `"9 am"`, `"9 am" is no time in the form of ISO 8601, as 15:04`},
		{both, `"2026-12-01T09:30:00+01:00"`, ``},
		{both, `"2026-12-01T09:30:00Z"`, ``},
		{both, `"2026-12-01T09:30"`, ``},
		{both, `"2026-01-01T9:00"`, `"2026-01-01T9:00" is no date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-01-01T9:00:00Z"`, `"2026-01-01T9:00:00Z" is no date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-01-01T10:00:00+23:59"`, ``},
		{both, `"2026-01-01T10:00:00+24:00"`, `"2026-01-01T10:00:00+24:00" is no date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-01-01T10:00:00+10:60"`, `"2026-01-01T10:00:00+10:60" is no date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-12-01"`, `"2026-12-01" is no date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{both, `"2026-12-01 09:30"`, `"2026-12-01 09:30" is no date-time in the form of ISO 8601, as 2026-12-01T15:04:05+01:00`},
		{lasting, `"PT1H30M"`, ``},
		{lasting, `"P3Y6M4DT12H30M5S"`, ``},
		{lasting, `"P2W"`, ``},
		{lasting, `"PT0.5S"`, ``},
		{lasting, `"P"`, `"P" is no duration in the form of ISO 8601, as PT1H30M`},
		{lasting, `"P1DT"`, `"P1DT" is no duration in the form of ISO 8601, as PT1H30M`},
		{lasting, `"PT30M1H"`, `"PT30M1H" is no duration in the form of ISO 8601, as PT1H30M`},
		{lasting, `"20 minutes"`, `"20 minutes" is no duration in the form of ISO 8601, as PT1H30M`},
		{`"type":"array","items":{"type":"string","format":"date","description":"d"}`, `["2026-12-01","soon"]`, `p[1]: "soon" is no date in the form of ISO 8601, as 2026-12-01`},
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
		require.Equal(t, []string{`day: "Monday" is no date in the form of ISO 8601, as 2026-12-01`}, details(faults))
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

func TestFaultsOfFormats(t *testing.T) {
	for tool, want := range map[string][]string{
		`{"name":"t","schema":[{"parameter":"p","type":"string","format":"datetime"}]}`:                                    {`/tools/0/schema/0/format: "datetime" is not one of "date", "time", "date-time", "duration"; did you mean "date-time"?`},
		`{"name":"t","schema":[{"parameter":"p","type":"integer","format":"date"}]}`:                                       {`/tools/0/schema/0/format: is for a string, and the parameter is an integer`},
		`{"name":"t","schema":[{"parameter":"p","type":"string","format":"date","default":"today"}]}`:                      {`/tools/0/schema/0/default: "today" is no date in the form of ISO 8601, as 2026-12-01`},
		`{"name":"t","parameters":{"type":"object","properties":{"p":{"type":"string","format":"date","value":"today"}}}}`: {`/tools/0/parameters/properties/p/value: "today" is no date in the form of ISO 8601, as 2026-12-01`},
		`{"name":"t","parameters":{"type":"object","properties":{"p":{"type":"string","format":"email"}}}}`:                nil,
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
