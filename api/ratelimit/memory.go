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
	// defaultMemory is how many bytes of bodies a replica holds at once.
	defaultMemory = 256 << 20
	// unbooked is what a body may hold without being counted, in bytes: most bodies are shorter, and
	// connections are bounded by the machine.
	unbooked = 4 << 10
	// step is how much is booked at once, in bytes.
	step = 64 << 10
	// callers is how many callers share the memory that one of them may have: a caller has a
	// sixteenth of all, which is the longest body.
	callers = 16
)

// Memory is what bodies that are read on a replica may hold together. Nothing is booked for what a
// request announces, only for what has arrived. An app has as much as is then left for the others,
// which alone is half; one session's token, and one address without credentials, a sixteenth of all.
type Memory struct {
	most int64

	mu    sync.Mutex
	taken int64
	of    map[string]int64 // by app, and by caller
}

// NewMemory bounds bodies by so many bytes, by defaultMemory where most is zero.
func NewMemory(most int64) *Memory {
	return &Memory{most: cmp.Or(most, defaultMemory), of: map[string]int64{}}
}

// Taken is how many bytes are booked.
func (m *Memory) Taken() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken
}

// Payer is who bodies are booked for: an app, or all strangers together, and a caller who has less than
// the app has; empty for one who has all of it.
type Payer struct{ App, Caller string }

// Stranger is who pays for the body of a request without credentials.
func Stranger(request *http.Request) Payer {
	return Payer{App: "(strangers)", Caller: signin.ClientOf(request)}
}

// book takes room, and reports whether there is any.
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

// Take books a body that is here already. It reports whether there was room; free gives it back.
func (m *Memory) Take(of Payer, n int64) (free func(), ok bool) {
	if !m.book(of, n) {
		return nil, false
	}
	return func() { m.free(of, n) }, true
}

// Body is a body that is booked as it is read.
type Body struct {
	io.ReadCloser
	memory *Memory
	of     Payer
	// most is how long the body may be, so that no step books what can never come.
	most, read, booked int64
	freed              bool
}

// Read reads some of the body. Where there is no room for it the error is a problem, which says that
// the request may be sent again.
func (b *Body) Read(into []byte) (int, error) {
	if b.freed { // the rest is thrown away
		return b.ReadCloser.Read(into)
	}
	if over := b.read - unbooked; over >= b.booked {
		next := min(step, max(b.most-b.read, 1))
		if !b.memory.book(b.of, next) {
			return 0, answer.NewProblem(answer.Overloaded,
				"too many long requests are under work on this replica; nothing of this one was done, send it again").With("Retry-After", answer.Soon)
		}
		b.booked += next
	}
	room := unbooked + b.booked - b.read
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), room)])
	b.read += int64(n)
	return n, err
}

// Free gives the room back, when nothing of the body is needed any more.
func (b *Body) Free() {
	b.memory.free(b.of, b.booked)
	b.booked, b.freed = 0, true
}

// Hold has a request's body booked for its payer, up to so many bytes.
func (m *Memory) Hold(request *http.Request, of Payer, most int64) *Body {
	body := &Body{ReadCloser: request.Body, memory: m, of: of, most: most}
	request.Body = body
	return body
}
