package httpcall

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"earshot/repositories/unreached"
	"earshot/trigger/effect"
)

// dead returns the failure of a call that will never succeed as it is.
func dead(reason effect.Reason, format string, args ...any) error {
	return effect.Fail(effect.Dead, reason, format, args...)
}

// retry returns the failure of a call that may succeed later.
func retry(reason effect.Reason, format string, args ...any) error {
	return effect.Fail(effect.Retry, reason, format, args...)
}

// outcomeOf returns the outcome that err carries.
func outcomeOf(err error) effect.Outcome {
	var carried *effect.Failure
	if errors.As(err, &carried) {
		return carried.Outcome
	}
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: clip(err.Error())}
}

// timedOut reports whether err is that of a time limit, ours or the network's.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// plainly returns the text of a transport's error without the URL that net/http puts
// in front, since queries may hold credentials, without what the other side sent, since
// net/http quotes an answer that it does not understand, and without addresses.
func plainly(err error) string {
	err = withoutURL(err)
	if reason := unreached.Reason(err); reason != "" {
		return reason
	}
	text := err.Error()
	if strings.Contains(text, "malformed") || strings.Contains(text, `"`) {
		return "what it sent is no HTTP answer"
	}
	return clip(text)
}

func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// detail is what the log says of a connection and nobody else is told; empty where the
// other side had a hand in the text.
func detail(err error) string {
	err = withoutURL(err)
	if errors.As(err, new(*Blocked)) || unreached.Reason(err) != "" {
		return clip(err.Error())
	}
	return ""
}

// clip bounds a text that the other side had a hand in.
func clip(text string) string {
	const most = 400
	if len(text) <= most {
		return text
	}
	return cutRunes(text, most) + "…"
}
