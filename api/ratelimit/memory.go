package ratelimit

import (
	"cmp"
	"io"
	"net/http"
	"sync"

	"earshot/api/answer"
	"earshot/api/signin"
)

const (
	// defaultMemory bounds the bodies of a replica in memory, in bytes.
	defaultMemory = 256 << 20
	unbooked      = 4 << 10  // the part of a body that is not counted, in bytes: most bodies are shorter
	step          = 64 << 10 // the unit of reservation, in bytes
	callers       = 16       // the number of shares of the memory: a caller has a sixteenth, which is the longest body
)

// Memory bounds the bodies in memory on a replica. It counts only bytes that have arrived. An app may use as
// much as it leaves free for others, alone half; a session's token, or an address without credentials, a
// sixteenth of all.
type Memory struct {
	most int64

	mu    sync.Mutex
	taken int64
	of    map[string]int64 // by app, and by caller
}

// NewMemory bounds bodies by most bytes; zero means defaultMemory.
func NewMemory(most int64) *Memory {
	return &Memory{most: cmp.Or(most, defaultMemory), of: map[string]int64{}}
}

// Taken returns how many bytes are reserved.
func (m *Memory) Taken() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken
}

// Payer is charged for bodies: an app, or all strangers together, and a caller with a smaller share; an empty
// Caller may use the app's whole share.
type Payer struct{ App, Caller string }

// Stranger is the payer of a request without credentials.
func Stranger(request *http.Request) Payer {
	return Payer{App: "(strangers)", Caller: signin.ClientOf(request)}
}

// book reserves n bytes, and reports whether they were available.
func (m *Memory) book(of Payer, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	app, caller := "app "+of.App, "caller "+of.Caller
	if m.of[app]+n > m.most-m.taken || of.Caller != "" && m.of[caller]+n > m.most/callers {
		return false
	}
	m.taken, m.of[app] = m.taken+n, m.of[app]+n
	if of.Caller != "" {
		m.of[caller] += n
	}
	return true
}

func (m *Memory) free(of Payer, n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken -= n
	m.less("app "+of.App, n)
	if of.Caller != "" {
		m.less("caller "+of.Caller, n)
	}
}

func (m *Memory) less(name string, n int64) {
	if m.of[name] -= n; m.of[name] <= 0 {
		delete(m.of, name)
	}
}

// Take reserves memory for a body that has arrived. It reports whether there was room; free releases it.
func (m *Memory) Take(of Payer, n int64) (free func(), ok bool) {
	if !m.book(of, n) {
		return nil, false
	}
	return func() { m.free(of, n) }, true
}

// Body reserves memory while it is read.
type Body struct {
	io.ReadCloser
	memory *Memory
	of     Payer
	// most is the longest body, so that no step reserves more than can arrive.
	most, read, booked int64
	freed              bool
}

// Read reads part of the body. Without free memory it returns a problem that lets the client retry.
func (b *Body) Read(into []byte) (int, error) {
	if b.freed { // the rest is discarded
		return b.ReadCloser.Read(into)
	}
	if over := b.read - unbooked; over >= b.booked {
		next := min(step, max(b.most-b.read, 1))
		if !b.memory.book(b.of, next) {
			return 0, answer.NewProblem(answer.Overloaded,
				"too many long requests are in progress on this replica; this one was not started, send it again").With("Retry-After", answer.Soon)
		}
		b.booked += next
	}
	room := unbooked + b.booked - b.read
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), room)])
	b.read += int64(n)
	return n, err
}

// Free releases the memory once the body is no longer needed.
func (b *Body) Free() {
	b.memory.free(b.of, b.booked)
	b.booked, b.freed = 0, true
}

// Hold wraps a request's body of at most most bytes, charged to a payer.
func (m *Memory) Hold(request *http.Request, of Payer, most int64) *Body {
	body := &Body{ReadCloser: request.Body, memory: m, of: of, most: most}
	request.Body = body
	return body
}
