package scope_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
)

// many registers so many tools with the app, 500 in a repository.
func (w *world) many(n int) {
	for first := 0; first < n; first += 500 {
		var tools []string
		for i := first; i < min(first+500, n); i++ {
			tools = append(tools, fmt.Sprintf(`{"name":"open-window-%05d","description":"Open window %d of the hotel"}`, i, i))
		}
		w.Register(session(""), fmt.Sprintf("r%05d", first), `{"tools":[`+strings.Join(tools, ",")+`]}`)
	}
}

// byWords has messages matched by their words.
func (w *world) byWords() {
	words := chain.New(llm.Options{})
	w.Matcher.Intercept(func(ctx context.Context, request matcher.Request) error {
		_, err := words.Match(ctx, request)
		return err
	})
}

// The cost of a message that matches nothing must not grow with the number of tools.
func TestAMessageThatMatchesNothingCostsTheSameWithManyTools(t *testing.T) {
	const text = "a hotel has many windows, and my cat is asleep"
	cost := func(tools int) (allocations, bytes float64) {
		w := idleWorld(t, redistest.Run(t), 0)
		w.many(tools)
		w.byWords()
		allocations, bytes = math.Inf(1), math.Inf(1)
		for i := range 10 { // the least of some messages: at times a process does other things beside
			w.Flushed()
			before := written(t, w.Server.Client())
			allocated := testing.AllocsPerRun(1, func() { // two of them
				w.Say("", text+strconv.Itoa(i))
				w.Flushed()
			})
			allocations, bytes = min(allocations, allocated), min(bytes, written(t, w.Server.Client())-before)
		}
		unmatched := w.Events.Payloads("tool.notmatching.clinic.s1")
		require.EqualValues(t, tools, unmatched[0]["toolsTotal"])
		require.Len(t, unmatched[0]["tools"], min(tools, 64))
		return allocations, bytes
	}
	fewAllocations, fewBytes := cost(100)
	manyAllocations, manyBytes := cost(10_000)
	require.LessOrEqual(t, manyAllocations, 1.5*fewAllocations, "allocations, %g with 100 tools", fewAllocations)
	require.LessOrEqual(t, manyBytes, 1.5*fewBytes, "bytes of AOF, %g with 100 tools", fewBytes)
}

// written returns the size of Redis's append-only file.
func written(t *testing.T, client redis.UniversalClient) float64 {
	info, err := client.Info(t.Context(), "persistence").Result()
	require.NoError(t, err)
	_, size, _ := strings.Cut(info, "aof_current_size:")
	size, _, _ = strings.Cut(size, "\r")
	bytes, err := strconv.ParseFloat(size, 64)
	require.NoError(t, err)
	return bytes
}
