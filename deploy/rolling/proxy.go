package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"earshot/deploy/rolling/stage"
)

// checkEvery is the pause between two looks of the proxy at /readyz of a replica.
const checkEvery = 200 * time.Millisecond

// balancer is a proxy that gives each request to the next replica that was ready when it last
// looked. It tries no other one where that does not answer: its client gets a 502. One that
// marks gives a replica that has refused a connection nothing more until it is ready.
type balancer struct {
	url    string
	server *http.Server
	stop   context.CancelFunc
	looks  sync.WaitGroup

	next     atomic.Uint64
	backends []*backend
}

type backend struct {
	url     *url.URL
	replica *stage.Replica
	up      atomic.Bool
}

func balance(replicas []*stage.Replica, marks bool) (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &balancer{url: "http://" + listener.Addr().String(), stop: stop}
	for _, r := range replicas {
		one := &backend{url: &url.URL{Scheme: "http", Host: r.Addr}, replica: r}
		one.up.Store(true)
		b.backends = append(b.backends, one)
		b.looks.Go(func() { one.watch(ctx) })
	}
	b.server = &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(b.pick().url) },
		FlushInterval: -1, // events
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(out http.ResponseWriter, request *http.Request, _ error) {
			if marks {
				b.mark(request.URL.Host)
			}
			out.WriteHeader(http.StatusBadGateway)
		},
	}}
	go func() { _ = b.server.Serve(listener) }() // until it is closed
	return b, nil
}

// watch looks at a replica again and again.
func (b *backend) watch(ctx context.Context) {
	for ctx.Err() == nil {
		b.up.Store(b.replica.Ready(ctx))
		wait(ctx, checkEvery)
	}
}

func (b *balancer) mark(host string) {
	for _, one := range b.backends {
		if one.url.Host == host {
			one.up.Store(false)
		}
	}
}

// pick is the next replica that is up; the next of all where none seems to be.
func (b *balancer) pick() *backend {
	for range b.backends {
		if one := b.backends[b.next.Add(1)%uint64(len(b.backends))]; one.up.Load() {
			return one
		}
	}
	return b.backends[b.next.Add(1)%uint64(len(b.backends))]
}

func (b *balancer) close() {
	b.stop()
	b.looks.Wait()
	_ = b.server.Close() // clients have ended
}
