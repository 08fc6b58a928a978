package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories/neterr"
)

// CheckNotCut returns an error for an answer that its server did not finish: an answer that
// was truncated or filtered must never become a match. It knows the finish reasons of all
// providers, since compatible endpoints pass through those of the model behind them.
func CheckNotCut(reason string) error {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "model_length", "model_context_window_exceeded", "error_limit":
		return &matcher.Unavailable{Reason: "the answer was cut short by the model's limit of tokens"}
	case "content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic":
		return &matcher.Unavailable{Reason: "the provider's content filter held the answer back"}
	case "error", "malformed_function_call":
		return &matcher.Unavailable{Reason: fmt.Sprintf("the model failed with finish_reason %q", reason)}
	default:
		return nil
	}
}

// CheckFinishReason is CheckNotCut for a provider that documents its reasons for a sound
// end: any other reason is an error. An empty reason is sound.
func CheckFinishReason(reason string, sound ...string) error {
	if reason == "" || slices.Contains(sound, reason) {
		return nil
	}
	if err := CheckNotCut(reason); err != nil {
		return err
	}
	return &matcher.Unavailable{Reason: fmt.Sprintf("the model failed with finish_reason %q", text.Clip(reason, MaxFinish))}
}

// MaxFinish is the maximum length, in bytes, of a finish reason in an error.
const MaxFinish = 60

// refusal makes an error from what a server answered instead of a completion: a *badRequest
// if it may say which part of the request it does not accept.
func (t *Transport) refusal(response *http.Response, body []byte) error {
	reason := strings.TrimSpace(fmt.Sprintf("it answered HTTP %d %s", response.StatusCode, http.StatusText(response.StatusCode)))
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, invalidToken:
		// Their texts repeat parts of the key.
		reason += ": check the API key and what it may do"
	default:
		if text := t.errorMessage(body); text != "" {
			reason += ": " + text
		}
	}
	pause := cmp.Or(retryAfter(response.Header, t.network.Now()), retryInfo(body))
	unavailable := &matcher.Unavailable{Reason: reason, RetryAfter: pause}
	if response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnprocessableEntity {
		return &badRequest{unavailable, body}
	}
	return unavailable
}

// invalidToken is Cohere's status for a key that it does not know.
const invalidToken = 498

// Failure describes why a request failed, without the URL, which may carry credentials, and
// without network addresses.
func Failure(ctx context.Context, err error, key string) error {
	var known *matcher.Unavailable
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	said := Scrub(err.Error(), key)
	if reason := neterr.Reason(err); reason != "" {
		return &matcher.Unavailable{Reason: reason, Detail: said}
	}
	return &matcher.Unavailable{Reason: said}
}

// Unreadable makes an error for an answer that came with a good status and cannot be read.
func (t *Transport) Unreadable(err error) error {
	var known *matcher.Unavailable
	var failed *ServerError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &failed):
		return &matcher.Unavailable{Reason: "it answered with an error: " + Scrub(failed.Text, t.key)}
	default:
		return &matcher.Unavailable{Reason: err.Error()}
	}
}

// errorMessage extracts the server's own words from the usual forms of error bodies; it
// returns an empty string for HTML and the like.
func (t *Transport) errorMessage(body []byte) string {
	var parsed map[string]json.RawMessage
	if json.Unmarshal(body, &parsed) != nil {
		return ""
	}
	for _, member := range []string{"error", "message", "detail"} {
		if text := ErrorText(parsed[member]); text != "" {
			return Scrub(text, t.key)
		}
	}
	return ""
}

// maxReason bounds a server's words in an error, in bytes.
const maxReason = 200

// Scrub makes a server's words safe to show in an error: short, on one line, and without
// any word that contains a part of the key, since servers echo keys in whole or in part.
func Scrub(said, key string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, said)
	words := strings.Fields(text.Clip(printable, 4*maxReason))
	for i, word := range words {
		if sharesPiece(word, key) {
			words[i] = "***"
		}
	}
	return text.Clip(strings.Join(words, " "), maxReason)
}

// sharesPiece reports whether the word holds six characters in a row of the key, or
// all of a key that is shorter.
func sharesPiece(word, key string) bool {
	const piece = 6
	if key == "" {
		return false
	}
	if len(key) < piece {
		return strings.Contains(word, key)
	}
	for i := 0; i+piece <= len(word); i++ {
		if strings.Contains(key, word[i:i+piece]) {
			return true
		}
	}
	return false
}

// retryInfo reads the pause that Google's APIs name in the body of a refusal instead of
// a header (google.rpc.RetryInfo); zero if there is none.
func retryInfo(body []byte) time.Duration {
	var refused struct {
		Error struct {
			Details []struct {
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &refused) // no details, no pause
	for _, detail := range refused.Error.Details {
		if named, is := strings.CutSuffix(detail.RetryDelay, "s"); is && seconds.MatchString(named) {
			pause, _ := time.ParseDuration(detail.RetryDelay)
			return min(pause, maxRetryAfter)
		}
	}
	return 0
}

// maxRetryAfter bounds the pause that a server may ask for.
const maxRetryAfter = 24 * time.Hour

var seconds = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?$`)

// retryAfter reads the pause that a server asks for: OpenAI's retry-after-ms, or the header
// of all servers.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseInt(header.Get("Retry-After-Ms"), 10, 32); err == nil {
		return min(max(0, time.Duration(ms)*time.Millisecond), maxRetryAfter)
	}
	return neterr.RetryAfter(header, now, maxRetryAfter)
}
