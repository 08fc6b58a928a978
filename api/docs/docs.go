// Package docs describes the REST API, as OpenAPI and AsyncAPI for programs and as a page for people. It adds what
// the table of routes and the schemas of the bodies know to what is written there.
package docs

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/page"
	"earshot/repositories/store"
	"earshot/repositories/version"
)

var (
	//go:embed asyncapi.json
	asyncapi []byte
	//go:embed docs.html
	pageTemplate string
	//go:embed docs.css
	style []byte
	//go:embed docs.js
	script []byte
)

// Route is a route as the descriptions need it.
type Route struct {
	Method, Path string
	Query        []string           // the parameters that it takes
	Open         bool               // it needs no key
	Reads        bool               // it reads a body
	Scopes       []store.Permission // a key needs one of these; without any the admin's alone will do
	FrontEnd     bool               // a session's token will do
	Anyone       bool               // any key or token will do
	Tagged       bool               // what it reads or writes has an entity tag
	Subject      string             // of requests over NATS, with the ids of the path as {name}; empty: there are none
}

// Documents serves the descriptions of the API, as Build has made them.
type Documents struct {
	openapi  []byte
	asyncapi []byte
	page     pageFiles
}

// Build makes the descriptions of a table of routes and of the JSON Schemas that their
// bodies are checked against. Its error is a mistake in what is embedded in the program.
func (d *Documents) Build(table []Route, schemas ...[]byte) error {
	document, err := openapi(table, schemas)
	if err != nil {
		return err
	}
	var events, both object
	if err := errors.Join(json.Unmarshal(asyncapi, &events), json.Unmarshal(asyncapi, &both)); err != nil {
		return err
	}
	d.page = newPage(table, document, events, schemas)
	addRequests(both, document, table)
	for _, described := range []object{document, both} {
		described["info"].(object)["version"] = version.Current().Version
	}
	text, err := json.Marshal(document)
	messages, failed := json.Marshal(both)
	d.openapi, d.asyncapi = append(text, '\n'), append(messages, '\n')
	return errors.Join(err, failed)
}

// ServeOpenAPI answers with the OpenAPI document.
func (d *Documents) ServeOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.openapi)
}

// ServeAsyncAPI answers with the AsyncAPI document.
func (d *Documents) ServeAsyncAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.asyncapi)
}

// ServePage answers with the page for people.
func (d *Documents) ServePage(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", policy)
	return d.serve(c, pageName)
}

// ServeFile answers with the style or the script of the page.
func (d *Documents) ServeFile(c echo.Context) error {
	page.Kept(c.Response())
	return d.serve(c, c.Param("file"))
}

func (d *Documents) serve(c echo.Context, name string) error {
	files, err := d.page()
	if err != nil {
		return err
	}
	found, ok := files[name]
	if !ok {
		return answer.NewProblem(answer.UnknownPath, "there is no such file; /docs/reference/api names those that there are")
	}
	found.ServeHTTP(c.Response(), c.Request())
	return nil
}

// Lead sends those who open the service in a browser to the page.
func Lead(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") }

// policy lets a browser use the page's own style and script, and call the service itself, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageFiles makes the files of the page when they are first asked for, by their names.
type pageFiles func() (map[string]page.File, error)

const pageName = "docs"

func newPage(table []Route, document, events object, schemas [][]byte) pageFiles {
	return sync.OnceValues(func() (map[string]page.File, error) {
		parsed, err := template.New("docs").Parse(pageTemplate)
		if err != nil {
			return nil, err
		}
		by := order{}
		for _, text := range slices.Concat([][]byte{openapiPaths, openapiComponents, asyncapi}, schemas) {
			by.read(json.NewDecoder(bytes.NewReader(text)), false, false)
		}
		data := pageOf(table, document, events, by)
		data.Style, data.Script = page.Hashed("docs.css", style), page.Hashed("docs.js", script)
		var text bytes.Buffer
		err = parsed.Execute(&text, data)
		return map[string]page.File{
			pageName:    page.New("text/html; charset=UTF-8", text.Bytes()),
			data.Style:  page.New("text/css; charset=UTF-8", style),
			data.Script: page.New("text/javascript; charset=UTF-8", script),
		}, err
	})
}
