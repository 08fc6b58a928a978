package main

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// proxy stands between the replicas and Redis. It can swallow replies: the server has
// done what it was asked for, and the connection is closed instead of the answer.
type proxy struct {
	listener net.Listener
	server   string
	// loss is how many of a thousand reads from the server are swallowed.
	loss atomic.Int64
	lost atomic.Int64 // so far
	mu   sync.Mutex
	dice *rand.Rand
}

func newProxy(server string, seed uint64) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, server: server, dice: rand.New(rand.NewPCG(seed, 1))}
	go p.accept()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) close() { _ = p.listener.Close() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.serve(client)
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return // Redis is down, and so is its connection
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

func (p *proxy) swallows() bool {
	loss := p.loss.Load()
	if loss == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dice.Int64N(1000) >= loss {
		return false
	}
	p.lost.Add(1)
	return true
}
