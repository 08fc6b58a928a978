package mqtt

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	mochi "github.com/mochi-mqtt/server/v2"
)

// Queues to clients are bounded as in event streams: in messages and bytes per client, and in bytes per
// replica. A slower client is disconnected.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20
	maxBytesInAll  = 64 << 20
)

var errSlow = errors.New("the client is too slow")

// connection adapts a client's WebSocket to net.Conn. The first packet, which admit has read, is read again by
// the broker. Writes are queued, as the broker would otherwise copy each message without a bound on memory.
type connection struct {
	net.Conn
	read    []byte
	version byte

	cut      func()
	queue    chan []byte   // nil marks its end
	ended    chan struct{} // closed with the connection
	finished chan struct{} // closed when the queue is written

	// Used only by the broker's goroutine for the connection.
	client   *mochi.Client // nil until it has started
	chosen   string        // the id that the client chose
	filters  int           // counted filters
	refused  []bool        // refused filters of the last SUBSCRIBE
	refusals int           // of SUBSCRIBE packets with a refused filter

	mu     sync.Mutex
	closed bool
	queued int64         // bytes in the queue
	inAll  *atomic.Int64 // bytes in all queues
}

// Read implements net.Conn.
func (c *connection) Read(into []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(into, c.read)
		if c.read = c.read[n:]; len(c.read) == 0 {
			c.read = nil
		}
		return n, nil
	}
	return c.Conn.Read(into)
}

// Write queues data without blocking. One message always fits.
func (c *connection) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	if !c.enqueue(append([]byte(nil), data...)) {
		c.close()
		return 0, errSlow
	}
	return len(data), nil
}

func (c *connection) enqueue(data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(data))
	if c.closed || c.queued > 0 && (c.queued+size > maxQueuedBytes || c.inAll.Load()+size > maxBytesInAll) {
		return false
	}
	select {
	case c.queue <- data:
		c.count(size)
		return true
	default:
		return false
	}
}

// count changes the queued bytes. The caller holds c.mu.
func (c *connection) count(size int64) {
	c.queued += size
	c.inAll.Add(size)
}

func (c *connection) write() {
	for {
		select {
		case data := <-c.queue:
			if data == nil {
				close(c.finished)
				return
			}
			if _, err := c.Conn.Write(data); err != nil {
				c.close()
				return
			}
			c.mu.Lock()
			c.count(-min(int64(len(data)), c.queued)) // close has reset the count
			c.mu.Unlock()
		case <-c.ended:
			return
		}
	}
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.count(-c.queued)
	close(c.ended)
	c.cut()
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.close()
	return nil
}
