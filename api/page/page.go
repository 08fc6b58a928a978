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
)

// File is one that is served.
type File struct {
	kind        string
	plain, gzip []byte
}

// New makes a file of a media type.
func New(kind string, text []byte) File {
	return File{kind, text, Packed(text, gzip.BestCompression)}
}

// Packed is a text as gzip at one of its levels.
func Packed(text []byte, level int) []byte {
	var packed bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&packed, level) // the level is one that there is
	_, _ = writer.Write(text)                        // into memory
	_ = writer.Close()
	return packed.Bytes()
}

// TakesGzip reports whether who asks can read gzip.
func TakesGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// Hashed puts a hash of the text into the name of a file, so that it can be kept for ever.
func Hashed(name string, text []byte) string {
	hash := sha256.Sum256(text)
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(hash[:6]) + extension
}

// Kept says that a file under such a name can be kept for ever.
func Kept(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
}

// ServeHTTP answers with the file.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	w.Header().Add("Vary", "Accept-Encoding")
	text := f.plain
	if TakesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		text = f.gzip
	}
	_, _ = w.Write(text) // fails if the client is gone
}
