package api

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

// documentation serves the descriptions of the API, all made once.
type documentation struct {
	openapi, page []byte
	// policy lets a browser use the page's own style and nothing else: no script, no
	// frame, no other host.
	policy string
}

// withDocumentation adds the routes that describe the table and, in it, themselves.
// It panics where what is embedded in the program cannot be read.
func withDocumentation(table []route) []route {
	d := &documentation{}
	table = append(table,
		route{method: http.MethodGet, path: "/openapi.json", handle: d.serveOpenAPI, open: true},
		route{method: http.MethodGet, path: "/asyncapi.json", handle: d.serveAsyncAPI, open: true},
		route{method: http.MethodGet, path: "/docs", handle: d.servePage, open: true},
	)
	if err := d.build(table); err != nil {
		panic("the description of the API is damaged: " + err.Error())
	}
	return table
}

func (d *documentation) build(table []route) error {
	document, err := openapi(table)
	if err != nil {
		return err
	}
	var events object
	if err := json.Unmarshal(asyncapi, &events); err != nil {
		return err
	}
	if d.openapi, err = json.Marshal(document); err != nil {
		return err
	}
	parsed, err := template.New("docs").Parse(docsPage)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	err = parsed.Execute(&page, pageOfDocs(table, document, events))
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

func (d *documentation) serveOpenAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, d.openapi)
}

func (d *documentation) serveAsyncAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, asyncapi)
}

func (d *documentation) servePage(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", d.policy)
	return c.HTMLBlob(http.StatusOK, d.page)
}
