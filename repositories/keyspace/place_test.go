package keyspace_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
)

// names calls every method of Keys, and the functions on Keys, that return names of keys.
func names(k keyspace.Keys) (all []string) {
	webhook, resends := keyspace.Webhook(k, "w")
	all = []string{
		webhook, resends, keyspace.KeyEnds(k), keyspace.Audit(k), keyspace.Tests(k), keyspace.Versions(k, "r"), keyspace.Versioned(k),
		keyspace.Usage(k, keyspace.UsageDay, 7), keyspace.Recent(k), k.Repos(""), k.Triggers(""), k.Rates(""), k.Asked(""),
	}
	of := reflect.ValueOf(k)
	for i := range of.NumMethod() {
		kind := of.Method(i).Type()
		var given []reflect.Value
		for j := range kind.NumIn() {
			value := reflect.New(kind.In(j)).Elem()
			if value.Kind() == reflect.String {
				value.SetString("name")
			}
			given = append(given, value)
		}
		switch made := of.Method(i).Call(given)[0].Interface().(type) {
		case string:
			all = append(all, made)
		case []string:
			all = append(all, made...)
		}
	}
	return all
}

func TestThePlaceOfEveryKeyIsReadFromItsName(t *testing.T) {
	k, n := keyspace.KeysOf("clinic"), keyspace.PartitionOf("clinic")
	all := names(k)
	require.Greater(t, len(all), 50)
	for _, key := range all {
		place, ok := keyspace.ParseKey(key)
		require.True(t, ok, key)
		require.Equal(t, n, place.Partition, key)
		require.NotEmpty(t, place.Kind, key)
		require.Equal(t, key, place.Key())
		require.Contains(t, []string{"", "clinic"}, place.App, key)
	}
	place, _ := keyspace.ParseKey(k.Outbox("s1/chat"))
	require.Equal(t, keyspace.KeyName{Partition: n, Kind: keyspace.KindOutbox, App: "clinic", Name: "s1/chat"}, place)
	place, _ = keyspace.ParseKey(k.Due())
	require.Equal(t, keyspace.KeyName{Partition: n, Kind: keyspace.KindDue}, place)
	for _, other := range []string{"", "earshot:{p", "earshot:{p0}:due", "earshot:{pxx}:due", "earshot:secretkey", "other:{p01}:due"} {
		_, ok := keyspace.ParseKey(other)
		require.False(t, ok, other)
	}
}

func TestEveryKeyIsHandedOut(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		db, want := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}, []string{}
		for n := range keyspace.Partitions {
			want = append(want, keyspace.PartitionKeys(n).PendingCount())
			require.NoError(t, db.Set(t.Context(), want[n], 1, 0).Err())
		}
		require.NoError(t, db.Set(t.Context(), "another", 1, 0).Err())
		var found []string
		require.NoError(t, db.EachKey(t.Context(), func(keys []string) error {
			found = append(found, keys...)
			return nil
		}))
		slices.Sort(found)
		require.Equal(t, want, slices.Compact(found))
		require.ErrorIs(t, db.EachKey(t.Context(), func([]string) error { return keyspace.ErrMemory }), keyspace.ErrMemory)
	})
}
