package neterr_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/neterr"
)

func TestReasonHoldsNoAddress(t *testing.T) {
	at := &net.TCPAddr{IP: net.ParseIP("10.1.2.3"), Port: 443}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "crm.internal", Server: "10.0.0.2:53", IsNotFound: true}, "its name is not known"},
		{&net.DNSError{Err: "i/o timeout", Name: "crm.internal", Server: "10.0.0.2:53", IsTimeout: true}, "its name could not be looked up"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "connection refused"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "there is no route to it"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: errors.New("odd")}, "the connection failed"},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), "it did not answer in time"},
		{errors.New("http2: client conn to [2001:db8::7]:443 is gone"), "the connection failed"},
		{errors.New("proxy at 10.0.0.7 said no"), "the connection failed"},
		{errors.New("something else: 12:30"), ""},
	} {
		require.Equal(t, c.want, neterr.Reason(c.err), c.err.Error())
	}
	require.Equal(t, `no pg_hba.conf entry for host "***", user "ann"`, neterr.WithoutAddresses(`no pg_hba.conf entry for host "10.0.0.9", user "ann"`))
	require.Equal(t, `entry for host "***"`, neterr.WithoutAddresses(`entry for host "2001:db8::9"`))
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"":                                0,
		"0":                               0,
		"7":                               7 * time.Second,
		" 12 ":                            12 * time.Second,
		"-7":                              0,
		"soon":                            0,
		"1.5":                             1500 * time.Millisecond,
		"1m":                              0,
		"1e9":                             0,
		"99999999999":                     day,
		"999999999999999999999":           0,
		"Tue, 01 Dec 2026 09:31:00 GMT":   time.Minute,
		"Tuesday, 01-Dec-26 09:30:05 GMT": 5 * time.Second,
		"Tue, 01 Dec 2026 09:29:00 GMT":   0,
		"Tue, 01 Dec 2099 09:29:00 GMT":   day,
	} {
		require.Equal(t, want, neterr.RetryAfter(http.Header{"Retry-After": {text}}, now, day), "%q", text)
	}
	require.Zero(t, neterr.RetryAfter(http.Header{}, now, day))
}
