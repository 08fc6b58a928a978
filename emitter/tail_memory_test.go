package emitter_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/emitter/natstest"
	"earshot/trigger/effect"
)

// held is what is alive on the heap, in bytes.
func held() int64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

func TestFollowersThatDoNotReadHoldLittle(t *testing.T) {
	const followers, events, size = 300, 40, 64 << 10
	s := natstest.Run(t)
	e, reader := tail(t, s)
	at := now(t, reader)
	payload := json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`)
	large := func(i int, session string) effect.Effect {
		effect := of(fmt.Sprint(session, i), "tool.trigger.clinic."+session+".book", session)
		effect.Event.Data = payload
		return effect
	}
	for i := range events {
		publish(t, e, large(i, "s1"))
	}
	before := held()
	var all []<-chan effect.Published
	for range followers { // each reads what is stored, by itself
		all = append(all, follow(t, reader, "s1", at))
	}
	for _, events := range all {
		next(t, events, 1) // and has got what it keeps
	}
	require.Less(t, (held()-before)>>20, int64(followers*512>>10), "MiB, of %d that are stored for them", followers*events*size>>20)

	before = held()
	for i := range 4 { // what comes is held once for all of them
		publish(t, e, large(100+i, "s1"))
	}
	live := follow(t, reader, "s2", now(t, reader))
	publish(t, e, large(0, "s2"))
	next(t, live, 1)
	require.Less(t, (held()-before)>>20, int64(64))
	for _, events := range all[:3] { // who reads again misses nothing
		next(t, events, 43)
	}
}
