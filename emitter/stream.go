package emitter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is the name of the stream that holds the events.
const Stream = "EARSHOT"

// Subjects returns the subjects of the stream. Those under app and chat are of one length,
// app.{appId}.{resource}.{scope} and chat.{kind}.{appId}.{sessionId}, and leave others to
// other programs.
func Subjects() []string { return append(toolSubjects(), chatSubjects...) }

// toolSubjects are those that the promise about tools rests on.
func toolSubjects() []string {
	var subjects []string
	for _, kind := range toolKinds {
		subjects = append(subjects, "tool."+kind+".>")
	}
	return append(subjects, "app.*.*.*")
}

// chatSubjects are those of what is said.
var chatSubjects = []string{"chat.message.*.*", "chat.failed.*.*"}

// Codes of JetStream errors that nats.go has no names for.
const (
	codeAccountFull jetstream.ErrorCode = 10002 // the account may store no more
	codeServerFull  jetstream.ErrorCode = 10023 // the server may store no more
	codeNoRoom      jetstream.ErrorCode = 10047 // the server cannot reserve what the stream may hold
	codeInvalid     jetstream.ErrorCode = 10052 // a stream cannot have this configuration
	codeOtherStream jetstream.ErrorCode = 10060 // the subject belongs to another stream
	codeOverlap     jetstream.ErrorCode = 10065 // subjects of two streams overlap
	codeUpdate      jetstream.ErrorCode = 10069 // a stream cannot be changed so
	codeStoreFailed jetstream.ErrorCode = 10077 // a limit of the stream is reached
)

// roomCodes are those of a server that has less room than the stream may take.
var roomCodes = []jetstream.ErrorCode{codeNoRoom, codeAccountFull, codeServerFull}

// stream creates the JetStream stream EARSHOT and keeps its configuration as it should be.
type stream struct {
	js      jetstream.JetStream
	options Options
	logger  *slog.Logger

	// repairSlot lets one caller look at the stream at a time. It is a channel, so that the
	// others stop waiting when their context ends.
	repairSlot chan struct{}
	// checks counts the times that the stream was found or made good.
	checks   atomic.Uint64
	fullness *fullness
	// found is what the stream was when it was last looked at.
	found atomic.Pointer[jetstream.StreamInfo]
	// noChat says that another stream has subjects of ours under chat.
	noChat atomic.Bool
}

func newStream(js jetstream.JetStream, options Options) *stream {
	return &stream{js: js, options: options, logger: options.Logger, repairSlot: make(chan struct{}, 1), fullness: &fullness{logger: options.Logger}}
}

// room returns an error where the stream was full when it was last looked at.
func (s *stream) room() error {
	if found := s.found.Load(); found != nil {
		return s.fullness.observe(found)
	}
	return nil
}

// errLeaderless means that too few of the servers run that hold the stream: NATS goes on telling of
// the stream, and takes no event.
var errLeaderless error = &public{
	"stream " + Stream + " has no leader: too few of the NATS servers that hold it run, or reach each other", "takes no events: its stream has no leader",
}

// led returns an error where the stream had no leader, or too few servers for one, when it was
// last looked at. A leader that has lost the others says for some seconds that it is one.
func (s *stream) led() error {
	found := s.found.Load()
	if found == nil || found.Cluster == nil {
		return nil
	}
	if found.Cluster.Leader == "" {
		return errLeaderless
	}
	running, offline := 1, 0
	for _, peer := range found.Cluster.Replicas {
		if peer.Offline {
			offline++
		} else {
			running++
		}
	}
	if running <= offline {
		return errLeaderless
	}
	return nil
}

// ensure makes the stream good unless somebody else did since the caller read seen
// from checks.
func (s *stream) ensure(ctx context.Context, seen uint64) error {
	select {
	case s.repairSlot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.repairSlot }()
	if s.checks.Load() != seen {
		return nil
	}
	if err := s.repair(ctx); err != nil {
		return explain(err)
	}
	s.checks.Add(1)
	return nil
}

func (s *stream) repair(ctx context.Context) error {
	held, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return s.create(ctx)
	}
	if err != nil {
		return err
	}
	s.found.Store(held.CachedInfo())
	return s.update(ctx, held.CachedInfo().Config)
}

func (s *stream) create(ctx context.Context) error {
	made, err := s.withChat(s.limited(s.config(jetstream.StreamConfig{})), func(config jetstream.StreamConfig) (jetstream.Stream, error) {
		return s.js.CreateStream(ctx, config)
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil // another replica was faster; Ready finds out if it differs
	}
	if err == nil {
		s.found.Store(made.CachedInfo())
		s.logger.Info("stream created", "stream", Stream)
	}
	return err
}

// update changes what the promise rests on, whenever it is not so, and the limits once,
// when the process starts: replicas that are given other limits than those before them
// would change them to and fro, and an operator may make room by hand.
func (s *stream) update(ctx context.Context, held jetstream.StreamConfig) error {
	wanted := s.config(held)
	if s.checks.Load() > 0 {
		return s.change(ctx, held, wanted)
	}
	err := s.change(ctx, held, s.limited(wanted))
	if !slices.Contains(roomCodes, code(err)) {
		return err
	}
	// Events need the stream more than it needs its limits.
	s.logger.Error("stream.limits", "stream", Stream, "error", explain(err).Error())
	return s.change(ctx, held, wanted)
}

func (s *stream) change(ctx context.Context, held, wanted jetstream.StreamConfig) error {
	changed, err := s.withChat(wanted, func(config jetstream.StreamConfig) (jetstream.Stream, error) {
		if reflect.DeepEqual(config, held) {
			return nil, nil
		}
		return s.js.UpdateStream(ctx, config)
	})
	if err != nil || changed == nil {
		return err
	}
	s.found.Store(changed.CachedInfo())
	s.logger.Warn("stream was not as it should be and was changed", "stream", Stream)
	return nil
}

// withChat does something with the configuration and, where another stream has subjects of
// ours under chat, with it and without these: that program may have been there before
// chat events were, and tools need none of them.
func (s *stream) withChat(config jetstream.StreamConfig, do func(jetstream.StreamConfig) (jetstream.Stream, error)) (jetstream.Stream, error) {
	done, err := do(config)
	if code(err) != codeOverlap {
		if err == nil {
			s.noChat.Store(false)
		}
		return done, err
	}
	overlap := err
	config.Subjects = toolSubjects()
	if done, err = do(config); err == nil && !s.noChat.Swap(true) {
		s.logger.Error("stream.chat", "stream", Stream, "subjects", strings.Join(chatSubjects, ", "),
			"error", "no chat events are published, another stream holds some of their subjects: "+overlap.Error())
	}
	return done, err
}

// config returns held with the fields that the promise rests on set. All others,
// such as placement or compression, are the operator's.
func (s *stream) config(held jetstream.StreamConfig) jetstream.StreamConfig {
	held.Name = Stream
	held.Subjects = Subjects()
	// Work queues forget ids of messages that are consumed, and with them what is a
	// repeat.
	held.Retention = jetstream.LimitsPolicy
	held.Storage = jetstream.FileStorage
	// A full stream must say so: discarding old events would lose them silently.
	held.Discard = jetstream.DiscardNew
	held.MaxMsgsPerSubject = -1
	held.NoAck = false
	held.Duplicates = DuplicateWindow
	if held.MaxAge > 0 { // the server refuses a longer one
		held.Duplicates = min(DuplicateWindow, held.MaxAge)
	}
	return held
}

// limited returns held with the limits of the options.
func (s *stream) limited(held jetstream.StreamConfig) jetstream.StreamConfig {
	held.MaxAge = s.options.MaxAge
	held.Duplicates = min(DuplicateWindow, held.MaxAge)
	if s.options.MaxBytes > 0 {
		held.MaxBytes = s.options.MaxBytes
	}
	if s.options.Replicas > 0 {
		held.Replicas = s.options.Replicas
	}
	return held
}

// explain says what to do about errors that do not heal by themselves.
func explain(err error) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("NATS has no JetStream, or it is still starting; a server is given it with --jetstream: %w", err)
	}
	switch code(err) {
	case codeOverlap:
		return fmt.Errorf("stream %s cannot have its subjects (%s), another stream holds some of them: "+
			"take them from that stream, or give Earshot a NATS account of its own: %w", Stream, subjectList(), err)
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return fmt.Errorf("NATS has no JetStream for this account; enable it in the server's configuration: %w", err)
	case codeNoRoom, codeAccountFull, codeServerFull: // roomCodes
		return fmt.Errorf("NATS has no room for what stream %s may hold: give EARSHOT_STREAM_MAX_BYTES (--stream-max-bytes) less, "+
			"or the server more (max_file_store): %w", Stream, err)
	case codeUpdate, codeInvalid:
		return fmt.Errorf("stream %s cannot be changed to what Earshot needs: copy what it holds and remove it, "+
			"and it is made anew: %w", Stream, err)
	default:
		return fmt.Errorf("look after stream %s: %w", Stream, err)
	}
}

func subjectList() string { return strings.Join(Subjects(), ", ") }
