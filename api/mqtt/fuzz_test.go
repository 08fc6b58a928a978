package mqtt

import (
	"bytes"
	"net"
	"testing"
)

// given is a connection on which something was sent.
type given struct {
	net.Conn
	bytes.Reader
}

func (g *given) Read(into []byte) (int, error) { return g.Reader.Read(into) }

// FuzzFirst sends what is no CONNECT packet, or nearly one. What is taken for one must be there
// to be read again, whole.
func FuzzFirst(f *testing.F) {
	f.Add([]byte("\x10\x11\x00\x04MQTT\x04\x82\x00\x3c\x00\x01c\x00\x02id"))
	f.Add([]byte("\x10\x13\x00\x04MQTT\x05\x82\x00\x3c\x00\x00\x01c\x00\x02id\x00"))
	f.Add([]byte("\x10\x00"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		from := &given{}
		from.Reset(sent)
		conn := &connection{Conn: from}
		if _, err := conn.first(); err != nil {
			return
		}
		if !bytes.HasPrefix(sent, conn.read) || len(conn.read) < 2 {
			t.Fatalf("%q was read of %q", conn.read, sent)
		}
	})
}
