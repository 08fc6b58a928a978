package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"earshot/deploy/bench/double"
	"earshot/deploy/bench/floor"
)

// What a role can be.
const (
	roleFloor = "floor"
	roleLLM   = "llm"
	roleNATS  = "nats"
	roleRelay = "relay"
)

// variable of the environment holds the role that a process shall play.
const variable = "EARSHOT_BENCH_ROLE"

// Role is a server that the bench brings along, in a process of its own.
type Role struct {
	Name             string
	Addr             string // where it listens
	Dir              string // data of NATS
	Sync             bool   // NATS: on the disk before the acknowledgement
	Think            time.Duration
	Redis, NATS, LLM string // URLs, for the floor
}

func (r Role) environment() []string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return []string{variable + "=" + string(text)}
}

// RoleToPlay reads the role that this process was started for, if any.
func RoleToPlay() (r Role, given bool, err error) {
	text := os.Getenv(variable)
	if text == "" {
		return r, false, nil
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, true, fmt.Errorf("%s: %w", variable, err)
	}
	return r, true, nil
}

// Play serves until the context ends.
func (r Role) Play(ctx context.Context) error {
	switch r.Name {
	case roleFloor:
		handler, end, err := floor.New(ctx, floor.Options{Redis: r.Redis, NATS: r.NATS, LLM: r.LLM})
		if err != nil {
			return err
		}
		defer end()
		return serve(ctx, r.Addr, handler)
	case roleLLM:
		return serve(ctx, r.Addr, double.Handler(r.Think))
	case roleNATS:
		return r.playNATS(ctx)
	case roleRelay:
		handler, err := relayTo(r.LLM)
		if err != nil {
			return err
		}
		return serve(ctx, r.Addr, handler)
	}
	return fmt.Errorf("%s: no role is called %q", variable, r.Name)
}

// relayTo is the least that relays chats with the standard library: it reads the request, since
// one that still came while the model answers would break some answers, and flushes each read.
func relayTo(model string) (http.Handler, error) {
	to, err := url.Parse(model + "/chat/completions")
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.DisableCompression = 1024, true
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL, r.Out.Host = to, to.Host
	}}
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodGet { // whether it is ready
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the client has gone
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(out, request)
	}), nil
}

func serve(ctx context.Context, address string, handler http.Handler) error {
	s := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (r Role) playNATS(ctx context.Context) error {
	address, err := net.ResolveTCPAddr("tcp", r.Addr)
	if err != nil {
		return err
	}
	running, err := server.NewServer(&server.Options{
		Host: address.IP.String(), Port: address.Port, JetStream: true, StoreDir: r.Dir, SyncAlways: r.Sync, NoSigs: true, NoLog: true,
		JetStreamMaxStore: 1 << 40, // not a share of the disk that happens to be free
	})
	if err != nil {
		return err
	}
	running.Start()
	<-ctx.Done()
	running.Shutdown()
	running.WaitForShutdown()
	return nil
}
