package emitter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream is the name of the stream that holds the events.
const Stream = "EARSHOT"

// Subjects returns the subjects of the stream. Those under app and chat are of one length,
// app.{appId}.{resource}.{scope} and chat.{kind}.{appId}.{sessionId}: others are other programs'.
func Subjects() []string { return append(toolSubjects(), chatSubjects...) }

func toolSubjects() []string {
	var subjects []string
	for _, kind := range toolKinds {
		subjects = append(subjects, "tool."+kind+".>")
	}
	return append(subjects, "app.*.*.*")
}

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

var (
	// roomCodes are those of a server that has less room than the stream may take.
	roomCodes = []jetstream.ErrorCode{codeNoRoom, codeAccountFull, codeServerFull}
	// fullCodes refuse to store a message: a limit of the stream or its disk, the account, or the server is
	// reached.
	fullCodes = []jetstream.ErrorCode{codeStoreFailed, codeAccountFull, codeServerFull}
)

func code(err error) jetstream.ErrorCode {
	if err == nil {
		return 0
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

type stream struct {
	js      jetstream.JetStream
	options Options
	logger  *slog.Logger

	// repairSlot lets one caller look at the stream at a time; the others stop waiting when their context ends.
	repairSlot chan struct{}
	// checks counts the times that the stream was found or made good.
	checks   atomic.Uint64
	fullness *fullness
	found    atomic.Pointer[jetstream.StreamInfo]
	// noChat says that another stream has subjects of ours under chat.
	noChat atomic.Bool
}

func newStream(js jetstream.JetStream, options Options) *stream {
	return &stream{js: js, options: options, logger: options.Logger, repairSlot: make(chan struct{}, 1), fullness: &fullness{logger: options.Logger}}
}

// ensure makes the stream good unless another caller did since seen was read from checks.
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

// repair makes the stream, or restores what the promise rests on, and sets the limits once, at the start:
// replicas with other limits would change them to and fro, and an operator may make room by hand.
func (s *stream) repair(ctx context.Context) error {
	held, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		made, err := s.withChat(s.config(jetstream.StreamConfig{}, true), func(config jetstream.StreamConfig) (jetstream.Stream, error) {
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
	if err != nil {
		return err
	}
	s.found.Store(held.CachedInfo())
	first := s.checks.Load() == 0
	err = s.change(ctx, held.CachedInfo().Config, first)
	if !first || !slices.Contains(roomCodes, code(err)) {
		return err
	}
	// Events need the stream more than it needs its limits.
	s.logger.Error("stream.limits", "stream", Stream, "error", explain(err).Error())
	return s.change(ctx, held.CachedInfo().Config, false)
}

func (s *stream) change(ctx context.Context, held jetstream.StreamConfig, limits bool) error {
	changed, err := s.withChat(s.config(held, limits), func(config jetstream.StreamConfig) (jetstream.Stream, error) {
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

// withChat does something with the configuration and, if another stream has subjects of ours under chat,
// without these: tools need none of them.
func (s *stream) withChat(config jetstream.StreamConfig, do func(jetstream.StreamConfig) (jetstream.Stream, error)) (jetstream.Stream, error) {
	done, overlap := do(config)
	if code(overlap) != codeOverlap {
		if overlap == nil {
			s.noChat.Store(false)
		}
		return done, overlap
	}
	config.Subjects = toolSubjects()
	done, err := do(config)
	if err == nil && !s.noChat.Swap(true) {
		s.logger.Error("stream.chat", "stream", Stream, "subjects", strings.Join(chatSubjects, ", "),
			"error", "no chat events are published, another stream holds some of their subjects: "+overlap.Error())
	}
	return done, err
}

// config sets the fields that the promise rests on, and the limits. All others, as compression, are the
// operator's.
func (s *stream) config(held jetstream.StreamConfig, limits bool) jetstream.StreamConfig {
	held.Name = Stream
	held.Subjects = Subjects()
	// Work queues forget the ids of consumed messages.
	held.Retention = jetstream.LimitsPolicy
	held.Storage = jetstream.FileStorage
	// A full stream must say so: discarding old events would lose them silently.
	held.Discard = jetstream.DiscardNew
	held.MaxMsgsPerSubject = -1
	held.NoAck = false
	if limits {
		held.MaxAge = s.options.MaxAge
		held.MaxBytes = cmp.Or(s.options.MaxBytes, held.MaxBytes)
		held.Replicas = cmp.Or(s.options.Replicas, held.Replicas)
	}
	held.Duplicates = DuplicateWindow
	if held.MaxAge > 0 { // the server refuses a longer one
		held.Duplicates = min(DuplicateWindow, held.MaxAge)
	}
	return held
}

// errLeaderless means that NATS shows the stream, and takes no event.
var errLeaderless error = &public{
	errors.New("stream " + Stream + " has no leader: too few of the NATS servers that hold it run, or reach each other"), "takes no events: its stream has no leader",
}

// able returns an error if the stream had no leader, quorum or room when it was last looked at. A leader that
// lost the others says for some seconds that it is one.
func (s *stream) able() error {
	found := s.found.Load()
	if found == nil {
		return nil
	}
	var leaderless error
	if cluster := found.Cluster; cluster != nil {
		offline := 0
		for _, peer := range cluster.Replicas {
			if peer.Offline {
				offline++
			}
		}
		if cluster.Leader == "" || 1+len(cluster.Replicas)-offline <= offline {
			leaderless = errLeaderless
		}
	}
	return errors.Join(leaderless, s.fullness.observe(found))
}

// errFull means that the stream takes no more events; they stay owed meanwhile.
var errFull error = &public{
	errors.New("stream " + Stream + " is full: raise EARSHOT_STREAM_MAX_BYTES, shorten EARSHOT_STREAM_MAX_AGE, or purge it"), "refuses events: its stream is full",
}

// minRoom is what must be free in a stream for it not to be full, in bytes.
const minRoom = 1 << 10

// fullness is whether the stream has reached a limit, by a refused publish or by what the stream says.
type fullness struct {
	logger *slog.Logger

	mu   sync.Mutex
	full bool
	need uint64 // bytes of the event that was refused
	// limit says that the stream's own limit was reached, so that the stream shows when there is room again.
	limit bool
}

// published notes whether an event was stored, or refused as the stream is full. A small one says nothing of a
// larger.
func (f *fullness) published(size int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(fullCodes, code(err)) {
		f.need, f.limit = uint64(size), strings.Contains(err.Error(), "maximum")
		f.set(true, err.Error())
	} else if err == nil && f.full && uint64(size) >= f.need {
		f.set(false, "")
	}
}

func (f *fullness) observe(info *jetstream.StreamInfo) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	limits, held := info.Config, info.State
	why := ""
	if limits.MaxBytes > 0 && held.Bytes+max(f.need, minRoom) > uint64(limits.MaxBytes) {
		why = fmt.Sprintf("it holds %d of %d bytes", held.Bytes, limits.MaxBytes)
	} else if limits.MaxMsgs > 0 && held.Msgs >= uint64(limits.MaxMsgs) {
		why = fmt.Sprintf("it holds %d of %d messages", held.Msgs, limits.MaxMsgs)
	}
	if why != "" || f.limit {
		f.limit = f.limit || why != ""
		f.set(why != "", why)
	}
	if f.full {
		return errFull
	}
	return nil
}

func (f *fullness) set(isFull bool, why string) {
	switch {
	case isFull == f.full:
	case isFull:
		f.logger.Error("stream.full", "stream", Stream, "why", why, "error", errFull.Error()+"; events wait in the ledger until there is room")
	default:
		f.need = 0
		f.logger.Info("stream.room", "stream", Stream)
	}
	f.full = isFull
}

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
