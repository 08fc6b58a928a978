package llm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories/neterr"
	"earshot/repositories/secret"
	"earshot/repositories/version"
)

// NewHTTPClient returns the client for all providers. It keeps as many idle connections per provider as there may
// be concurrent messages, so that none waits for a new TLS handshake; http.DefaultTransport keeps two. Over HTTP/2,
// messages share connections. The proxy comes from the environment (HTTPS_PROXY). The context of a request limits
// the time for its answer.
func NewHTTPClient(messages int) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		TLSClientConfig:       &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0), MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   max(1, messages),
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		// A request is tens of kilobytes of tools and history, an answer one or two: decompression costs more than
		// it saves.
		WriteBufferSize:        16 << 10,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		// All messages share one HTTP/2 connection, whose death only pings reveal.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}}
}

// wireForm encodes a provider's requests and decodes its answers.
type wireForm interface {
	// write writes a request without the parts that the model refuses.
	write(request chatRequest, without []string) requestBody
	// read reads an answer. With an error only the usage of the completion is valid.
	read(body []byte) (completion, error)
}

// endpoint is shared by all providers: it sends requests and classifies the outcome.
type endpoint struct {
	wireForm
	transport http.RoundTripper
	timeout   time.Duration    // for preparations of a request, such as a token
	now       func() time.Time // for Retry-After given as a date

	url     *url.URL
	header  http.Header // of every request
	key     string
	spare   []string // the optional parts of a request; refused maps models to those that they refuse
	refused *lru.Cache[string, []string]
}

// maxRefusing bounds the models whose refusals one endpoint remembers: apps choose model names freely.
const maxRefusing = 256

func commonHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {version.Product()}}
}

func (e *endpoint) sendKey(name, prefix string) {
	if e.key != "" {
		e.header.Set(name, prefix+e.key)
	}
}

func (e *endpoint) complete(ctx context.Context, request chatRequest) (completion, error) {
	return e.ask(ctx, e.url, e.header, request)
}

// requestBody is a request in a provider's form.
type requestBody struct {
	rest any
	// tools are encoded JSON. They come first: they change least, and providers cache prefixes of requests.
	tools []json.RawMessage
	// within names the member that holds the tools, in the only element of the list; empty if they are its
	// elements.
	within string
}

// parts returns the JSON of a request in pieces. The tools, most of a request, are encoded once for many.
func (b requestBody) parts() []matcher.Piece {
	rest, err := json.Marshal(b.rest)
	if err != nil || len(b.tools) == 0 { // ours always marshals; an empty body would be refused
		return []matcher.Piece{{Text: rest}}
	}
	before, behind := toolsBegin, toolsEnd
	if b.within != "" {
		before, behind = []byte(string(toolsBegin)+`{"`+b.within+`":[`), []byte("]}],")
	}
	parts := append(make([]matcher.Piece, 0, 2*len(b.tools)+4), matcher.Piece{Text: before})
	for i, tool := range b.tools {
		if i > 0 {
			parts = append(parts, matcher.Piece{Text: comma})
		}
		parts = append(parts, matcher.Piece{Text: tool, Shared: true})
	}
	return append(parts, matcher.Piece{Text: behind}, matcher.Piece{Text: rest[1:]})
}

// JSON around and between the tools. Pieces are never modified.
var toolsBegin, comma, toolsEnd = []byte(`{"tools":[`), []byte(","), []byte("],")

// wire records a request and its answer for a trace. A repeated request overwrites it.
type wire struct {
	parts   []matcher.Piece // including the omitted parts
	leftOut []string        // parts that were omitted because the model refuses them
	answer  []byte          // as received, without the key
}

func (e *endpoint) ask(ctx context.Context, to *url.URL, header http.Header, request chatRequest) (completion, error) {
	answer, err := e.post(ctx, to, header, request)
	if err != nil {
		return completion{}, failure(ctx, err, e.key)
	}
	read, err := e.read(answer)
	if err == nil && len(read.calls) > maxCalls {
		err = fmt.Errorf("the answer has %d tool calls, more than %d", len(read.calls), maxCalls)
	}
	if err == nil {
		return read, nil
	}
	reason := err.Error()
	if failed, is := errors.AsType[serverError](err); is {
		reason = "it answered with an error: " + Scrub(string(failed), e.key)
	}
	return completion{usage: read.usage}, &matcher.Unavailable{Reason: reason}
}

// maxCalls bounds the calls of an answer: a model that repeats itself makes thousands, and each would fire its tool.
const maxCalls = 128

// post sends a request without the parts that the model is known to refuse. If the model refuses another optional
// part, the request is repeated once without it.
func (e *endpoint) post(ctx context.Context, to *url.URL, header http.Header, request chatRequest) ([]byte, error) {
	without, _ := e.refused.Get(request.model)
	sent := e.write(request, nil).parts()
	if request.wire != nil {
		*request.wire = wire{parts: sent, leftOut: without}
	}
	if len(without) > 0 {
		sent = e.write(request, without).parts()
	}
	status, answer, err := e.send(ctx, to, header, request.wire, sent)
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return answer, err
	}

	name := e.refusedPart(answer, err.Error(), sent)
	if name == "" {
		return nil, err
	}
	without = append(slices.Clone(without), name)
	e.refused.Add(request.model, without)
	if request.wire != nil {
		request.wire.leftOut = without
	}
	_, answer, err = e.send(ctx, to, header, request.wire, e.write(request, without).parts())
	return answer, err
}

// maxAnswer bounds the body of an answer, in bytes. Models write a few kilobytes.
const maxAnswer = 4 << 20

// send sends a request and returns its answer, with an error for an error status.
func (e *endpoint) send(ctx context.Context, to *url.URL, header http.Header, watch *wire, parts []matcher.Piece) (status int, answer []byte, err error) {
	// One piece lets the transport write it together with the head, without another copy.
	length := 0
	for _, part := range parts {
		length += len(part.Text)
	}
	body := make([]byte, 0, length)
	for _, part := range parts {
		body = append(body, part.Text...)
	}
	request := (&http.Request{Method: http.MethodPost, URL: to, Header: header, ContentLength: int64(len(body))}).WithContext(ctx) // nothingDone modifies a header
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body, _ = request.GetBody()
	if of := to.User; of != nil && header.Get("Authorization") == "" {
		request.Header = header.Clone()
		password, _ := of.Password()
		request.SetBasicAuth(of.Username(), password)
	}

	response, err := e.transport.RoundTrip(request) // a client would follow redirects, and send the key to other hosts
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end or abandoned: the error is irrelevant
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case err != nil:
		return 0, nil, &matcher.Unavailable{Reason: "the answer broke off"}
	case len(answer) > maxAnswer:
		return 0, nil, &matcher.Unavailable{Reason: fmt.Sprintf("the answer is larger than %d MiB", maxAnswer>>20)}
	}
	if watch != nil {
		watch.answer = answer
		if e.key != "" && bytes.Contains(answer, []byte(e.key)) {
			watch.answer = bytes.ReplaceAll(answer, []byte(e.key), []byte(secret.Masked))
		}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return response.StatusCode, answer, e.refusal(response, answer)
	}
	return response.StatusCode, answer, nil
}

// maxRetryAfter bounds the pause that a server may ask for.
const maxRetryAfter = 24 * time.Hour

// refusalBody is an error body in the usual forms.
type refusalBody struct {
	Error   anyError `json:"error"`
	Message anyError `json:"message"`
	Detail  anyError `json:"detail"`
	Param   anyText  `json:"param"`
}

func (e *endpoint) refusal(response *http.Response, body []byte) error {
	var parsed refusalBody
	_ = json.Unmarshal(body, &parsed) // HTML has no message
	reason := strings.TrimSpace(fmt.Sprintf("it answered HTTP %d %s", response.StatusCode, http.StatusText(response.StatusCode)))
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, 498: // 498: an unknown key, at Cohere
		// Their messages repeat parts of the key.
		reason += ": check the API key and what it may do"
	default:
		if words := cmp.Or(parsed.Error.text, parsed.Message.text, parsed.Detail.text); words != "" {
			reason += ": " + Scrub(words, e.key)
		}
	}

	// OpenAI's retry-after-ms, else the standard header, else the delay in a Google error.
	pause := neterr.RetryAfter(response.Header, e.now(), maxRetryAfter)
	if ms, err := strconv.ParseInt(response.Header.Get("Retry-After-Ms"), 10, 32); err == nil {
		pause = min(max(0, time.Duration(ms)*time.Millisecond), maxRetryAfter)
	}
	if pause == 0 {
		delay, _ := time.ParseDuration(parsed.Error.retryDelay)
		pause = min(delay, maxRetryAfter)
	}
	return &matcher.Unavailable{Reason: reason, RetryAfter: pause}
}

var (
	nameLike = regexp.MustCompile(`[A-Za-z0-9_]+`)
	// unsupported matches error messages about an unknown parameter or an unsupported value.
	unsupported = regexp.MustCompile(`(?i)unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|cannot find field`)
)

// refusedPart returns the optional part of a request that a refusal names; empty if none. It is the error's
// parameter, else the first word of its message that names one. Any part of a path such as tools[0].cache_control
// counts.
func (e *endpoint) refusedPart(refusal []byte, reason string, sent []matcher.Piece) string {
	var parsed refusalBody
	_ = json.Unmarshal(refusal, &parsed) // an unreadable body names nothing
	words := nameLike.FindAllString(parsed.Error.param+" "+string(parsed.Param), -1)
	if unsupported.MatchString(reason) {
		words = append(words, nameLike.FindAllString(reason, -1)...)
	}
	for _, word := range words {
		contains := func(part matcher.Piece) bool { return bytes.Contains(part.Text, []byte(`"`+word+`":`)) }
		if slices.Contains(e.spare, word) && slices.ContainsFunc(sent, contains) {
			return word
		}
	}
	return ""
}

// failure describes why a request failed. It omits the URL, which may contain credentials, and network addresses.
func failure(ctx context.Context, err error, key string) error {
	if known, is := errors.AsType[*matcher.Unavailable](err); is {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if sent, is := errors.AsType[*url.Error](err); is {
		err = sent.Err
	}
	detail := Scrub(err.Error(), key)
	if reason := neterr.Reason(err); reason != "" {
		return &matcher.Unavailable{Reason: reason, Detail: detail}
	}
	return &matcher.Unavailable{Reason: detail}
}

// maxReason bounds a server's message in an error, in bytes.
const maxReason = 200

// Scrub makes a server's message safe to show: short, on one line, and without words that contain part of the key,
// because servers echo keys. Six consecutive characters count, or the whole of a shorter key.
func Scrub(message, key string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
	words, piece := strings.Fields(text.Clip(printable, 4*maxReason)), min(6, len(key))
	for i, word := range words {
		for at := 0; piece > 0 && at+piece <= len(word); at++ {
			if strings.Contains(key, word[at:at+piece]) {
				words[i] = "***"
				break
			}
		}
	}
	return text.Clip(strings.Join(words, " "), maxReason)
}

var versioned = regexp.MustCompile(`/(v[0-9]+[a-z0-9]*)/?$`)

// errBaseURL omits the URL, which may contain credentials.
var errBaseURL = errors.New("its base URL cannot be read: give it as in https://api.example.com")

// parseBase parses a base URL and removes the API version from its end.
func parseBase(baseURL string) (base *url.URL, version string, err error) {
	base, err = url.Parse(baseURL)
	if err != nil || base.Host == "" {
		return nil, "", errBaseURL
	}
	if found := versioned.FindStringSubmatch(base.Path); found != nil {
		base.Path, version = strings.TrimSuffix(base.Path, found[0]), found[1]
	}
	base.Path, base.RawPath = cmp.Or(base.Path, "/"), ""
	return base, version, nil
}
