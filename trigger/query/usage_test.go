package query_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/query"
)

func TestUseOfToolsIsReadForADay(t *testing.T) {
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		now := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
		db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
		worker, other := query.NewCounter(db, func() time.Time { return now }), query.NewCounter(db, func() time.Time { return now })
		worker.CountFired("clinic", "book")
		worker.CountFired("elsewhere", "book")
		now = now.Add(23 * time.Hour)
		for range 3 {
			worker.CountFired("clinic", "book")
		}
		other.CountRejected("clinic", "book")
		other.CountRejected("clinic", "cancel")

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, other.Flush(gone))
		require.NoError(t, other.Flush(t.Context()), "what could not be written was kept")
		nine, eight := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC), time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)
		tools, err := worker.Read(t.Context(), "clinic")
		require.NoError(t, err)
		require.Equal(t, []query.ToolUse{
			{Name: "book", Fired: 4, Rejected: 1, Hours: []query.HourUse{{Begins: nine, Fired: 1}, {Begins: eight, Fired: 3, Rejected: 1}}},
			{Name: "cancel", Rejected: 1, Hours: []query.HourUse{{Begins: eight, Rejected: 1}}},
		}, tools)

		now = now.Add(time.Hour)
		tools, err = other.Read(t.Context(), "clinic")
		require.NoError(t, err)
		require.Equal(t, 3, tools[0].Fired, "what is older is left out")
		for _, key := range server.Keys() {
			require.Greater(t, server.Client().TTL(t.Context(), key).Val(), 24*time.Hour, key)
		}
	})
}

func TestCountedToolsAreBounded(t *testing.T) {
	server := redistest.Mini(t)
	db := &keyspace.DB{UniversalClient: server.Client(), Embedded: true}
	counter := query.NewCounter(db, time.Now)
	for i := range 1200 {
		counter.CountFired("clinic", fmt.Sprint("tool-", i))
		if i%100 == 99 {
			require.NoError(t, counter.Flush(t.Context()))
		}
	}
	tools, err := counter.Read(t.Context(), "clinic")
	require.NoError(t, err)
	require.Len(t, tools, 1000)
}
