package neterr_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

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
		{&net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "there is no way to it"},
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
