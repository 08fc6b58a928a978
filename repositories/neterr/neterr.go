// Package neterr describes failures of requests to other servers, for users who do not run the service: why a
// connection failed, and how long a server wants to be left alone. The words contain no address and no resolver;
// the error itself is for the log.
package neterr

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// reasons describe network errors. The first one that applies is used.
var reasons = []struct {
	of     func(error) bool
	reason string
}{
	{func(err error) bool { name, is := errors.AsType[*net.DNSError](err); return is && name.IsNotFound }, "its name is not known"},
	{as[*net.DNSError], "its name could not be looked up"},
	{one(syscall.ECONNREFUSED), "connection refused"},
	{one(syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED), "it broke the connection off"},
	{one(syscall.EHOSTUNREACH, syscall.ENETUNREACH), "there is no route to it"},
	{one(context.DeadlineExceeded), "it did not answer in time"},
	{func(err error) bool { slow, is := errors.AsType[net.Error](err); return is && slow.Timeout() }, "it did not answer in time"},
	{as[x509.HostnameError], "its certificate is for another name"},
	{as[x509.UnknownAuthorityError], "its certificate is signed by an unknown authority"},
	{as[*tls.CertificateVerificationError], "its certificate is not valid"},
	{as[tls.AlertError], "it does not speak TLS as we do"},
	{as[tls.RecordHeaderError], "it does not speak TLS as we do"},
	{one(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed), "it closed the connection"},
	{as[*net.OpError], "the connection failed"},
}

// Reason returns why no server was reached. It is empty for other errors without an address.
func Reason(err error) string {
	for _, known := range reasons {
		if known.of(err) {
			return known.reason
		}
	}
	if address.MatchString(err.Error()) {
		return "the connection failed"
	}
	return ""
}

// address matches what looks like an IP address.
var address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*`)

// WithoutAddresses masks the addresses in another server's text.
func WithoutAddresses(text string) string { return address.ReplaceAllString(text, "***") }

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func one(of ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(of, func(known error) bool { return errors.Is(err, known) })
	}
}

// seconds also accepts a fraction, which some servers send although RFC 9110 does not allow it.
var seconds = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]+)?$`)

// RetryAfter returns the pause in the header Retry-After, in either form (RFC 9110, section 10.2.3): seconds or a
// date. It is zero if the header is missing, past or unreadable, and at most limit.
func RetryAfter(header http.Header, now time.Time, limit time.Duration) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds.MatchString(text) {
		asked, _ := strconv.ParseFloat(text, 64) // the expression bounds the digits
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
