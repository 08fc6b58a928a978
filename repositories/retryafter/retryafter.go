// Package retryafter reads the header by which a server says how long it is not to be asked
// again. Tools' endpoints, token endpoints and providers of models send it alike.
package retryafter

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// seconds also takes a fraction, which RFC 9110 has no place for and some servers send.
var seconds = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]+)?$`)

// Pause returns the pause that Retry-After asks for, in either form (RFC 9110, section
// 10.2.3): seconds or a date. It is zero where the header is missing, past or unreadable,
// and never longer than limit.
func Pause(header http.Header, now time.Time, limit time.Duration) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds.MatchString(text) {
		asked, _ := strconv.ParseFloat(text, 64) // as few digits as the expression takes
		if asked >= limit.Seconds() {
			return limit
		}
		return time.Duration(asked * float64(time.Second))
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, min(date.Sub(now), limit))
	}
	return 0
}
