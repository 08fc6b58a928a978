// Package client is a REST client of a running service, for commands.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

const (
	// maxAnswer bounds an answer in bytes. The longest is a page of 200 repositories of up to a megabyte each.
	maxAnswer = 256 << 20
	// answerTimeout is longer than a message takes: an LLM request, its repetition, and a call's first attempt.
	answerTimeout = 3 * time.Minute
)

// Client is an HTTP client of one service.
type Client struct {
	Server string        // URL of the service
	Key    secret.Secret // bearer key; empty for none
	HTTP   *http.Client  // nil means http.DefaultClient
}

// Refusal is an error answer of the service (RFC 9457).
type Refusal struct {
	Status int        `json:"status"`
	Title  string     `json:"title"`
	Detail string     `json:"detail"`
	Errors fault.List `json:"errors"`
	// RetryAfter is the requested pause; zero for none.
	RetryAfter time.Duration `json:"-"`
}

// Error returns the service's text, with a hint.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("the service answers %d %s", r.Status, r.Title)
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	if len(r.Errors) > 0 {
		text += ": " + r.Errors.Error()
	}
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
		text += " (a key is given with --key or EARSHOT_KEY)"
	}
	return text
}

// HasStatus reports whether err is a Refusal with that status.
func HasStatus(err error, status int) bool {
	answer, is := errors.AsType[*Refusal](err)
	return is && answer.Status == status
}

// Path joins path segments below /v1, each escaped.
func Path(segments ...string) string {
	path := "/v1"
	for _, segment := range segments {
		path += "/" + url.PathEscape(segment)
	}
	return path
}

// Call sends a request and returns the body of an answer below 300.
func (c *Client) Call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Server, "/")+path, bytes.NewReader(body))
	if err != nil || request.URL.Host == "" || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		return nil, fmt.Errorf("--server (EARSHOT_URL) is %q; it must be a URL, as in http://127.0.0.1:8080", Redacted(c.Server))
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPut { // files are accepted even if they name a model that is not configured here
		request.Header.Set("Prefer", "handling=lenient")
	}
	if !c.Key.Empty() {
		request.Header.Set("Authorization", "Bearer "+c.Key.Reveal())
	}
	response, err := cmp.Or(c.HTTP, http.DefaultClient).Do(request)
	if err != nil {
		return nil, unreachable(c.Server, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, unreachable(c.Server, err)
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	refused := &Refusal{}
	if json.Unmarshal(answer, refused) != nil || refused.Status != response.StatusCode {
		return nil, fmt.Errorf("%s answers %s, and is not an Earshot service; check --server (EARSHOT_URL)",
			Redacted(response.Request.URL.String()), response.Status)
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		refused.RetryAfter = time.Duration(seconds) * time.Second
	}
	return nil, refused
}

func unreachable(server string, err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = wrapped.Err // url.Error repeats the URL
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("no Earshot answers at %s: %w; start one with: earshot dev, or name one with --server or EARSHOT_URL",
		Redacted(server), err)
}

// Redacted returns a URL without its password. Of invalid URLs, which may contain an unencoded password, it
// returns the part after the last @.
func Redacted(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	if parsed, err := url.Parse(text); err == nil && parsed.User != nil && strings.Count(text, "@") == 1 {
		return parsed.Redacted()
	}
	scheme := ""
	if at := strings.Index(text, "://"); at > 0 {
		scheme = text[:at+len("://")]
	}
	return scheme + "xxxxx" + text[strings.LastIndex(text, "@"):]
}

// Get reads a JSON answer.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	answer, err := c.Call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return Decode(answer, into)
}

// All reads every page of a list.
func All[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	var items []T
	for after := ""; ; {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}
		if err := c.Get(ctx, path+"?limit=200"+after, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items, nil
		}
		after = "&after=" + url.QueryEscape(page.Next)
	}
}

// Decode reads a JSON answer and keeps the digits of its numbers.
func Decode(text []byte, into any) error {
	if err := exactjson.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer of the service cannot be read: %w", err)
	}
	return nil
}

// Caller is the client's identity at the service.
type Caller struct {
	AppID     string `json:"appId"`     // of an app's key or a session's token
	SessionID string `json:"sessionId"` // of a session's token
	// NATSURL is the address of events, which only earshot dev returns, on the same machine.
	NATSURL string `json:"natsUrl"`
}

// WhoAmI returns the client's identity.
func (c *Client) WhoAmI(ctx context.Context) (who Caller, err error) {
	err = c.Get(ctx, Path("whoami"), &who)
	return who, err
}

// App returns the given app, or else the app of the key, or else the only app.
func (c *Client) App(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, repositories.CheckID("--app", given)
	}
	who, err := c.WhoAmI(ctx)
	if err != nil && !HasStatus(err, http.StatusNotFound) { // an older service
		return "", err
	}
	if who.AppID != "" {
		return who.AppID, nil
	}
	type app struct {
		ID string `json:"appId"`
	}
	apps, err := All[app](ctx, c, Path("apps"))
	if err != nil {
		return "", err
	}
	ids := lists.Map(apps, func(one app) string { return one.ID })
	switch len(ids) {
	case 0:
		return "", errors.New("the service has no app yet; make one with: earshot apply -f FILE")
	case 1:
		return ids[0], nil
	}
	if len(ids) > 10 {
		ids = append(ids[:10], "…")
	}
	return "", fmt.Errorf("the service has several apps; name one with --app: %s", strings.Join(ids, ", "))
}
