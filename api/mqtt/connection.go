package mqtt

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	mochi "github.com/mochi-mqtt/server/v2"
)

// The queues to clients are bounded as those of event streams: in messages and in bytes for one
// client, and in bytes for all of a replica. A slower client is cut off.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20
	maxBytesInAll  = 64 << 20
)

var errSlow = errors.New("the client is too slow")

// connection is the WebSocket of a client as a stream of bytes. The first packet, which admit has
// read, comes once more, and writes wait in a queue: the broker copies a message for each client
// whose connection it waits for, with no bound on their bytes.
type connection struct {
	net.Conn
	read    []byte
	version byte

	cut      func()
	queue    chan []byte   // nil is its end
	ended    chan struct{} // closed with the connection
	finished chan struct{} // closed when the queue is written to its end

	// Of the broker, whose goroutine for the connection alone uses them.
	client   *mochi.Client // nil until it has begun
	chosen   string        // the id that the client chose
	filters  int           // that are counted
	refused  []bool        // which filters of the last SUBSCRIBE
	refusals int           // of those packets, in which a filter was refused

	mu     sync.Mutex
	closed bool
	queued int64         // bytes in the queue
	inAll  *atomic.Int64 // bytes in the queues of all connections
}

// Read is that of net.Conn.
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

// Write queues data, and never waits. One message has room whatever its size.
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

// count adds to the bytes that wait. The caller has the lock.
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
			c.count(-min(int64(len(data)), c.queued)) // none are left after close
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

// Close is that of net.Conn.
func (c *connection) Close() error {
	c.close()
	return nil
}
