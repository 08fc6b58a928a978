// Package docs describes the REST API, as OpenAPI and AsyncAPI and as a page. It combines written parts with
// the table of routes and the schemas of bodies.
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
	Query        []string           // accepted parameters
	Open         bool               // needs no key
	Reads        bool               // reads a body
	Scopes       []store.Permission // a key needs one of these; empty: only the admin
	FrontEnd     bool               // accepts a session's token
	Anyone       bool               // accepts any key or token
	Tagged       bool               // has an entity tag
	Subject      string             // of requests over NATS, with path ids as {name}; empty: none
	Earlier      string             // an earlier subject, which is still served; empty: none
}

// Documents serves the descriptions that Build has made.
type Documents struct {
	openapi  []byte
	asyncapi []byte
	page     pageFiles
}

// Build makes the descriptions from a table of routes and the JSON Schemas of their bodies. It fails only for
// malformed embedded files.
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

// ServeOpenAPI serves the OpenAPI document.
func (d *Documents) ServeOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.openapi)
}

// ServeAsyncAPI serves the AsyncAPI document.
func (d *Documents) ServeAsyncAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.asyncapi)
}

// ServePage serves the page.
func (d *Documents) ServePage(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", policy)
	return d.serve(c, pageName)
}

// ServeFile serves the page's style or script.
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
		return answer.NewProblem(answer.UnknownPath, "this file does not exist; /docs/reference/api lists all files")
	}
	found.ServeHTTP(c.Response(), c.Request())
	return nil
}

// Lead redirects browsers to the page.
func Lead(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") }

// policy allows only the page's own style and script, and calls of the service.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageFiles makes the page's files by name, on first use.
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
