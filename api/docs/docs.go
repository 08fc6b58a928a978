// Package docs describes the REST API, as OpenAPI and AsyncAPI for programs and as a page
// for people. What the table of routes knows is not written there again but added here.
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"

	"github.com/labstack/echo/v4"
)

var (
	//go:embed docs.html
	docsPage string
	//go:embed asyncapi.json
	asyncapi []byte
)

// Route is a route as the descriptions need it.
type Route struct {
	Method, Path string
	Query        []string // the parameters that it takes
	Open         bool     // it needs no key
}

// Documents serves the descriptions of the API, as Build has made them.
type Documents struct {
	openapi, page []byte
	// policy lets a browser use the page's own style and nothing else: no script, no
	// frame, no other host.
	policy string
}

// Build makes the descriptions of a table of routes and of the JSON Schemas that their
// bodies are checked against. Its error is a mistake in what is embedded in the program.
func (d *Documents) Build(table []Route, schemas ...[]byte) error {
	document, err := openapi(table, schemas)
	if err != nil {
		return err
	}
	var described object
	if err := json.Unmarshal(asyncapi, &described); err != nil {
		return err
	}
	if d.openapi, err = json.Marshal(document); err != nil {
		return err
	}
	d.openapi = append(d.openapi, '\n')
	parsed, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	err = parsed.Execute(&page, pageOfDocs(table, document, described))
	d.page, d.policy = page.Bytes(), policyOf(page.Bytes())
	return err
}

// policyOf allows the one style sheet that stands in the page, by its hash.
func policyOf(page []byte) string {
	_, rest, _ := bytes.Cut(page, []byte("<style>"))
	style, _, _ := bytes.Cut(rest, []byte("</style>"))
	hash := sha256.Sum256(style)
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// ServeOpenAPI answers with the OpenAPI document.
func (d *Documents) ServeOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.openapi)
}

// ServeAsyncAPI answers with the AsyncAPI document.
func (d *Documents) ServeAsyncAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, asyncapi)
}

// ServePage answers with the page for people.
func (d *Documents) ServePage(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", d.policy)
	return c.HTMLBlob(http.StatusOK, d.page)
}
