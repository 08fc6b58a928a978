package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// refusal holds back what the SDK answers in plain text: a client of JSON-RPC gets an error that it can read.
type refusal struct {
	http.ResponseWriter
	status int // of the plain text; 0 for any other answer
	text   bytes.Buffer
}

// WriteHeader writes the head of an answer that is no plain text.
func (r *refusal) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(r.Header().Get(echo.HeaderContentType), echo.MIMETextPlain) {
		r.status = status
		return
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write writes to the client, or keeps the plain text.
func (r *refusal) Write(part []byte) (int, error) {
	if r.status != 0 {
		return r.text.Write(part)
	}
	return r.ResponseWriter.Write(part)
}

// Flush sends what is written of a stream.
func (r *refusal) Flush() {
	if f, is := r.ResponseWriter.(http.Flusher); is && r.status == 0 {
		f.Flush()
	}
}

// Unwrap returns the writer below, for http.ResponseController.
func (r *refusal) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// unknownMethod is what the SDK says of a method that it does not know.
const unknownMethod = "JSON RPC not handled"

// answer writes an error of JSON-RPC in place of the plain text.
func (r *refusal) answer(x *rpcCall, body []byte) error {
	code, says, status := codeInvalidRequest, strings.TrimSpace(r.text.String()), r.status
	switch {
	case !json.Valid(body):
		code, says = codeParse, "the body is no JSON: "+says
	case strings.HasPrefix(says, unknownMethod) && x.request.Method != "":
		code, says, status = codeUnknownMethod, "there is no method "+exactQuote(x.request.Method)+" here", http.StatusOK
	}
	r.Header().Del(echo.HeaderContentType)
	return writeError(x, status, &rpcError{Code: code, Message: says})
}

// known reports whether the revision that a request names in its header is spoken; one that names none may be of any.
func known(header http.Header) bool {
	named := header.Get(versionHeader)
	return named == "" || slices.Contains(sdk.SupportedProtocolVersions(), named)
}

// unknownVersion answers a request of a revision that is not spoken (SEP-2575).
func unknownVersion(x *rpcCall) error {
	named := x.c.Request().Header.Get(versionHeader)
	return writeError(x, http.StatusBadRequest, &rpcError{
		Code: sdk.CodeUnsupportedProtocolVersion, Message: "revision " + exactQuote(named) + " is not spoken here",
		Data: sdk.UnsupportedProtocolVersionData{Supported: sdk.SupportedProtocolVersions(), Requested: named},
	})
}
