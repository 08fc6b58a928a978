package httpcall

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"earshot/httpcall/guard"
	"earshot/repositories/neterr"
	"earshot/trigger/effect"
)

// timedOut reports whether err is that of a time limit, ours or the network's.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// publicText returns the text of a transport's error without the URL that net/http puts
// in front, since queries may hold credentials, without what the other side sent, since
// net/http quotes an answer that it does not understand, and without addresses.
func publicText(err error) string {
	err = withoutURL(err)
	if reason := neterr.Reason(err); reason != "" {
		return reason
	}
	text := err.Error()
	if strings.Contains(text, "malformed") || strings.Contains(text, `"`) {
		return "what it sent is no HTTP answer"
	}
	return effect.Clip(text)
}

func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// logText is what the log alone says of a connection; empty where the other side had a
// hand in the text.
func logText(err error) string {
	err = withoutURL(err)
	if errors.As(err, new(*guard.Blocked)) || neterr.Reason(err) != "" {
		return effect.Clip(err.Error())
	}
	return ""
}

// verdictOf says what becomes of a call that was answered with status. All that is known
// about status codes is here:
//
//	2xx                 delivered
//	408, 425, 429, 5xx  to be tried again (RFC 9110 15.5.9, RFC 8470, RFC 6585)
//	401                 the credential is refused, after a token was renewed
//	all others          the endpoint does not want the call as it is; redirects count
//	                    among them, as they are not followed
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

// explainStatus says what a status means for a call that it ended.
func explainStatus(status int) string {
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

// blocked is the permanent failure of a call to an address that the guard keeps closed.
// Only the operator can change that.
func blocked(where string, closed *guard.Blocked, host string) error {
	return effect.Permanent(effect.ReasonBlocked, "%s: %s", where, closed.Toward(host))
}
