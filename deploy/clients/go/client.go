package earshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// DefaultURL is where earshot dev listens.
const DefaultURL = "http://127.0.0.1:8080"

// Client speaks to one service, with one key.
type Client struct {
	base    *url.URL
	tokens  *tokens
	http    *http.Client
	again   int
	waiting waiter
}

// Option changes a Client that New makes.
type Option func(*Client)

// WithKey sends a key, or the token of a session, with every request.
func WithKey(key string) Option {
	return func(c *Client) { c.tokens = &tokens{known: func() string { return key }} }
}

// WithToken sends the session token that a function returns. It is called again when the token is refused or is about to end.
func WithToken(renew func(context.Context) (string, error)) Option {
	return func(c *Client) { c.tokens = &tokens{renewal: renew} }
}

// WithHTTPClient sends requests by another client. If it has a Timeout, events are connected again after that.
func WithHTTPClient(client *http.Client) Option { return func(c *Client) { c.http = client } }

// WithRetries sets how often a request is repeated that got no answer, or that the service could not take; default: 3.
func WithRetries(times int) Option { return func(c *Client) { c.again = max(0, times) } }

// New makes a client of the service at a URL, as https://earshot.example. No request is made.
func New(service string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(service, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("earshot: %q is not the URL of a service, as %s", service, DefaultURL)
	}
	c := &Client{base: base, tokens: &tokens{}, http: &http.Client{}, again: 3, waiting: wait}
	for _, option := range options {
		option(c)
	}
	return c, nil
}

// FromEnvironment makes a client with EARSHOT_URL or DefaultURL, and the key in EARSHOT_KEY or EARSHOT_ADMIN_KEY.
func FromEnvironment(options ...Option) (*Client, error) {
	key := cmp.Or(os.Getenv("EARSHOT_KEY"), os.Getenv("EARSHOT_ADMIN_KEY"))
	return New(cmp.Or(os.Getenv("EARSHOT_URL"), DefaultURL), append([]Option{WithKey(key)}, options...)...)
}

// Do makes a request that has no method of its own. path is below /v1 and escaped, as "apps/clinic/sources". body and answer
// are JSON. It is repeated if there is no answer, unless it is a POST.
func (c *Client) Do(ctx context.Context, method, path string, body, answer any) error {
	path, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("earshot: the query of %q: %w", path, err)
	}
	return c.send(ctx, call{method: method, path: strings.Trim(path, "/"), query: values, body: body, repeatable: method != http.MethodPost}, answer)
}

// Call is Do for a route of /openapi.json, as "/v1/apps/{appId}/keys/{keyId}", with an optional query. The app is this one;
// segments has the others by name.
func (a *App) Call(ctx context.Context, method, route string, segments map[string]string, body, answer any) error {
	path := strings.TrimPrefix(strings.ReplaceAll(route, "{appId}", url.PathEscape(a.id)), "/v1/")
	for name, value := range segments {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	return a.client.Do(ctx, method, path, body, answer)
}

// WhoAmI says whom the service takes the client for.
func (c *Client) WhoAmI(ctx context.Context) (Caller, error) {
	return ask[Caller](ctx, c, get("whoami"))
}

type call struct {
	method, path string // below /v1, escaped
	query        url.Values
	header       http.Header
	body         any
	repeatable   bool  // even if it may have arrived
	unheard      *bool // if not nil, set when the call is repeated after a lost answer
}

func get(path string) call { return call{method: http.MethodGet, path: path, repeatable: true} }

func put(path string, body any) call {
	return call{method: http.MethodPut, path: path, body: body, repeatable: true}
}

func remove(path string) call { return call{method: http.MethodDelete, path: path, repeatable: true} }

func post(path string, body any) call { return call{method: http.MethodPost, path: path, body: body} }

func (r call) repeated() call {
	r.repeatable = true
	return r
}

func (r call) with(name, value string) call {
	if value != "" {
		r.header = r.header.Clone()
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set(name, value)
	}
	return r
}

func (r call) asking(name, value string) call {
	r.query = maps.Clone(r.query)
	if r.query == nil {
		r.query = url.Values{}
	}
	r.query.Set(name, value)
	return r
}

func (c *Client) send(ctx context.Context, r call, answer any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("earshot: what is to be sent is no JSON: %w", err)
		}
	}
	var text []byte
	var failed error
	failed = c.retry(ctx, c.again, r.repeatable, func() error {
		if unanswered := new(lost); r.unheard != nil && errors.As(failed, &unanswered) {
			*r.unheard = true
		}
		var response *http.Response
		if response, failed = c.open(ctx, r, body); failed != nil {
			return failed
		}
		defer response.Body.Close()
		if text, failed = io.ReadAll(response.Body); failed != nil {
			failed = &lost{failed}
		}
		return failed
	})
	if failed != nil {
		return failed
	}
	return decode(text, answer)
}

// retry repeats what failed where that helps and does no harm; without end if times is negative.
func (c *Client) retry(ctx context.Context, times int, repeatable bool, try func() error) error {
	for attempt := 0; ; attempt++ {
		err := try()
		if err == nil {
			return nil
		}
		pause, worth := worthAgain(err, repeatable, attempt)
		if !worth || attempt == times || ctx.Err() != nil || c.waiting(ctx, pause) != nil {
			return err
		}
	}
}

func ask[T any](ctx context.Context, c *Client, r call) (T, error) {
	var answer T
	err := c.send(ctx, r, &answer)
	return answer, err
}

// open sends a request, again with another token if its own is refused, and returns an answer below 300. The caller closes it.
func (c *Client) open(ctx context.Context, r call, body []byte) (*http.Response, error) {
	response, err := c.openOnce(ctx, r, body)
	if c.tokens.refused(err) {
		return c.openOnce(ctx, r, body)
	}
	return response, err
}

func (c *Client) openOnce(ctx context.Context, r call, body []byte) (*http.Response, error) {
	target := c.base.JoinPath("v1").String() + "/" + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("earshot: %w", err)
	}
	for name, values := range r.header {
		request.Header[name] = values
	}
	if r.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", UserAgent)
	key, err := c.tokens.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("earshot: the function for the token failed: %w", err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &lost{err}
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		return nil, newProblem(response)
	}
	return response, nil
}

// decode reads an answer, and keeps the digits of its numbers.
func decode(text []byte, answer any) error {
	if answer == nil || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(answer); err != nil {
		return fmt.Errorf("earshot: the answer is not as expected: %w", err)
	}
	return nil
}

func join(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
	}
	return strings.Join(escaped, "/")
}
