package mqtt

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// reader is a client that reads each message before the write to it returns.
type reader struct {
	net.Conn
	has, goOn chan struct{}
}

func (r *reader) Write(data []byte) (int, error) {
	r.has <- struct{}{}
	<-r.goOn
	return len(data), nil
}

// TestAClientThatHasReadAllIsNotSlow: what it has read counts no more, even if it is large and its write has not returned.
func TestAClientThatHasReadAllIsNotSlow(t *testing.T) {
	t.Parallel()
	client := &reader{has: make(chan struct{}, 3), goOn: make(chan struct{})}
	c := &connection{
		Conn: client, queue: make(chan []byte, maxQueued), inAll: &atomic.Int64{}, cut: func() {}, ended: make(chan struct{}), finished: make(chan struct{}),
	}
	go c.write()
	large := make([]byte, maxQueuedBytes*3/4)
	_, err := c.Write(large)
	require.NoError(t, err)
	<-client.has
	_, err = c.Write(large)
	require.NoError(t, err)
	_, err = c.Write(large)
	require.ErrorIs(t, err, errSlow, "the second waits")
	close(client.goOn)
}
