package httpcall

import (
	"net/http"
	"strconv"
	"time"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// judge says what becomes of a call that was answered with status. All that is known
// about status codes is here:
//
//	2xx                 delivered
//	408, 425, 429, 5xx  to be tried again (RFC 9110 15.5.9, RFC 8470, RFC 6585)
//	401                 the credential is refused, after a token was renewed
//	all others          the endpoint does not want the call as it is; redirects count
//	                    among them, as they are not followed
func judge(status int) (effect.Verdict, effect.Reason) {
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

// remark tells people what a status means for a call that it ended.
func remark(status int) string {
	switch {
	case status >= 300 && status <= 399:
		return "; redirects are not followed, so the tool's url must be the final one"
	case status == http.StatusUnauthorized:
		return "; the tool's credentials are refused"
	case status == http.StatusGone:
		return "; the endpoint is gone for good"
	default:
		return ""
	}
}

// pauseIn reads Retry-After in either form (RFC 9110 10.2.3): seconds or a date. What
// is missing, past or unreadable is zero; nothing is longer than a call may be tried.
func pauseIn(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		most := int64(repositories.MostRetryFor / time.Second)
		return time.Duration(max(0, min(seconds, most))) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, min(date.Sub(now), repositories.MostRetryFor))
	}
	return 0
}
