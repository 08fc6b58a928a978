package emitter_test

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
)

func TestCredentialsOfTheURLAreInNoErrorAndNoLog(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.Username, o.Password = "ann", "hunter2" })
	host := strings.TrimPrefix(s.URL(), "nats://")
	var log testbed.Lines
	options := emitter.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}

	good := connect(t, "nats://ann:hunter2@"+host, options)
	require.Equal(t, done, good.Deliver(t.Context(), event("e1", subject)))

	bad := connect(t, "nats://ann:swordfish@"+host+",nats://t0ken@"+host, options)
	until(t, func() bool { return strings.Contains(log.String(), "NATS is not reached") })
	got := bad.Deliver(t.Context(), event("e2", subject))
	require.Equal(t, effect.Retry, got.Verdict)

	require.Equal(t, "refuses the connection: nats: authorization violation", toldOf(t, bad.Ready(t.Context())))
	s.Restart()
	until(t, func() bool { return good.Ready(t.Context()) == nil })

	for _, text := range []string{log.String(), got.Error, errorText(bad.Ready(t.Context()))} {
		for _, secret := range []string{"hunter2", "swordfish", "t0ken"} {
			require.NotContains(t, text, secret)
		}
	}
	require.Contains(t, log.String(), host, "the log says where")
}

// toldOf is what everybody may read of an error: what goes on after the word NATS, and its words.
func toldOf(t *testing.T, err error) string {
	t.Helper()
	var told interface {
		Public() string
		Words() string
	}
	require.ErrorAs(t, err, &told)
	return told.Public() + ": " + told.Words()
}

func TestGoesOnTryingWhereItsCredentialsAreRefused(t *testing.T) {
	door := &doorkeeper{}
	s := natstest.Run(t, func(o *server.Options) { o.CustomClientAuthentication = door })
	var log testbed.Lines
	e := connect(t, s.URL(), emitter.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, e.Ready(t.Context()))

	door.refusals.Store(4) // the client library gives up by itself at the second
	s.Restart()
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	require.Negative(t, door.refusals.Load())
	require.Equal(t, 1, strings.Count(log.String(), "NATS is not reached"), log.String())
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
}

// doorkeeper refuses as many connections as it is told to.
type doorkeeper struct{ refusals atomic.Int32 }

func (d *doorkeeper) Check(server.ClientAuthentication) bool { return d.refusals.Add(-1) < 0 }

func TestURLThatCannotBeReadIsRefusedWithoutItsText(t *testing.T) {
	for _, list := range []string{
		"", "nats://", "nats://ann:hunter2/x@host:4222", "nats://ann:hunter2@host:port",
		"nats://good:4222,nats://ann:hunter2%zz@host:4222", "nats://ann:hunter2@[::1",
		"https://ann:hunter2@host:4222", "nats://good:4222, redis://ann:hunter2@host", "hunter2://host:4222",
	} {
		_, err := emitter.Connect(list, emitter.Options{})
		require.ErrorContains(t, err, "cannot be read", list)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestSchemesThatNATSIsReachedByAreTaken(t *testing.T) {
	for _, list := range []string{
		"host", "host:4222", "nats://host", "tls://ann:hunter2@host:4222", "ws://host:80,wss://host", "NATS://host", " nats://one , two:4223",
	} {
		require.NoError(t, emitter.CheckURLs(list), list)
	}
	require.ErrorContains(t, emitter.CheckURLs("https://host"), "tls:// for TLS")
}

func TestMissingSchemeOrServerNeverBlocksTheStart(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	e := connect(t, address, emitter.Options{}) // nats.go takes a bare host and port as well
	require.ErrorContains(t, e.Ready(t.Context()), "NATS is not connected")
}

func errorText(err error) string {
	return errors.Join(err, errors.New("")).Error()
}
