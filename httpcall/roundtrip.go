package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/fault"
	"earshot/repositories/neterr"
	"earshot/trigger/effect"
)

type trace struct {
	// sent reports that writing has begun. A call that is not idempotent counts as sent once it is connected:
	// over HTTP/2 its headers leave before the hook is called.
	sent    atomic.Bool
	reached atomic.Bool
}

func (t *trace) attach(ctx context.Context, repeatable bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			t.reached.Store(true)
			if !repeatable {
				t.sent.Store(true)
			}
		},
		WroteHeaders: func() { t.sent.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { failpoint.At(failpoint.RequestSent) },
	})
}

// roundTrip sends the request and reads the answer. It returns the outcome and the host's health.
func (c *Caller) roundTrip(ctx context.Context, call *preparedCall) (effect.Outcome, hostHealth) {
	var progress trace
	request, err := http.NewRequestWithContext(progress.attach(ctx, call.request.Repeatable()), call.method(), "", bytes.NewReader(call.body))
	if err != nil {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "request.method %q is not an HTTP method", effect.Clip(call.method()))), unknown
	}
	request.URL, request.Host, request.Header = call.target, call.target.Host, call.header
	if err := call.checkDeadline(ctx); err != nil {
		return effect.OutcomeOf(err), unknown
	}
	call.auth.once.Store(!call.request.Repeatable())
	response, err := clientOf(call.auth).Do(request)
	if err != nil {
		if !errors.As(err, new(*effect.Failure)) { // a token's failure is logged separately
			c.options.Logger.InfoContext(ctx, "call.unanswered", "app", call.app.ID, "trigger", call.effect.TriggerID,
				"host", call.target.Host, "error", call.redactor.redact(logText(err)))
		}
		return call.failureOutcome(ctx, err, &progress)
	}
	defer response.Body.Close()
	// Only the status decides: a body that does not end in time is truncated.
	outcome, health := c.statusOutcome(call, response.StatusCode, response.Header, true)
	outcome.Result, outcome.Truncated = readResult(decodedBody(response), call.redactor)
	outcome.Reached = true
	return outcome, health
}

// clientOf returns a client that does not follow redirects.
func clientOf(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (p *preparedCall) checkDeadline(ctx context.Context) error {
	if effect.Late(ctx) {
		return effect.Transient(effect.ReasonTimeout, "%s was not sent: the time of the attempt was over", p.label())
	}
	return nil
}

// statusOutcome classifies the status of an answer. arrived is false for the requests that precede an MCP call.
func (c *Caller) statusOutcome(call *preparedCall, status int, header http.Header, arrived bool) (effect.Outcome, hostHealth) {
	outcome := effect.Outcome{Status: status}
	outcome.Verdict, outcome.Reason = verdictOf(status)
	if outcome.Verdict == effect.Retry && arrived && !call.request.Repeatable() {
		outcome.Verdict = effect.Dead // the call arrived
	}
	if outcome.Verdict == effect.Retry {
		outcome.After = neterr.RetryAfter(header, c.options.Now(), repositories.MostRetryFor)
	}
	if outcome.Verdict != effect.Done {
		outcome.Error = fmt.Sprintf("%s answered %d %s%s", call.label(), status, http.StatusText(status), explainStatus(status, "tool's url"))
	}
	if status >= 500 {
		return outcome, down
	}
	return outcome, alive
}

// failureOutcome classifies the error of a request without an answer, or of its token.
func (p *preparedCall) failureOutcome(ctx context.Context, err error, progress *trace) (outcome effect.Outcome, health hostHealth) {
	sent := progress.sent.Load()
	defer func() { outcome.Reached = progress.reached.Load() }()
	var blocked *guard.Blocked
	var failure *effect.Failure
	switch aborted := errors.Is(ctx.Err(), context.Canceled); {
	case errors.As(err, &failure):
		return failure.Outcome, unknown
	case errors.As(err, &blocked): // only the operator can allow it
		return effect.OutcomeOf(effect.Permanent(effect.ReasonBlocked, "%s: %s", p.label(), blocked.Toward(p.target.Hostname()))), unknown
	case sent && !p.request.Repeatable():
		if health = down; aborted {
			health = unknown
		}
		return effect.OutcomeOf(effect.Permanent(effect.ReasonUnknown,
			"%s was sent and not answered (%s); the tool is not idempotent, so the call is not made again by itself",
			p.label(), publicText(err))), health
	case aborted:
		outcome = effect.OutcomeOf(effect.Transient(effect.ReasonRequest, "%s was interrupted, because the service is stopping", p.label()))
		outcome.Deferred = !sent
		return outcome, unknown
	default:
		reason := effect.ReasonRequest
		if timedOut(err) {
			reason = effect.ReasonTimeout
		}
		return effect.OutcomeOf(effect.Transient(reason, "%s was not answered: %s", p.label(), publicText(err))), down
	}
}

// timedOut reports whether err is a timeout, ours or the network's.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// publicText returns the text of a transport error without URLs, which may contain credentials, without the
// peer's bytes, and without addresses.
func publicText(err error) string {
	err = withoutURL(err)
	if reason := neterr.Reason(err); reason != "" {
		return reason
	}
	text := err.Error()
	if strings.Contains(text, "malformed") || strings.Contains(text, `"`) {
		return "what it sent is not an HTTP answer"
	}
	return effect.Clip(text)
}

// logText returns a connection error's text for the log; empty if the peer influenced it.
func logText(err error) string {
	err = withoutURL(err)
	if errors.As(err, new(*guard.Blocked)) || neterr.Reason(err) != "" {
		return effect.Clip(err.Error())
	}
	return ""
}

func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// verdictOf maps the status of an answer to the verdict and reason of a call:
//
//	2xx                 delivered
//	408, 425, 429, 5xx  retried (RFC 9110 15.5.9, RFC 8470, RFC 6585)
//	401                 credentials refused, after a token was renewed
//	all others          call refused; including redirects, which are not followed
func verdictOf(status int) (effect.Verdict, effect.Reason) {
	switch {
	case status >= 200 && status <= 299:
		return effect.Done, ""
	case status == http.StatusRequestTimeout:
		return effect.Retry, effect.ReasonTimeout
	case status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		return effect.Retry, effect.ReasonRequest
	case status == http.StatusUnauthorized:
		return effect.Dead, effect.ReasonAuth
	default:
		return effect.Dead, effect.ReasonRequest
	}
}

// explainStatus explains a status that ended a call. field names what was called.
func explainStatus(status int, field string) string {
	switch {
	case status >= 300 && status <= 399:
		return "; redirects are not followed, so the " + field + " must be the final one"
	case status == http.StatusUnauthorized:
		return "; the tool's credentials are refused"
	case status == http.StatusGone:
		return "; the endpoint is gone for good"
	default:
		return ""
	}
}

// redactionMargin is read beyond the longest result, so that a credential at the cut is masked as a whole.
const redactionMargin = 8 << 10

// byteOrderMark precedes some answers; readers may skip it (RFC 8259 8.1).
const byteOrderMark = "\ufeff"

// jsonString matches the string literals in valid JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// decodedBody returns the body in UTF-8, from the charset that its type declares. A byte order mark overrides that. A
// body of an unknown charset stays as it is.
func decodedBody(response *http.Response) io.Reader {
	_, params, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	encoding, err := htmlindex.Get(params["charset"])
	if err != nil || encoding == unicode.UTF8 {
		return response.Body
	}
	return transform.NewReader(response.Body, unicode.BOMOverride(encoding.NewDecoder()))
}

// readResult reads an answer: JSON as it is, whatever its type, other text as a JSON string; nil for none. If
// it is too long or broke off, it is a string of its beginning, and cut.
func readResult(body io.Reader, mask *redactor) (result json.RawMessage, cut bool) {
	data, err := io.ReadAll(io.LimitReader(body, effect.MaxResult+redactionMargin))
	cut = err != nil || len(data) > effect.MaxResult
	text := string(bytes.ToValidUTF8(data, []byte(string(utf8.RuneError))))
	if cut {
		text = fault.Cut(mask.redactCut(text), effect.MaxResult)
	} else {
		text, cut = shortened(mask.redact(text))
	}
	trimmed := bytes.TrimSpace([]byte(strings.TrimPrefix(text, byteOrderMark)))
	if len(trimmed) == 0 {
		return nil, cut
	}
	if !cut && exactjson.Embeddable(trimmed) {
		var compacted bytes.Buffer
		if json.Compact(&compacted, trimmed) == nil {
			// Credentials are masked inside of strings, however escaped; other bytes stay unchanged.
			return jsonString.ReplaceAllFunc(compacted.Bytes(), func(literal []byte) []byte {
				var plain string
				if json.Unmarshal(literal, &plain) == nil {
					if masked := mask.redact(plain); masked != plain {
						return exactjson.EncodeOrNull(masked)
					}
				}
				return literal
			}), false
		}
	}
	return exactjson.EncodeOrNull(text), cut
}

// shortened cuts a text to the longest result, and reports whether it did.
func shortened(text string) (short string, cut bool) {
	return fault.Cut(text, effect.MaxResult), len(text) > effect.MaxResult
}

// hostHealth is the result of an attempt for the circuit breaker.
type hostHealth int

const (
	unknown hostHealth = iota // the host was not reached, or we aborted
	alive                     // it answered
	down                      // it did not answer, or answered 5xx
)

var (
	errUnknown     = errors.New("nothing was learnt about the host")
	breakerReports = [...]error{unknown: errUnknown, alive: nil, down: errors.New("the host is down")}
)

// maxHosts is how many hosts are tracked. An evicted one starts fresh.
const maxHosts = 8192

// breakerPause is how long a circuit stays open before one call probes the host.
const breakerPause = 30 * time.Second

// hostLimiter bounds an app's calls to a host and breaks the circuit: a slow or dead endpoint neither blocks
// all workers nor is flooded.
type hostLimiter struct {
	options Options
	mu      sync.Mutex
	hosts   *lru.Cache[string, *hostState]
}

type hostState struct {
	slots   *semaphore.Weighted
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
}

// acquire waits for a slot and returns its release. Its error defers the call.
func (l *hostLimiter) acquire(ctx context.Context, appID string, target *url.URL) (release func(hostHealth), err error) {
	o, key := l.options, appID+" "+target.Scheme+" "+strings.ToLower(target.Host)
	l.mu.Lock()
	host, known := l.hosts.Get(key)
	if !known {
		host = &hostState{
			slots: semaphore.NewWeighted(int64(o.HostLimit)),
			breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
				MaxRequests: 1,
				Timeout:     breakerPause,
				ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= uint32(o.BreakAfter) },
				IsExcluded:  func(err error) bool { return errors.Is(err, errUnknown) },
			}),
		}
		l.hosts.Add(key, host)
	}
	l.mu.Unlock()
	if !host.slots.TryAcquire(1) {
		waitCtx, cancel := context.WithTimeout(ctx, o.SlotWait)
		err = host.slots.Acquire(waitCtx, 1)
		cancel()
	}
	if err != nil {
		return nil, effect.Deferral(o.Jitter(o.SlotWait), "host %s has no room: this app has %d calls to it under way", target.Host, o.HostLimit)
	}
	report, err := host.breaker.Allow()
	if err != nil {
		host.slots.Release(1)
		return nil, effect.Deferral(o.Jitter(breakerPause), "host %s is closed off after %d failures in a row; it is tried every %s",
			target.Host, o.BreakAfter, breakerPause)
	}
	return func(health hostHealth) {
		host.slots.Release(1)
		report(breakerReports[health])
	}, nil
}

// singleSendTransport is an http.RoundTripper whose connections are reused, and which sends a request once. A http.Transport
// alone sends one with an Idempotency-Key, or a GET, again over each idle connection that breaks during the request,
// at once and unseen. It still may where nothing was sent: over a connection that was closed while it was idle.
//
// HTTP/2 needs none of this: its requests are only sent again if the server says that it has not processed them.
type singleSendTransport struct{ *http.Transport }

// newSingleSendTransport changes the transport to watch its connections.
func newSingleSendTransport(transport *http.Transport) singleSendTransport {
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: connection}, nil
	}
	return singleSendTransport{transport}
}

// RoundTrip implements http.RoundTripper. It ends the request's context when a connection breaks after a part of the
// request was written to it: the transport looks at the context before it sends again.
func (s singleSendTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(request.Context())
	var current atomic.Pointer[watchedConn]
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if connection := watchedConnOf(info.Conn); connection != nil {
				connection.carry(end)
				current.Store(connection)
			}
		},
		GotFirstResponseByte: func() { // from here on the transport sends nothing again
			if connection := current.Load(); connection != nil {
				connection.carry(nil)
			}
		},
	})
	response, err := s.Transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end(err)
		return nil, err
	}
	response.Body = &endingBody{response.Body, end}
	return response, nil
}

// endingBody releases the context of its request.
type endingBody struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (b *endingBody) Close() error {
	defer b.end(nil)
	return b.ReadCloser.Close()
}

// watchedConnOf returns the connection below TLS; nil for one of HTTP/2, which carries many requests.
func watchedConnOf(connection net.Conn) *watchedConn {
	if tlsConn, isTLS := connection.(*tls.Conn); isTLS {
		if tlsConn.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		connection = tlsConn.NetConn()
	}
	watched, _ := connection.(*watchedConn)
	return watched
}

// watchedConn tells the request that it carries when it is closed. A transport closes a connection that broke before
// it considers to send the request again.
type watchedConn struct {
	net.Conn
	mu         sync.Mutex
	endRequest context.CancelCauseFunc // ends the request that is carried; nil for none
	wrote      bool                    // a part of it was written
	lastErr    error                   // the last error
}

func (c *watchedConn) carry(endRequest context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endRequest, c.wrote = endRequest, false
}

// Read notes an error.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.note(err)
	}
	return n, err
}

// Write notes that something is on its way, before it can be answered.
func (c *watchedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	wroteBefore := c.wrote
	c.wrote = true
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if err != nil {
		c.note(err)
	}
	if n == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrote = wroteBefore
	}
	return n, err
}

func (c *watchedConn) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastErr == nil || !errors.Is(err, net.ErrClosed) {
		c.lastErr = err
	}
}

// Close ends the request that was partly written.
func (c *watchedConn) Close() error {
	c.mu.Lock()
	if c.endRequest != nil && c.wrote {
		c.endRequest(cmp.Or(c.lastErr, net.ErrClosed))
	}
	c.endRequest = nil
	c.mu.Unlock()
	return c.Conn.Close()
}
