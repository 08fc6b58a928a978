package httpcall

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"earshot/trigger/effect"
)

// tokenFailure says why a token could not be had, and whether it may be had later. Of
// what the endpoint said it tells the status and a known error code only: the rest of
// its answer may hold what it was sent.
func tokenFailure(err error, endpoint string, now time.Time) error {
	var closed *Blocked
	var answered *oauth2.RetrieveError
	switch where, host := hostOf(endpoint); {
	case errors.As(err, &closed):
		return blocked("the token request to "+where, closed, host)
	case errors.As(err, &answered):
		return refusedToken(answered, where, now)
	case errors.As(err, new(*url.Error)):
		return retry(effect.ReasonAuth, "no token from %s: %s", where, plainly(err))
	case timedOut(err):
		return retry(effect.ReasonAuth, "no token from %s: its answer did not end in time", where)
	default:
		return retry(effect.ReasonAuth, "no token from %s: %s", where, errUnusable)
	}
}

// refusedToken judges an answer like that to a call, for the reason auth. An error in
// an answer of 200, which some endpoints give, is a refusal.
func refusedToken(answered *oauth2.RetrieveError, where string, now time.Time) error {
	status := answered.Response.StatusCode
	text := fmt.Sprintf("no token from %s: it answered %d %s", where, status, http.StatusText(status))
	if code := knownCode(answered.ErrorCode); code != "" {
		text += " (" + code + ")"
	}
	verdict, _ := judge(status)
	if verdict != effect.Retry {
		return dead(effect.ReasonAuth, "%s%s", text, remark(status))
	}
	outcome := outcomeOf(retry(effect.ReasonAuth, "%s", text))
	outcome.After = pauseIn(answered.Response.Header, now)
	return &effect.Failure{Outcome: outcome}
}

// knownCode returns an error code of RFC 6749 5.2, RFC 6749 4.1.2.1 or RFC 8707 2,
// and nothing for other texts.
func knownCode(code string) string {
	switch code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
		"unsupported_grant_type", "invalid_scope", "access_denied", "server_error",
		"temporarily_unavailable", "invalid_target":
		return code
	default:
		return ""
	}
}

// hostOf names an endpoint without what its path and query may hold, and its host alone.
func hostOf(endpoint string) (where, host string) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return "the token endpoint", ""
	}
	return parsed.Scheme + "://" + parsed.Host, parsed.Hostname()
}
