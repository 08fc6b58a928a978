package testbed_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// echo is a server that answers every line with itself.
func echo(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, lines.Text())
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestProxySwallowsAReplyAndClosesTheConnection(t *testing.T) {
	p := testbed.NewProxy(t, echo(t), 1)
	conn, err := net.Dial("tcp", p.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	answers := bufio.NewReader(conn)
	fmt.Fprintln(conn, "one")
	line, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", line)
	p.Loss.Store(1000)
	fmt.Fprintln(conn, "two")
	_, err = answers.ReadString('\n')
	require.Error(t, err)
	require.EqualValues(t, 1, p.Lost.Load())
}
