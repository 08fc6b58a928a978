package emitter

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// errFull means that the stream takes no more events; they stay owed meanwhile.
var errFull error = &public{
	"stream " + Stream + " is full: raise EARSHOT_STREAM_MAX_BYTES, shorten EARSHOT_STREAM_MAX_AGE, or purge it", "refuses events: its stream is full",
}

// Codes with which a server refuses to store a message: a limit of the stream or its
// disk, of the account, and of the server.
var fullCodes = []jetstream.ErrorCode{codeStoreFailed, codeAccountFull, codeServerFull}

// minRoom is what must be free in a stream for it not to be full.
const minRoom = 1 << 10

// fullness is whether the stream has reached a limit, as far as is known: from a publish
// that is refused, and from what the stream says of itself.
type fullness struct {
	logger *slog.Logger

	mu   sync.Mutex
	full bool
	need uint64 // bytes of the event that was refused
	// limit says that it is a limit of the stream's own that was reached, so that the
	// stream knows when there is room again.
	limit bool
}

// refused marks the stream as full, for an event of so many bytes.
func (f *fullness) refused(size int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.need, f.limit = uint64(size), strings.Contains(err.Error(), "maximum")
	f.set(true, err.Error())
}

// stored notes an event that was stored. A small one says nothing about a larger one.
func (f *fullness) stored(size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full && uint64(size) >= f.need {
		f.set(false, "")
	}
}

// observe compares what the stream holds with what it may hold.
func (f *fullness) observe(info *jetstream.StreamInfo) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	limits, held := info.Config, info.State
	switch room := max(f.need, minRoom); {
	case limits.MaxBytes > 0 && held.Bytes+room > uint64(limits.MaxBytes):
		f.limit = true
		f.set(true, fmt.Sprintf("it holds %d of %d bytes", held.Bytes, limits.MaxBytes))
	case limits.MaxMsgs > 0 && held.Msgs >= uint64(limits.MaxMsgs):
		f.limit = true
		f.set(true, fmt.Sprintf("it holds %d of %d messages", held.Msgs, limits.MaxMsgs))
	case f.limit:
		f.set(false, "")
	}
	if f.full {
		return errFull
	}
	return nil
}

// set writes one line for each change.
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

func (f *fullness) isFull() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.full
}
