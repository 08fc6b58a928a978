// Package page serves files of pages that are kept in memory, as they are and compressed.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

// File is one that is served.
type File struct {
	kind        string
	plain, gzip []byte
}

// New makes a file of a media type.
func New(kind string, text []byte) File {
	var packed bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one that there is
	_, _ = writer.Write(text)                                       // into memory
	_ = writer.Close()
	return File{kind, text, packed.Bytes()}
}

// Hashed puts a hash of the text into the name of a file, so that it can be kept for ever.
func Hashed(name string, text []byte) string {
	hash := sha256.Sum256(text)
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(hash[:6]) + extension
}

// Kept says that a file under such a name can be kept for ever.
func Kept(c echo.Context) {
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
}

// Serve answers with the file.
func (f File) Serve(c echo.Context) error {
	header := c.Response().Header()
	header.Add("Vary", "Accept-Encoding")
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, f.kind, f.gzip)
	}
	return c.Blob(http.StatusOK, f.kind, f.plain)
}
