// Package neterr says why a connection did not come about, or broke, for those who
// asked for it and do not run the service: in words that hold no address and no resolver.
// The error itself is for the log.
package neterr

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"regexp"
	"syscall"
)

// reasons are what the network may say, the first that holds of an error first.
var reasons = []struct {
	of   func(error) bool
	says string
}{
	{func(err error) bool { name := is[*net.DNSError](err); return name != nil && (*name).IsNotFound }, "its name is not known"},
	{func(err error) bool { return is[*net.DNSError](err) != nil }, "its name could not be looked up"},
	{one(syscall.ECONNREFUSED), "connection refused"},
	{one(syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED), "it broke the connection off"},
	{one(syscall.EHOSTUNREACH, syscall.ENETUNREACH), "there is no way to it"},
	{one(context.DeadlineExceeded), "it did not answer in time"},
	{func(err error) bool { slow := is[net.Error](err); return slow != nil && (*slow).Timeout() }, "it did not answer in time"},
	{func(err error) bool { return is[x509.HostnameError](err) != nil }, "its certificate is for another name"},
	{func(err error) bool { return is[x509.UnknownAuthorityError](err) != nil }, "its certificate is signed by nobody who is trusted"},
	{func(err error) bool { return is[*tls.CertificateVerificationError](err) != nil }, "its certificate is not valid"},
	{func(err error) bool { return is[tls.AlertError](err) != nil || is[tls.RecordHeaderError](err) != nil }, "it does not speak TLS as we do"},
	{one(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed), "it closed the connection"},
	{func(err error) bool { return is[*net.OpError](err) != nil }, "the connection failed"},
}

// Reason returns why nobody was reached; empty where the error is none of a connection
// and holds no address.
func Reason(err error) string {
	for _, reason := range reasons {
		if reason.of(err) {
			return reason.says
		}
	}
	if address.MatchString(err.Error()) {
		return "the connection failed"
	}
	return ""
}

// address finds what looks like an IP address.
var address = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*`)

// WithoutAddresses takes the addresses out of a text of the other side.
func WithoutAddresses(text string) string { return address.ReplaceAllString(text, "***") }

func is[E error](err error) *E {
	var found E
	if errors.As(err, &found) {
		return &found
	}
	return nil
}

func one(of ...error) func(error) bool {
	return func(err error) bool {
		for _, known := range of {
			if errors.Is(err, known) {
				return true
			}
		}
		return false
	}
}
