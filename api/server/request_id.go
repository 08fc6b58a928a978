package server

import (
	"crypto/rand"
	"net/http"
	"strings"
)

// RequestIDHeader names the id of a request, in the request and in its answer.
const RequestIDHeader = "X-Request-Id"

// signs are those that a request's id may have, and mostSigns how many.
const (
	signs     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	mostSigns = 128
)

// RequestID returns the id of a request, and sets it in the header of its answer, once: the client's if it is one,
// else a fresh one of 26 letters and digits.
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

// Identified names every request before it is handled.
func Identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		RequestID(w.Header(), r)
		next.ServeHTTP(w, r)
	})
}
