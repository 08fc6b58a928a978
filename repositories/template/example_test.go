package template_test

import (
	"fmt"
	"log"
	"net/url"

	"earshot/repositories/template"
)

// pathEscaper writes values as parts of a URL's path.
type pathEscaper struct{}

func (pathEscaper) Literal(text string) string { return text }

func (pathEscaper) Paste(value any) (string, error) {
	return url.PathEscape(fmt.Sprint(value)), nil
}

// The caller of Fill decides how values are written, not the template.
func Example() {
	path, err := template.Parse(`/patients/{{.name}}{{if .urgent}}/urgent{{end}}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(path.Names())
	filled, err := path.Fill(map[string]any{"name": "Ann/../admin", "urgent": true}, pathEscaper{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filled)
	// Output:
	// [name urgent]
	// /patients/Ann%2F..%2Fadmin/urgent
}

// Unsupported syntax is refused, with an alternative.
func ExampleParse() {
	_, err := template.Parse(`{{range .list}}{{.}}{{end}}`)
	fmt.Println(err)
	// Output:
	// {{range .list}}{{.}}{{end}} is not supported; a template pastes values, as in {{.name}}, and chooses with {{if}}
}
