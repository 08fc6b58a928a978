package server

import (
	"crypto/rand"
	"net/http"
	"strings"
)

// RequestIDHeader carries the id of a request, in the request and in its answer.
const RequestIDHeader = "X-Request-Id"

// signs are the characters of a request id, and mostSigns its longest length.
const (
	signs     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	mostSigns = 128
)

// RequestID returns the id of a request, and sets it once in the answer's header: the client's if valid, or
// else 26 random letters and digits.
func RequestID(answer http.Header, request *http.Request) string {
	if id := answer.Get(RequestIDHeader); id != "" {
		return id
	}
	id := request.Header.Get(RequestIDHeader)
	if id == "" || len(id) > mostSigns || strings.Trim(id, signs) != "" {
		id = rand.Text()
	}
	answer[RequestIDHeader] = []string{id}
	return id
}

// Identified sets the id of every request.
func Identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		RequestID(w.Header(), r)
		next.ServeHTTP(w, r)
	})
}
