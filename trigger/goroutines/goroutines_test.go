package goroutines_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/trigger/goroutines"
)

func TestNobodyIsWaitedFor(t *testing.T) {
	pool, begun, end := goroutines.New(), make(chan int), make(chan struct{})
	defer close(end)
	for i := range 100 { // at once, though none of them ends
		pool.Start(func() {
			begun <- i
			<-end
		})
	}
	sum := 0
	for range 100 {
		sum += <-begun
	}
	require.Equal(t, 4950, sum)
}

func TestGoroutinesAreUsedAgain(t *testing.T) {
	pool, names := goroutines.New(), make(chan string)
	seen := map[string]int{}
	require.Eventually(t, func() bool {
		pool.Start(func() {
			stack := make([]byte, 64)
			stack = stack[:runtime.Stack(stack, false)]
			name, _, _ := bytes.Cut(stack, []byte(" [")) // goroutine 7 [running]:
			names <- string(name)
		})
		name := <-names
		seen[name]++
		return seen[name] == 5
	}, time.Minute, time.Millisecond, "each ran once: %v", seen)
}
