package emitter

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// reconnectWait is the pause between two rounds over the servers. It is short,
	// as every event of every user waits for it, and its jitter is as long, so that
	// the replicas do not all come at once to a server that has just started.
	reconnectWait = 500 * time.Millisecond
	// pingInterval times maxPings is how long a connection may be dead unnoticed,
	// when the network drops packets. The library's own numbers make it 4 minutes.
	pingInterval = 10 * time.Second
	maxPings     = 2
)

// Connect returns an emitter with a connection of its own to a comma-separated list
// of NATS servers. It does not wait for them: as long as none is reached, deliveries
// ask to be tried again, and the connection goes on trying for ever. The error is
// one of list or options, and never shows a credential.
func Connect(list string, options Options) (*Emitter, error) {
	options = options.withDefaults()
	hosts, err := servers(list)
	if err != nil {
		return nil, err
	}
	denials := newDenials(options)
	conn, err := nats.Connect(list, connection(newConnectionLog(options.Logger.With("servers", hosts), denials))...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, withoutURL(err))
	}
	emitter, err := newEmitter(conn, options, denials)
	if err != nil {
		conn.Close()
		return nil, err
	}
	emitter.owned = true
	return emitter, nil
}

func connection(log *connectionLog) []nats.Option {
	return []nats.Option{
		nats.Name("earshot"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1), // see the package's comment
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		// Credentials are changed on servers and clients at different times.
		nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(log.connected),
		nats.ReconnectHandler(log.connected),
		nats.DisconnectErrHandler(log.lost),
		nats.ReconnectErrHandler(log.failed),
		nats.ErrorHandler(log.trouble),
	}
}

// withoutURL takes off the wrapping in which net/url repeats the whole URL.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
