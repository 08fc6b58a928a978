// Package page serves files from memory, plain or compressed.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

// File is a served file.
type File struct {
	kind  string
	plain []byte
	gzip  func() []byte
}

// New returns a file with a media type. It is compressed on its first request, so that the service starts sooner.
func New(kind string, text []byte) File {
	return File{kind, text, sync.OnceValue(func() []byte { return Packed(text, gzip.BestCompression) })}
}

// Packed compresses a text with gzip at a valid level.
func Packed(text []byte, level int) []byte {
	var packed bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&packed, level) // the level is valid
	_, _ = writer.Write(text)                        // into memory
	_ = writer.Close()
	return packed.Bytes()
}

// TakesGzip reports whether the client accepts gzip.
func TakesGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// Hashed adds a hash of the text to a file name, so that it can be cached forever.
func Hashed(name string, text []byte) string {
	hash := sha256.Sum256(text)
	extension := path.Ext(name)
	return strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(hash[:6]) + extension
}

// Kept lets clients cache a hashed file forever.
func Kept(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
}

// ServeHTTP serves the file.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	w.Header().Add("Vary", "Accept-Encoding")
	text := f.plain
	if TakesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		text = f.gzip()
	}
	_, _ = w.Write(text) // fails if the client is gone
}
