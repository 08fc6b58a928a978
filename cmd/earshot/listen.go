package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/emitter"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
)

func newListen(env environment) *cobra.Command {
	l := &subscriber{env: env, client: &client.Client{}}
	cmd := &cobra.Command{Use: "listen [SUBJECT]", Args: arguments(0, 1), RunE: func(cmd *cobra.Command, args []string) error {
		return l.run(cmd.Context(), append(args, ">")[0])
	}}
	flags := settings{cmd.Flags()}
	flags.service(l.client)
	flags.credential(&l.url, "nats-url", "NATS_URL", "`URL` of the NATS server; default: that of earshot dev")
	flags.login(&l.login)
	flags.StringVar(&l.since, "since", "", "`TIME` to start at: so long ago, as 10m, or 2026-12-01T09:00:00Z")
	flags.BoolVar(&l.json, "json", false, "print each event as a line of JSON, with all fields")
	flags.IntVar(&l.count, "count", 0, "end after `N` events; 0: do not end")
	return cmd
}

type subscriber struct {
	env    environment
	client *client.Client // finds NATS if no URL is given
	url    secret.Secret
	login  emitter.Login
	since  string
	json   bool
	count  int
}

const (
	connectTimeout = 5 * time.Second // to NATS: a person waits
	askTimeout     = 2 * time.Second // to the service, which may not run
	streamPause    = 200 * time.Millisecond
)

func (l *subscriber) run(ctx context.Context, subject string) error {
	if err := checkSubject(subject); err != nil {
		return err
	}
	options := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy, FilterSubjects: []string{subject}}
	if l.since != "" {
		from, err := timeOf("--since", l.since, l.env.now())
		if err != nil {
			return err
		}
		options.DeliverPolicy, options.OptStartTime = jetstream.DeliverByStartTimePolicy, &from
	}
	conn, at, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(l.env.err, "listening at %s for %s\n", at, subject)
	stream, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, emitter.Stream, options)
	for waits := false; errors.Is(err, jetstream.ErrStreamNotFound); waits = true { // the first event creates it, and should be shown
		if !waits {
			fmt.Fprintln(l.env.err, "there was no event yet; waiting for the first")
			options.DeliverPolicy, options.OptStartTime = jetstream.DeliverAllPolicy, nil
		}
		if l.env.pause(ctx, streamPause) != nil {
			return nil
		}
		consumer, err = stream.OrderedConsumer(ctx, emitter.Stream, options)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listen to %q: %w", subject, err)
	}
	return l.follow(ctx, consumer)
}

// connect connects to the given NATS, or else to that of earshot dev, or else to NATS's default address. at is
// the address without passwords.
func (l *subscriber) connect(ctx context.Context) (conn *nats.Conn, at string, err error) {
	list, login := nats.DefaultURL, []nats.Option(nil)
	if l.url.Empty() {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		if caller, err := l.client.WhoAmI(ctx); err == nil && caller.NATSURL != "" {
			list = caller.NATSURL
		}
	} else {
		list = l.url.Reveal()
		if err := emitter.CheckURLs(list); err != nil {
			return nil, "", fmt.Errorf("NATS_URL (--nats-url): %w", err)
		}
		if err := l.login.Check(list, l.env.now()); err != nil {
			return nil, "", err
		}
		if login, err = l.login.Options(); err != nil {
			return nil, "", err
		}
	}
	var hosts []string
	for address := range strings.SplitSeq(list, ",") {
		hosts = append(hosts, client.Redacted(strings.TrimSpace(address)))
	}
	at = strings.Join(hosts, ",")
	conn, err = nats.Connect(list, append(login, nats.Name("earshot listen"), nats.Timeout(connectTimeout), nats.MaxReconnects(-1))...)
	if err != nil {
		cause := errors.New("the connection to this URL failed") // other errors contain the URL with its password
		for _, known := range []error{nats.ErrNoServers, nats.ErrAuthorization, nats.ErrTimeout} {
			if errors.Is(err, known) {
				cause = known
				break
			}
		}
		return nil, at, fmt.Errorf("no NATS server answers at %s: %w; start one with: earshot dev, or name it with --nats-url or NATS_URL", at, cause)
	}
	return conn, at, nil
}

// timeOf parses a time, or a duration before now.
func timeOf(flag, text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%s is %q; it must be a duration, as 10m, or a time, as 2026-12-01T09:00:00Z", flag, text)
	}
	return at, nil
}

type eventLine struct {
	Sequence uint64          `json:"sequence"`
	Time     time.Time       `json:"time"`
	Subject  string          `json:"subject"`
	Type     string          `json:"type"`
	Source   string          `json:"source"`
	ID       string          `json:"id"`
	Data     json.RawMessage `json:"data"`
}

func (l *subscriber) follow(ctx context.Context, consumer jetstream.Consumer) error {
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for n := 1; ; n++ {
		message, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the events have stopped: %w", err)
		}
		metadata, err := message.Metadata()
		if err != nil {
			return err
		}
		data, header := message.Data(), message.Headers()
		if l.json {
			if !exactjson.Embeddable(data) {
				data, _ = json.Marshal(string(data)) // strings always encode
			}
			data, err = exactjson.Encode(eventLine{
				metadata.Sequence.Stream, metadata.Timestamp.UTC(), message.Subject(), header.Get("ce-type"), header.Get("ce-source"), header.Get("ce-id"), data,
			})
		} else {
			at, summary := metadata.Timestamp.Local().Format(time.TimeOnly), terminal.EventOf(message.Subject(), data)
			data = []byte(summary.Line(terminal.StyleOf(l.env.out, l.env.lookup), at, terminal.Width(l.env.out, l.env.lookup)))
		}
		if err == nil {
			_, err = fmt.Fprintf(l.env.out, "%s\n", data)
		}
		if err != nil || n == l.count {
			return err
		}
	}
}

// checkSubject refuses a pattern that no event matches: the command would wait forever.
func checkSubject(subject string) error {
	unclear := strings.ContainsAny(subject, " \t") || slices.Contains(strings.Split(subject, "."), "")
	if !unclear && slices.ContainsFunc(emitter.Subjects(), func(held string) bool { return emitter.Overlap(subject, held) }) {
		return nil
	}
	return fmt.Errorf("no event has the subject %q; events have these: %s", subject, strings.Join(emitter.Subjects(), ", "))
}
