package testbed

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy stands before a server. It can swallow replies: it closes the connection instead of the answer.
type Proxy struct {
	Loss, Lost atomic.Int64 // reads from the server that are swallowed, of a thousand, and that were
	Addr       string       // where it listens

	server string
	mu     sync.Mutex
	dice   *rand.Rand
}

// NewProxy starts a proxy of the server at an address. The seed chooses what it swallows.
func NewProxy(t TB, server string, seed int64) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, "listen", err)
	t.Cleanup(func() { _ = listener.Close() })
	p := &Proxy{Addr: listener.Addr().String(), server: server, dice: rand.New(rand.NewPCG(uint64(seed), 1))}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return // the server is down, and so is its connection
	}
	defer server.Close()
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client) // ends with either side
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.swallows() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) swallows() bool {
	loss := p.Loss.Load()
	if loss == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dice.Int64N(1000) >= loss {
		return false
	}
	p.Lost.Add(1)
	return true
}
