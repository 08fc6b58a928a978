package natstest

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/testbed"
)

// requestLimit bounds what is done over one connection.
const requestLimit = testbed.Patience

// Streams looks into the streams of a server or a cluster. Its methods end the test if they fail.
type Streams struct {
	t    testbed.TB
	url  func() string
	user nats.Option
}

// Connect returns a connection of the test's own, closed at the end of the test. It survives a restart.
func (s Streams) Connect() *nats.Conn {
	s.t.Helper()
	conn := s.connect()
	s.t.Cleanup(conn.Close)
	return conn
}

func (s Streams) connect() *nats.Conn {
	s.t.Helper()
	conn, err := nats.Connect(s.url(), s.user, nats.Name(s.t.Name()), nats.MaxReconnects(-1))
	s.must("connect to the test's NATS server at "+s.url(), err)
	return conn
}

func (s Streams) do(what string, request func(context.Context, jetstream.JetStream) error) {
	s.t.Helper()
	conn := s.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	s.must(what, err)
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	s.must(what, request(ctx, js))
}

func (s Streams) must(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

// Stored returns the messages of a stream on the subjects that filter matches, oldest first; none if the stream is
// missing.
func (s Streams) Stored(stream, filter string) (messages []*jetstream.RawStreamMsg) {
	s.t.Helper()
	s.do("read stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		for next := uint64(1); err == nil; {
			var message *jetstream.RawStreamMsg
			message, err = held.GetMsg(ctx, next, jetstream.WithGetMsgSubject(filter))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err == nil {
				messages = append(messages, message)
				next = message.Sequence + 1
			}
		}
		return err
	})
	return messages
}

// Purge removes all messages of a stream, which still knows their ids.
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

// StreamConfig returns the configuration that a stream has; the zero one if the stream is missing.
func (s Streams) StreamConfig(stream string) jetstream.StreamConfig {
	s.t.Helper()
	if held := s.info(stream); held != nil {
		return held.Config
	}
	return jetstream.StreamConfig{}
}

func (s Streams) info(stream string) (info *jetstream.StreamInfo) {
	s.t.Helper()
	s.do("look at stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			info = held.CachedInfo()
		}
		return err
	})
	return info
}
