package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
)

var (
	//go:embed docs.html
	pageTemplate string
	//go:embed docs.css
	style []byte
	//go:embed docs.js
	script []byte
)

// policy lets a browser use the page's own style and script, and call the service itself:
// nothing that stands in the page is run, and nothing is loaded from elsewhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is one that is served, as it is and compressed.
type file struct {
	kind        string
	plain, gzip []byte
}

func newFile(kind string, text []byte) file {
	var packed bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one that there is
	_, _ = writer.Write(text)                                       // into memory
	_ = writer.Close()
	return file{kind, text, packed.Bytes()}
}

// page makes the files of the page when they are first asked for, by their names.
type page func() (map[string]file, error)

const pageName = "docs"

func newPage(table []Route, document, events object, schemas [][]byte) page {
	return sync.OnceValues(func() (map[string]file, error) {
		parsed, err := template.New("docs").Parse(pageTemplate)
		if err != nil {
			return nil, err
		}
		by := orderOf(append([][]byte{openapiPaths, openapiComponents, asyncapi}, schemas...)...)
		data := pageOf(table, document, events, by)
		data.Style, data.Script = hashed("docs.css", style), hashed("docs.js", script)
		var text bytes.Buffer
		err = parsed.Execute(&text, data)
		return map[string]file{
			pageName:    newFile("text/html; charset=UTF-8", text.Bytes()),
			data.Style:  newFile("text/css; charset=UTF-8", style),
			data.Script: newFile("text/javascript; charset=UTF-8", script),
		}, err
	})
}

// hashed puts a hash of the text into the name of a file, so that it can be kept for ever.
func hashed(name string, text []byte) string {
	hash := sha256.Sum256(text)
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(hash[:6]) + extension
}

// ServePage answers with the page for people.
func (d *Documents) ServePage(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", policy)
	return d.serve(c, pageName)
}

// ServeFile answers with the style or the script of the page.
func (d *Documents) ServeFile(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return d.serve(c, c.Param("file"))
}

func (d *Documents) serve(c echo.Context, name string) error {
	files, err := d.page()
	if err != nil {
		return err
	}
	found, ok := files[name]
	if !ok {
		return answer.NewProblem(http.StatusNotFound, "there is no such file; /docs names those that there are")
	}
	header := c.Response().Header()
	header.Add("Vary", "Accept-Encoding")
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, found.kind, found.gzip)
	}
	return c.Blob(http.StatusOK, found.kind, found.plain)
}

// Lead sends those who open the service in a browser to the page.
func Lead(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") }
