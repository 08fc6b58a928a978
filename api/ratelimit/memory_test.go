package ratelimit_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/api/ratelimit"
)

// body is a request's body in memory.
func body(memory *ratelimit.Memory, of ratelimit.Payer, size int, most int64) *ratelimit.Body {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
	request.ContentLength = most // whatever is announced
	return memory.Hold(request, of, most)
}

// TestOnlyWhatHasArrivedIsBooked announces much, sends little, and then the rest.
func TestOnlyWhatHasArrivedIsBooked(t *testing.T) {
	memory := ratelimit.NewMemory(1 << 20)
	sent, rest := io.Pipe()
	request := httptest.NewRequest(http.MethodPost, "/", sent)
	request.ContentLength = 1 << 20
	held := memory.Hold(request, ratelimit.Payer{App: "clinic"}, 1<<20)
	arrived := make([]byte, 1)
	go func() { _, _ = rest.Write([]byte("x")) }()
	_, err := held.Read(arrived)
	require.NoError(t, err)
	require.Zero(t, memory.Taken(), "a byte of a megabyte that was announced")
	go func() {
		_, _ = rest.Write(bytes.Repeat([]byte("x"), 100_000))
		_ = rest.Close()
	}()
	whole, err := io.ReadAll(held)
	require.NoError(t, err)
	require.Len(t, whole, 100_000)
	require.GreaterOrEqual(t, memory.Taken(), int64(100_001-4096))
	require.Less(t, memory.Taken(), int64(2*100_000))
	held.Free()
	held.Free()
	require.Zero(t, memory.Taken())
}

// TestAnAppLeavesMemoryForOthers lets one app take all it can, then one caller of another.
func TestAnAppLeavesMemoryForOthers(t *testing.T) {
	const most = 16 << 20
	memory := ratelimit.NewMemory(most)
	var open []*ratelimit.Body
	fill := func(of ratelimit.Payer) (bodies int) {
		for {
			one := body(memory, of, 512<<10, 512<<10)
			open = append(open, one)
			if _, err := io.ReadAll(one); err != nil {
				require.Equal(t, http.StatusServiceUnavailable, answer.ProblemOf(err).Status)
				return bodies
			}
			bodies++
		}
	}
	require.InDelta(t, most/2/(512<<10), fill(ratelimit.Payer{App: "clinic"}), 1, "alone an app has half")
	require.InDelta(t, most/16/(512<<10), fill(ratelimit.Payer{App: "rival", Caller: "rival/s1"}), 1, "a token has a sixteenth")
	require.Positive(t, fill(ratelimit.Payer{App: "rival", Caller: "rival/s2"}), "beside which another of its app has its own")
	require.Positive(t, fill(ratelimit.Payer{App: "third"}))
	for _, one := range open {
		one.Free()
	}
	require.Zero(t, memory.Taken())
}
