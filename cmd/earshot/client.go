package main

import (
	"bytes"
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

	"github.com/spf13/pflag"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

const (
	// mostAnswer bounds an answer of the service: a page of 200 repositories, each of
	// up to a megabyte, is the longest there is.
	mostAnswer = 256 << 20
	// answerTime is longer than a message takes: an LLM request, its repetition, and a
	// call's first attempt.
	answerTime = 3 * time.Minute
)

// client calls a running service over REST.
type client struct {
	Server string
	Key    secret.Secret
}

func (c *client) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.Server, "server", "http://127.0.0.1:8080", "the service (EARSHOT_URL)")
	flags.SetAnnotation("server", variable, []string{"EARSHOT_URL"}) //nolint:errcheck // the flag exists
	flags.TextVar(&c.Key, "key", secret.Secret{}, "bearer key (EARSHOT_KEY, else EARSHOT_ADMIN_KEY)")
	flags.SetAnnotation("key", variable, []string{"EARSHOT_KEY", "EARSHOT_ADMIN_KEY"}) //nolint:errcheck // the flag exists
}

// refusal is an answer that is an error (RFC 9457).
type refusal struct {
	Status    int        `json:"status"`
	Title     string     `json:"title"`
	Detail    string     `json:"detail"`
	Errors    fault.List `json:"errors"`
	MessageID string     `json:"messageId"`
	// RetryAfter is when the service wants to be asked again; zero where it does not say.
	RetryAfter time.Duration `json:"-"`
}

// Error returns what the service says, with what helps against it.
func (r *refusal) Error() string {
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

// refused reports whether an error is an answer of that status.
func refused(err error, status int) bool {
	var answer *refusal
	return errors.As(err, &answer) && answer.Status == status
}

// path joins the segments of a path below /v1, escaped.
func path(segments ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, segment := range segments {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String()
}

// call makes a request and returns the body of an answer below 300.
func (c *client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Server, "/")+path, bytes.NewReader(body))
	if err != nil || request.URL.Host == "" {
		return nil, fmt.Errorf("--server (EARSHOT_URL) is %q; it must be a URL, as in http://127.0.0.1:8080", withoutPassword(c.Server))
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if !c.Key.Empty() {
		request.Header.Set("Authorization", "Bearer "+c.Key.Reveal())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, unreachable(c.Server, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, unreachable(c.Server, err)
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	return nil, newRefusal(response, answer)
}

func newRefusal(response *http.Response, answer []byte) error {
	refused := &refusal{}
	if json.Unmarshal(answer, refused) != nil || refused.Status != response.StatusCode {
		return fmt.Errorf("%s answers %s, and not as Earshot does; is --server (EARSHOT_URL) right?",
			withoutPassword(response.Request.URL.String()), response.Status)
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		refused.RetryAfter = time.Duration(seconds) * time.Second
	}
	return refused
}

// unreachable says what to do where nobody answers.
func unreachable(server string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // it repeats the URL
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("no Earshot answers at %s: %w; start one with: earshot dev, or name one with --server or EARSHOT_URL",
		withoutPassword(server), err)
}

func withoutPassword(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return "no URL"
	}
	return parsed.Redacted()
}

// get reads a JSON answer.
func (c *client) get(ctx context.Context, path string, into any) error {
	answer, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return decodeJSON(answer, into)
}

// all reads every page of a list.
func (c *client) all(ctx context.Context, path string) ([]json.RawMessage, error) {
	var items []json.RawMessage
	after := ""
	for {
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next"`
		}
		if err := c.get(ctx, path+"?limit=200"+after, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items, nil
		}
		after = "&after=" + url.QueryEscape(page.Next)
	}
}

// decodeJSON keeps the digits of numbers.
func decodeJSON(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("the answer of the service cannot be read: %w", err)
	}
	return nil
}

// onlyApp returns the given app or, where none is given, the one that there is.
func (c *client) onlyApp(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, repositories.CheckID("--app", given)
	}
	items, err := c.all(ctx, path("apps"))
	if err != nil {
		return "", err
	}
	var ids []string
	for _, item := range items {
		var app struct {
			ID string `json:"appId"`
		}
		if err := decodeJSON(item, &app); err != nil {
			return "", err
		}
		ids = append(ids, app.ID)
	}
	switch len(ids) {
	case 0:
		return "", errors.New("the service has no app yet; make one with: earshot apply -f FILE")
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("the service has several apps; say which with --app: %s", strings.Join(ids[:min(len(ids), 10)], ", "))
}
