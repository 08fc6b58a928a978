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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/lists"
)

// Stream is the name of the stream of events.
const Stream = "EARSHOT"

// Subjects returns the subjects of the stream. Under app and chat they have a fixed length,
// app.{appId}.{resource}.{scope} and chat.{kind}.{appId}.{sessionId}: others belong to other programs.
func Subjects() []string { return append(toolSubjects(), chatSubjects...) }

func toolSubjects() []string {
	subjects := lists.Map(toolKinds, func(kind string) string { return "tool." + kind + ".>" })
	return append(subjects, "app.*.*.*")
}

var chatSubjects = []string{"chat.message.*.*", "chat.failed.*.*"}

// JetStream error codes without a name in nats.go.
const (
	codeAccountFull jetstream.ErrorCode = 10002 // the account's storage is full
	codeNoLeader    jetstream.ErrorCode = 10008 // the cluster has no leader
	codeServerFull  jetstream.ErrorCode = 10023 // the server's storage is full
	codeNoSpace     jetstream.ErrorCode = 10047 // the server cannot reserve the stream's limit
	codeInvalid     jetstream.ErrorCode = 10052 // invalid stream configuration
	codeOtherStream jetstream.ErrorCode = 10060 // the subject belongs to another stream
	codeOverlap     jetstream.ErrorCode = 10065 // subjects of two streams overlap
	codeUpdate      jetstream.ErrorCode = 10069 // this update of a stream is not allowed
	codeStoreFailed jetstream.ErrorCode = 10077 // a limit of the stream is reached
)

var (
	// noSpaceCodes mean that the server has less room than the stream may use.
	noSpaceCodes = []jetstream.ErrorCode{codeNoSpace, codeAccountFull, codeServerFull}
	// fullCodes refuse a message: a limit of the stream, its disk, the account or the server is reached.
	fullCodes = []jetstream.ErrorCode{codeStoreFailed, codeAccountFull, codeServerFull}
)

func code(err error) jetstream.ErrorCode {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode
	}
	return 0
}

type stream struct {
	js      jetstream.JetStream
	options Options

	// repairSlot lets one caller check the stream at a time; the others wait until their context ends.
	repairSlot chan struct{}
	// checks counts how often the stream was found correct or repaired.
	checks   atomic.Uint64
	fullness *fullness
	silence  silence
	info     atomic.Pointer[jetstream.StreamInfo]
	// noChat reports that another stream has some of our chat subjects.
	noChat atomic.Bool
}

func newStream(js jetstream.JetStream, options Options) *stream {
	return &stream{js: js, options: options, repairSlot: make(chan struct{}, 1), fullness: &fullness{logger: options.Logger}}
}

// ensure repairs the stream, unless another caller did so since seen was read from checks.
func (s *stream) ensure(ctx context.Context, checked uint64) error {
	select {
	case s.repairSlot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.repairSlot }()
	if s.checks.Load() != checked {
		return nil
	}
	if err := s.repair(ctx); err != nil {
		return explain(err)
	}
	s.checks.Add(1)
	return nil
}

// repair creates the stream, or restores the required fields. It sets the limits only once, at the start:
// replicas with different limits would alternate, and an operator may change them by hand.
func (s *stream) repair(ctx context.Context) error {
	current, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		created, err := s.withChat(s.config(jetstream.StreamConfig{}, true), func(config jetstream.StreamConfig) (jetstream.Stream, error) {
			return s.js.CreateStream(ctx, config)
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil // another replica was faster; Ready finds out if it differs
		}
		if err == nil {
			s.info.Store(created.CachedInfo())
			s.options.Logger.Info("stream created", "stream", Stream)
		}
		return err
	}
	if err != nil {
		return err
	}
	s.info.Store(current.CachedInfo())
	isFirst := s.checks.Load() == 0
	err = s.update(ctx, current.CachedInfo().Config, isFirst)
	if !isFirst || !slices.Contains(noSpaceCodes, code(err)) {
		return err
	}
	// A stream with other limits is better than none.
	s.options.Logger.Error("stream.limits", "stream", Stream, "error", explain(err).Error())
	return s.update(ctx, current.CachedInfo().Config, false)
}

func (s *stream) update(ctx context.Context, current jetstream.StreamConfig, limits bool) error {
	updated, err := s.withChat(s.config(current, limits), func(config jetstream.StreamConfig) (jetstream.Stream, error) {
		if reflect.DeepEqual(config, current) {
			return nil, nil
		}
		return s.js.UpdateStream(ctx, config)
	})
	if err != nil || updated == nil {
		return err
	}
	s.info.Store(updated.CachedInfo())
	s.options.Logger.Warn("stream was not as it should be and was changed", "stream", Stream, "was", differences(current, updated.CachedInfo().Config))
	return nil
}

// differences names the fields in which a configuration differs from the wanted one, with both values.
func differences(current, wanted jetstream.StreamConfig) string {
	var texts []string
	present, expected := reflect.ValueOf(current), reflect.ValueOf(wanted)
	for i := range present.NumField() {
		if a, b := present.Field(i).Interface(), expected.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			texts = append(texts, fmt.Sprintf("%s %v, asked for %v", present.Type().Field(i).Name, a, b))
		}
	}
	return strings.Join(texts, ", ")
}

// withChat calls do with the configuration. If another stream has some of our chat subjects, it calls do again
// without them: tools do not need them.
func (s *stream) withChat(config jetstream.StreamConfig, write func(jetstream.StreamConfig) (jetstream.Stream, error)) (jetstream.Stream, error) {
	result, overlap := write(config)
	if code(overlap) != codeOverlap {
		if overlap == nil {
			s.noChat.Store(false)
		}
		return result, overlap
	}
	config.Subjects = toolSubjects()
	result, err := write(config)
	if err == nil && !s.noChat.Swap(true) {
		s.options.Logger.Error("stream.chat", "stream", Stream, "subjects", strings.Join(chatSubjects, ", "),
			"error", "no chat events are published, another stream holds some of their subjects: "+overlap.Error())
	}
	return result, err
}

// config sets the required fields and the limits. Others, such as compression, belong to the operator.
func (s *stream) config(held jetstream.StreamConfig, limits bool) jetstream.StreamConfig {
	held.Name = Stream
	held.Subjects = Subjects()
	// Work queues forget the ids of consumed messages.
	held.Retention = jetstream.LimitsPolicy
	held.Storage = jetstream.FileStorage
	// A full stream must refuse events: discarding old ones would lose them silently.
	held.Discard = jetstream.DiscardNew
	held.MaxMsgsPerSubject = -1
	held.NoAck = false
	if limits {
		held.MaxAge = s.options.MaxAge
		held.MaxBytes = cmp.Or(s.options.MaxBytes, held.MaxBytes)
		held.Replicas = cmp.Or(s.options.Replicas, held.Replicas)
	}
	held.Duplicates = DuplicateWindow
	if held.MaxAge > 0 { // the server refuses a longer window
		held.Duplicates = min(DuplicateWindow, held.MaxAge)
	}
	return held
}

// errLeaderless means that the stream exists but accepts no event.
var errLeaderless error = &public{
	errors.New("stream " + Stream + " has no leader: too few of the NATS servers that hold it run, or reach each other"), "takes no events: its stream has no leader",
}

// health returns an error if the stream had no leader, quorum or room at the last check. A leader without a
// quorum still reports itself for some seconds.
func (s *stream) health() error {
	info := s.info.Load()
	if info == nil {
		return nil
	}
	var leaderless error
	if cluster := info.Cluster; cluster != nil {
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
	return errors.Join(leaderless, s.fullness.observe(info))
}

// errFull means that the stream accepts no more events; they stay pending.
var errFull error = &public{
	errors.New("stream " + Stream + " is full: raise EARSHOT_STREAM_MAX_BYTES, shorten EARSHOT_STREAM_MAX_AGE, or purge it"), "refuses events: its stream is full",
}

// minFree is the least free space of a stream that is not full, in bytes.
const minFree = 1 << 10

// fullness tracks whether the stream is full, from refused publishes and the stream's state.
type fullness struct {
	logger *slog.Logger

	mu          sync.Mutex
	full        bool
	refusedSize uint64 // bytes of the refused event
	// limit reports that the stream's own limit was reached, so that its state shows when there is room again.
	limit bool
}

// published records whether an event was stored, or refused by a full stream. Only an event at least as large
// as the refused one proves that there is room.
func (f *fullness) published(size int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(fullCodes, code(err)) {
		f.refusedSize, f.limit = uint64(size), strings.Contains(err.Error(), "maximum")
		f.set(true, err.Error())
	} else if err == nil && f.full && uint64(size) >= f.refusedSize {
		f.set(false, "")
	}
}

func (f *fullness) observe(info *jetstream.StreamInfo) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	limits, current := info.Config, info.State
	reason := ""
	if limits.MaxBytes > 0 && current.Bytes+max(f.refusedSize, minFree) > uint64(limits.MaxBytes) {
		reason = fmt.Sprintf("it holds %d of %d bytes", current.Bytes, limits.MaxBytes)
	} else if limits.MaxMsgs > 0 && current.Msgs >= uint64(limits.MaxMsgs) {
		reason = fmt.Sprintf("it holds %d of %d messages", current.Msgs, limits.MaxMsgs)
	}
	if reason != "" || f.limit {
		f.limit = f.limit || reason != ""
		f.set(reason != "", reason)
	}
	if f.full {
		return errFull
	}
	return nil
}

func (f *fullness) set(isFull bool, reason string) {
	switch {
	case isFull == f.full:
	case isFull:
		f.logger.Error("stream.full", "stream", Stream, "why", reason, "error", errFull.Error()+"; events wait in the ledger until there is room")
	default:
		f.refusedSize = 0
		f.logger.Info("stream.room", "stream", Stream)
	}
	f.full = isFull
}

// errSilent means that the server tells of the stream, and stores nothing.
var errSilent error = &public{
	errors.New("stream " + Stream + " acknowledges no events: the log of NATS says why, its disk may be full; make room, and restart NATS"), "takes no events: it acknowledges none",
}

const (
	// leastSilence is longer than one late acknowledgement.
	leastSilence = 3 * time.Second
	// silenceTTL is how long the last missing acknowledgement counts: longer than the longest pause between two
	// attempts at an event.
	silenceTTL = 30 * time.Second
)

// silence tracks whether events are acknowledged. A server with a full disk answers all requests but these.
type silence struct {
	mu          sync.Mutex
	first, last time.Time // missing acknowledgements since the last event that was stored; zero for none
}

// published records whether an event was acknowledged.
func (s *silence) published(now time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.first = time.Time{}
	case !isUnanswered(err):
	case s.first.IsZero() || now.Sub(s.last) > silenceTTL:
		s.first, s.last = now, now
	default:
		s.last = now
	}
}

// health returns an error if no event was acknowledged for some time, and some were tried.
func (s *silence) health(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.first.IsZero() && s.last.Sub(s.first) >= leastSilence && now.Sub(s.last) <= silenceTTL {
		return errSilent
	}
	return nil
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
	case codeNoSpace, codeAccountFull, codeServerFull: // noSpaceCodes
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
