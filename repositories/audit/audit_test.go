package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/keyspace"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// listed returns a log with the existing app clinic.
func listed(t *testing.T, server *redistest.Server) *audit.Log {
	db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
	require.NoError(t, db.HSet(t.Context(), keyspace.KeysOf("clinic").App(), "record", "{}").Err())
	return &audit.Log{DB: db, Now: time.Now}
}

func done() (bool, error) { return true, nil }

// of lists the triggers of all entries that a query selects, and the cursor after them.
func of(t *testing.T, l *audit.Log, q audit.Query) (found []string, next string) {
	q.AppID = "clinic"
	if q.Limit == 0 {
		q.Limit = 50
	}
	items, next, err := l.List(t.Context(), q)
	require.NoError(t, err)
	for _, item := range items {
		require.WithinDuration(t, time.Now(), item.Time, time.Minute)
		found = append(found, item.TriggerID)
	}
	return found, next
}

func entry(action audit.Action, by, trigger string) audit.Entry {
	return audit.Entry{Action: action, By: by, Subject: audit.Subject{TriggerID: trigger}}
}

func TestEntriesAreListedByPageActionAndWho(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		l := listed(t, server)
		for i := range 1101 {
			by := "admin"
			if i%500 == 0 {
				by = "k1"
			}
			require.NoError(t, l.During(t.Context(), "clinic", done, entry(audit.Retry, by, fmt.Sprint(i))))
		}
		require.NoError(t, l.During(t.Context(), "clinic", done, entry(audit.Purge, "k1", "last")))
		all, next := of(t, l, audit.Query{Limit: 2})
		require.Equal(t, []string{"last", "1100"}, all)
		all, next = of(t, l, audit.Query{Limit: 2, After: next})
		require.Equal(t, []string{"1099", "1098"}, all)
		require.True(t, audit.IsID(next))
		all, next = of(t, l, audit.Query{By: "k1", Action: string(audit.Retry)}) // more than one read
		require.Equal(t, []string{"1000", "500", "0"}, all)
		require.Empty(t, next)
		all, next = of(t, l, audit.Query{By: "k1", Limit: 4})
		require.Equal(t, []string{"last", "1000", "500", "0"}, all)
		require.Empty(t, next, "there is nothing behind it")
	})
}

func TestWhatWasNotDoneLeavesNoEntryAndCostsNoOther(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		l := listed(t, server)
		l.Entries = 3
		for i := range 5 {
			require.NoError(t, l.During(t.Context(), "clinic", done, entry(audit.Confirm, "k1", fmt.Sprint(i))))
		}
		kept, _ := of(t, l, audit.Query{})
		require.Equal(t, []string{"4", "3", "2", "1"}, kept, "the oldest go when the next one comes")
		refused := errors.New("it has ended")
		for range 10 {
			require.ErrorIs(t, l.During(t.Context(), "clinic", func() (bool, error) {
				all, _ := of(t, l, audit.Query{})
				require.Equal(t, "x", all[0], "it is written before")
				return false, refused
			}, entry(audit.Confirm, "k2", "x"), entry(audit.Deny, "k2", "x")), refused)
		}
		kept, _ = of(t, l, audit.Query{})
		require.Equal(t, []string{"4", "3"}, kept)
		failed := errors.New("it may be done")
		require.ErrorIs(t, l.During(t.Context(), "clinic", func() (bool, error) { return true, failed }, entry(audit.Confirm, "k1", "5")), failed)
		kept, _ = of(t, l, audit.Query{})
		require.Equal(t, []string{"5", "4", "3"}, kept)
	})
}

func TestOldEntriesGo(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		l := listed(t, server)
		require.NoError(t, l.During(t.Context(), "clinic", done, entry(audit.Confirm, "k1", "1")))
		require.Positive(t, l.DB.PTTL(t.Context(), keyspace.Audit(keyspace.KeysOf("clinic"))).Val())
		l.Now = func() time.Time { return time.Now().Add(audit.DefaultRetention + time.Minute) }
		kept, _ := of(t, l, audit.Query{})
		require.Empty(t, kept, "it is not listed, though nothing has come since")
	})
}

func TestNothingIsDoneWithoutAnEntry(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		l := listed(t, server)
		ended, end := context.WithCancel(t.Context())
		end()
		require.Error(t, l.During(ended, "clinic", func() (bool, error) {
			t.Error("it was done")
			return true, nil
		}, entry(audit.Confirm, "k1", "1")))

		create := func() (bool, error) {
			return true, l.DB.HSet(t.Context(), keyspace.KeysOf("new").App(), "record", "{}").Err()
		}
		require.NoError(t, l.During(t.Context(), "new", create, entry(audit.ChangeApp, "admin", "")))
		items, _, err := l.List(t.Context(), audit.Query{AppID: "new", Limit: 1})
		require.NoError(t, err)
		require.Len(t, items, 1, "of an app that was created")

		missing := &repositories.NotFoundError{Kind: "app", ID: "gone"}
		require.ErrorIs(t, l.During(t.Context(), "gone", func() (bool, error) { return false, missing }, entry(audit.ChangeApp, "admin", "")), missing)
		_, _, err = l.List(t.Context(), audit.Query{AppID: "gone", Limit: 1})
		require.ErrorIs(t, err, repositories.ErrNotFound)
		require.Zero(t, l.DB.Exists(t.Context(), keyspace.Audit(keyspace.KeysOf("gone"))).Val())
	})
}
