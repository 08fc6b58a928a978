package console

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"earshot/api/answer"
	"earshot/repositories/exactjson"
)

// problem is what REST answers where something is wrong (RFC 9457).
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []flaw `json:"errors"`
	// RetryAfter is the header of that name, in seconds; empty for none.
	RetryAfter string `json:"-"`
}

// flaw is one fault of a body, at its JSON Pointer.
type flaw struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error implements error.
func (p *problem) Error() string { return p.Title + ": " + p.Detail }

// list is a page of a list.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// v1 is the path of REST with these parts, each escaped.
func v1(parts ...string) string {
	path := "/v1"
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// get reads what is at a path into a value; a number in an any keeps its digits.
func (v *visit) get(path string, into any) error {
	return v.call(http.MethodGet, path, nil, into)
}

// call sends a request to REST as the person who is signed in. The error of an answer that
// is not 2xx is a *problem. Neither body nor into is needed.
func (v *visit) call(method, path string, body []byte, into any) error {
	request, err := v.request(method, path, body)
	if err != nil {
		return err
	}
	got := answer.Record(v.rest, request)
	if got.Status >= http.StatusMultipleChoices {
		return refusal(got)
	}
	if into == nil || got.Body.Len() == 0 {
		return nil
	}
	return exactjson.Unmarshal(got.Body.Bytes(), into)
}

// request makes a request to REST. Host and Origin are those of the browser, so that a
// service without keys refuses pages of elsewhere here as it does there; those that the
// browser calls its own are not asked again.
func (v *visit) request(method, path string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(v.r.Context(), method, path, bytes.NewReader(body))
	if err != nil {
		return nil, &problem{Status: http.StatusBadRequest, Title: "No such path", Detail: err.Error()}
	}
	request.Host, request.RemoteAddr, request.TLS, request.RequestURI = v.r.Host, v.r.RemoteAddr, v.r.TLS, path
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body = http.NoBody
	}
	if origin := v.r.Header.Get("Origin"); origin != "" && v.r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		request.Header.Set("Origin", origin)
	}
	if !v.key.Empty() {
		request.Header.Set("Authorization", "Bearer "+v.key.Reveal())
	}
	return request, nil
}

// text reads what is at an open path, whatever its type.
func (v *visit) text(path string) (io.Reader, error) {
	request, err := v.request(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	got := answer.Record(v.rest, request)
	if got.Status != http.StatusOK {
		return nil, refusal(got)
	}
	return &got.Body, nil
}

// refusal reads what REST has against a request.
func refusal(got *answer.Recorder) error {
	found := &problem{}
	if json.Unmarshal(got.Body.Bytes(), found) != nil || found.Status == 0 {
		found = &problem{Status: got.Status, Title: http.StatusText(got.Status), Detail: strings.TrimSpace(got.Body.String())}
	}
	found.RetryAfter = got.Header().Get("Retry-After")
	return found
}
