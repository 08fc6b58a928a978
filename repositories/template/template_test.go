package template_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/template"
)

// plain writes strings and JSON as is.
type plain struct{}

func (plain) Literal(text string) string { return text }

func (plain) Paste(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case template.JSON:
		return string(value), nil
	case json.Number:
		return value.String(), nil
	case bool:
		return map[bool]string{true: "yes", false: "no"}[value], nil
	}
	return "", errors.New("the parameter has no value")
}

var all = []string{template.Array, template.ToJSON, template.PathEscape, template.QueryEscape}

func TestValuesArePasted(t *testing.T) {
	values := map[string]any{
		"name": "Ann", "a-b": "hyphen", "n": json.Number("1.50"), "zero": json.Number("0"), "on": true,
		"list": []any{"x", "y"}, "empty": []any{}, "deep": map[string]any{"k": []any{json.Number("12345678901234567890")}}, "nothing": nil,
	}
	for text, want := range map[string]string{
		``:                                        "",
		`no place`:                                "no place",
		`Hello {{.name}}!`:                        "Hello Ann!",
		`{{ .name }}{{- /* a note */ -}}  x`:      "Annx",
		`{{index . "a-b"}}`:                       "hyphen",
		`{{.n}} {{.on}}`:                          "1.50 yes",
		`{{array .list}}`:                         "x, y",
		`{{.list | array}}`:                       "x, y",
		`{{json .deep}}`:                          `{"k":[12345678901234567890]}`,
		`{{.name | json | json}}`:                 `"Ann"`,
		`{{json (index . "a-b")}}`:                `"hyphen"`,
		`{{pathEscape .name}}`:                    "Ann",
		`{{json .}}`:                              `{"a-b":"hyphen","deep":{"k":[12345678901234567890]},"empty":[],"list":["x","y"],"n":1.50,"name":"Ann","on":true,"zero":0}`,
		`{{if .nothing}}a{{else}}b{{end}}`:        "b",
		`{{if .absent}}a{{end}}`:                  "",
		`{{if .zero}}a{{else if .on}}c{{end}}`:    "c",
		`{{if .empty}}a{{else}}b{{end}}`:          "b",
		`{{if and .on .name}}a{{end}}`:            "a",
		`{{if or .nothing .zero}}a{{end}}`:        "",
		`{{if not .nothing}}a{{end}}`:             "a",
		`{{if eq .name "Ann"}}a{{end}}`:           "a",
		`{{if eq .n 1.5}}a{{end}}`:                "a",
		`{{if ne .n 2}}a{{end}}`:                  "a",
		`{{if eq .list .empty}}a{{else}}b{{end}}`: "b",
		`{{"{{"}}`:                                "{{",
	} {
		parsed, err := template.Parse(text, all...)
		require.NoError(t, err, text)
		got, err := parsed.Fill(values, plain{})
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestWhatIsNotATemplateIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{{`:                                  "is not a valid template",
		`{{.a`:                                "is not a valid template",
		`{{.}}`:                               "{{.}} is not supported",
		`{{array .}}`:                         "{{.}} is not supported",
		`{{json .}}`:                          "there is no function json",
		`{{range .list}}x{{end}}`:             "is not supported",
		`{{with .x}}x{{end}}`:                 "is not supported",
		`{{$x := .a}}`:                        "is not supported",
		`{{$}}`:                               "is not supported",
		`{{nil}}`:                             "is",
		`{{.a.b}}`:                            "members of values are not supported",
		`{{define "x"}}{{end}}`:               "{{define}}",
		`{{block "x" .}}{{end}}`:              "{{define}} and {{block}}",
		`{{template "x"}}`:                    "is not supported",
		`{{printf "%1000000d" .a}}`:           "there is no function printf; there are index, and, or, not, eq, ne, array",
		`{{call .a}}`:                         "there is no function call",
		`{{html .a}}`:                         "there is no function html",
		`{{len .a}}`:                          "there is no function len",
		`{{array}}`:                           "array does not take 0 arguments",
		`{{array .a .b}}`:                     "array does not take 2 arguments",
		`{{.a .b}}`:                           ".a is not a function",
		`{{.a | .b}}`:                         ".b is not a function",
		`{{index .a "x"}}`:                    "index is for names",
		`{{index . .a}}`:                      "index is for names",
		`{{if}}x{{end}}`:                      "is not a valid template",
		`{{if (index . 1)}}x{{end}}`:          "index is for names",
		`{{if .a}}{{range .b}}{{end}}{{end}}`: "is not supported",
		`{{if .a}}{{else}}{{$}}{{end}}`:       "is not supported",
	} {
		_, err := template.Parse(text, template.Array)
		require.ErrorContains(t, err, want, text)
	}
}

func TestNamesAreThoseThatATemplateAsksFor(t *testing.T) {
	parsed, err := template.Parse(`{{.a}} {{if eq .b 1}}{{array .c}}{{else}}{{index . "d-e"}}{{end}}{{.a}}`, template.Array)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d-e"}, parsed.Names())
}

func TestFillSaysWhereAValueDoesNotFit(t *testing.T) {
	for text, want := range map[string]string{
		`{{.gone}}`:         "{{.gone}}: the parameter has no value",
		`{{array .secret}}`: "{{array …}}: array is for lists of strings",
		`{{array .mixed}}`:  "{{array …}}: array is for lists of strings, and an item is not a string",
	} {
		parsed, err := template.Parse(text, template.Array)
		require.NoError(t, err)
		_, err = parsed.Fill(map[string]any{"secret": "hunter2", "mixed": []any{"a", true}}, plain{})
		require.EqualError(t, err, want)
	}
}

func TestFilledTemplateIsBounded(t *testing.T) {
	parsed, err := template.Parse(`{{.a}}{{.a}}{{.a}}`)
	require.NoError(t, err)
	_, err = parsed.Fill(map[string]any{"a": string(make([]byte, 1<<19))}, plain{})
	require.ErrorContains(t, err, "longer than 1048576 bytes")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{{.a}}`, `{{array .a}}`, `{{if .a}}x{{else}}y{{end}}`, `{{index . "a"}}`, `{{json (index . "x")}}`, `{{.a | json}}`, "{{", `{{/* */}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := template.Parse(text, all...)
		if err != nil {
			return
		}
		values := map[string]any{}
		for _, name := range parsed.Names() {
			values[name] = "V"
		}
		_, _ = parsed.Fill(values, plain{}) // Fill supports all that Parse accepts
		_, _ = parsed.Fill(nil, plain{})
	})
}

func TestLiteralsAreTheTextsOfAllBranches(t *testing.T) {
	parsed, err := template.Parse("/{day}/{{.a}}{x{{if .b}}{y}{{else}}{z}{{end}}}{{/* {not} */}}", all...)
	require.NoError(t, err)
	require.Equal(t, []string{"/{day}/", "{x", "{y}", "{z}", "}"}, parsed.Literals())
	parsed, err = template.Parse("")
	require.NoError(t, err)
	require.Empty(t, parsed.Literals())
}
