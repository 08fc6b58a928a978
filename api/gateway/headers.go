package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/server"
	"earshot/repositories"
)

// The gateway holds the operator's key, so headers pass only if listed. A gateway may take its target,
// account or tenant from a request header, and a browser obeys headers of an answer (section 19 of the
// contract).

// toModel lists the request headers that reach the model's host. A final * matches any rest.
var toModel = []string{"Accept*", "Content-*", "User-Agent", "Traceparent", "Tracestate", "Idempotency-Key", "Openai-Beta", "X-Stainless-*"}

// fromModel lists the answer headers that reach the client. Of Content-* it has those that describe the
// body, not the policies for browsers.
var fromModel = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Range", "Content-Digest", "Accept-Ranges",
	"Cache-Control", "Date", "Retry-After", "X-Ratelimit-*", "Ratelimit*", "Openai-Processing-Ms", "Openai-Version", "Openai-Model", "X-Should-Retry", "Vary",
}

// never lists headers that no list can allow: credentials, headers that control access to the answer or to
// this host, and those of one connection (RFC 9110, section 7.6.1).
var never = []string{
	"Authorization", "Api-Key", "X-Api-Key", "Cookie", "Set-Cookie", "Expect", "Host", sessionHeader, "Access-Control-*", "Alt-Svc", "Strict-Transport-Security",
	"Connection", "Keep-Alive", "Proxy-*", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Frame-Options", "X-Content-Type-Options", server.RequestIDHeader, "Content-Security-Policy*", "Clear-Site-Data", "Location",
}

func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		begin, rest := strings.CutSuffix(one, "*")
		return strings.EqualFold(one, name) || rest && len(name) >= len(begin) && strings.EqualFold(begin, name[:len(begin)])
	})
}

// passes returns the headers that are on a list, except those that Connection names.
func passes(header http.Header, lists ...[]string) http.Header {
	hop := map[string]bool{}
	for _, line := range header["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			hop[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	out := http.Header{}
	for name, values := range header {
		isToken := strings.HasSuffix(strings.ToLower(name), repositories.TokenHeaderEnd)
		if !hop[name] && !isToken && !matches(never, name) && slices.ContainsFunc(lists, func(list []string) bool { return matches(list, name) }) {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// modelRequestHeader carries the model's own X-Request-Id.
const modelRequestHeader = "X-Model-Request-Id"

func (h *Handler) copyHeader(c echo.Context, response *http.Response) {
	header := c.Response().Header()
	if id := response.Header.Get(server.RequestIDHeader); id != "" {
		header.Set(modelRequestHeader, id)
	}
	for name, values := range passes(response.Header, fromModel, h.Model.Headers) {
		if name == "Vary" {
			values = append(header[name], values...)
		}
		header[name] = values
	}
}

// headerSigns are the characters of a header name, except *.
const headerSigns = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&'+-.^_`|~"

// CheckHeaders validates an operator's list of further headers: names or prefixes with a final *, except
// those that never pass.
func CheckHeaders(list []string) error {
	for _, one := range list {
		begin := strings.TrimSuffix(one, "*")
		if strings.Trim(begin, headerSigns) != "" || begin == "" {
			return fmt.Errorf("%q is no name of a header, nor the begin of one with a * behind it, as in X-Tenant or X-Gateway-*", one)
		}
		if matches(never, begin) || strings.HasSuffix(strings.ToLower(begin), repositories.TokenHeaderEnd) {
			return fmt.Errorf("%q never passes: it would carry a credential, or the model's host would speak for this one", one)
		}
	}
	return nil
}
