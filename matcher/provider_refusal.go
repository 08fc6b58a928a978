package matcher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// refusal says what a server answered instead of a completion.
func (t *transport) refusal(response *http.Response, body []byte) error {
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
	return &Unavailable{Reason: reason, RetryAfter: pause}
}

// invalidToken is Cohere's status for a key that it does not know.
const invalidToken = 498

// failure words an error of a request without the URL, which may carry credentials.
func failure(ctx context.Context, err error, key string) error {
	var known *Unavailable
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
	return &Unavailable{Reason: scrub(err.Error(), key)}
}

// unreadable says why an answer with a good status is none.
func (t *transport) unreadable(err error) error {
	var known *Unavailable
	var failed *serverError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &failed):
		return &Unavailable{Reason: "it answered with an error: " + scrub(failed.text, t.key)}
	default:
		return &Unavailable{Reason: err.Error()}
	}
}

// errorMessage returns a server's own words, of the error bodies that are in use; nothing of
// HTML and the like.
func (t *transport) errorMessage(body []byte) string {
	var parsed map[string]json.RawMessage
	if json.Unmarshal(body, &parsed) != nil {
		return ""
	}
	for _, member := range []string{"error", "message", "detail"} {
		if text := errorText(parsed[member]); text != "" {
			return scrub(text, t.key)
		}
	}
	return ""
}

// maxReason bounds a server's words in an error, in bytes.
const maxReason = 200

// scrub makes a server's words fit for an error: short, on one line, and without any
// word that shares a piece with the key, since servers echo it, whole or in part.
func scrub(text, key string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	words := strings.Fields(clip(printable, 4*maxReason))
	for i, word := range words {
		if sharesPiece(word, key) {
			words[i] = "***"
		}
	}
	return clip(strings.Join(words, " "), maxReason)
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
// a header (google.rpc.RetryInfo); zero where there is none.
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

// retryAfter reads the pause that a server asks for: Retry-After as seconds or as a
// date (RFC 9110, section 10.2.3), or OpenAI's retry-after-ms.
func retryAfter(header http.Header, now time.Time) time.Duration {
	pause := time.Duration(0)
	if ms, err := strconv.ParseInt(header.Get("Retry-After-Ms"), 10, 32); err == nil {
		pause = time.Duration(ms) * time.Millisecond
	} else if named := strings.TrimSpace(header.Get("Retry-After")); seconds.MatchString(named) {
		pause, _ = time.ParseDuration(named + "s")
	} else if until, err := http.ParseTime(named); err == nil {
		pause = until.Sub(now)
	}
	return min(max(0, pause), maxRetryAfter)
}
