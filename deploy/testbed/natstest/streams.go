package natstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// requestLimit bounds one request to a server.
const requestLimit = 10 * time.Second

// Streams looks into the streams of a server or a cluster, over connections of its
// own. Its methods end the test where they fail.
type Streams struct {
	t       testing.TB
	connect func() *nats.Conn
}

// Connect returns a connection of the test's own, closed at the end of the test. It
// survives a restart.
func (s Streams) Connect() *nats.Conn {
	s.t.Helper()
	conn := s.connect()
	s.t.Cleanup(conn.Close)
	return conn
}

func dial(t testing.TB, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, append(options, nats.Name(t.Name()), nats.MaxReconnects(-1))...)
	if err != nil {
		t.Fatalf("connect to the test's NATS server at %s: %v", url, err)
	}
	return conn
}

// Stored returns the messages that a stream holds on the subjects that filter
// matches, oldest first; none where the stream is missing. It leaves no consumer
// behind.
func (s Streams) Stored(stream, filter string) []*jetstream.RawStreamMsg {
	s.t.Helper()
	var messages []*jetstream.RawStreamMsg
	s.do("read stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			messages, err = readAll(ctx, held, filter)
		}
		return err
	})
	return messages
}

func readAll(ctx context.Context, held jetstream.Stream, filter string) ([]*jetstream.RawStreamMsg, error) {
	var messages []*jetstream.RawStreamMsg
	for next := uint64(1); ; {
		message, err := held.GetMsg(ctx, next, jetstream.WithGetMsgSubject(filter))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return messages, nil
		}
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
		next = message.Sequence + 1
	}
}

// Purge removes all messages of a stream. The stream still knows their ids for as
// long as its duplicate window.
func (s Streams) Purge(stream string) {
	s.t.Helper()
	s.do("purge stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		return held.Purge(ctx)
	})
}

// DeleteStream removes a stream with all that it holds.
func (s Streams) DeleteStream(stream string) {
	s.t.Helper()
	s.do("delete stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		return js.DeleteStream(ctx, stream)
	})
}

// CreateStream makes a stream as somebody other than Earshot would.
func (s Streams) CreateStream(config jetstream.StreamConfig) {
	s.t.Helper()
	s.do("create stream "+config.Name, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx, config)
		return err
	})
}

// UpdateStream changes a stream as somebody other than Earshot would.
func (s Streams) UpdateStream(config jetstream.StreamConfig) {
	s.t.Helper()
	s.do("change stream "+config.Name, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.UpdateStream(ctx, config)
		return err
	})
}

// StreamConfig returns the configuration that a stream has; the zero one where the stream is missing.
func (s Streams) StreamConfig(stream string) jetstream.StreamConfig {
	s.t.Helper()
	var config jetstream.StreamConfig
	s.do("look at stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			config = held.CachedInfo().Config
		}
		return err
	})
	return config
}

func (s Streams) do(what string, request func(context.Context, jetstream.JetStream) error) {
	s.t.Helper()
	conn := s.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	if err := request(ctx, js); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}
