// Package docs describes the REST API, as OpenAPI and AsyncAPI for programs and as a page
// for people. What the table of routes and the schemas of the bodies know is not written
// there again but added here.
package docs

import (
	"bytes"
	"earshot/repositories/version"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed asyncapi.json
var asyncapi []byte

// Route is a route as the descriptions need it.
type Route struct {
	Method, Path string
	Query        []string // the parameters that it takes
	Open         bool     // it needs no key
	Reads        bool     // it reads a body
	Scopes       []string // a key needs one of these; without any the admin's alone will do
	FrontEnd     bool     // a session's token will do
	Anyone       bool     // any key or token will do
	Tagged       bool     // what it reads or writes has an entity tag
}

// Documents serves the descriptions of the API, as Build has made them.
type Documents struct {
	openapi  []byte
	asyncapi []byte
	page     page
}

// Build makes the descriptions of a table of routes and of the JSON Schemas that their
// bodies are checked against. Its error is a mistake in what is embedded in the program.
func (d *Documents) Build(table []Route, schemas ...[]byte) error {
	document, err := openapi(table, schemas)
	if err != nil {
		return err
	}
	document["info"].(object)["version"] = version.Current().Version
	d.asyncapi = versioned(asyncapi)
	var events object
	if err := json.Unmarshal(d.asyncapi, &events); err != nil {
		return err
	}
	d.page = newPage(table, document, events, schemas)
	text, err := json.Marshal(document)
	d.openapi = append(text, '\n')
	return err
}

// ServeOpenAPI answers with the OpenAPI document.
func (d *Documents) ServeOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.openapi)
}

// ServeAsyncAPI answers with the AsyncAPI document.
func (d *Documents) ServeAsyncAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.asyncapi)
}

// versioned puts the version of the program into a description, as the first version in it, which
// is that of its info. The rest is as people wrote it, in their order.
func versioned(text []byte) []byte {
	return bytes.Replace(text, []byte(`"version": "1"`), fmt.Appendf(nil, `"version": %q`, version.Current().Version), 1)
}
