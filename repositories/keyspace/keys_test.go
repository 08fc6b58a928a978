package keyspace_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
)

// TestNamesTogetherAreThoseOfEach has more names than the first buffer holds.
func TestNamesTogetherAreThoseOfEach(t *testing.T) {
	each := keyspace.KeysOf("shop")
	together := keyspace.ManyKeysOf("shop")
	var wanted, got []string
	for n := range 50 {
		session := strings.Repeat("s", n*30)
		wanted = append(wanted, each.Due(), each.Repos(session), each.Draft(session, "m"))
		got = append(got, together.Due(), together.Repos(session), together.Draft(session, "m"))
	}
	require.Equal(t, wanted, got)
}

// TestPartitionsStayAsTheyAre compares partitions with the hash that stored data depends on.
func TestPartitionsStayAsTheyAre(t *testing.T) {
	for _, app := range []string{"", "shop", "clinic-2", "Größe", strings.Repeat("x", 300)} {
		hash := fnv.New32a()
		hash.Write([]byte(app))
		n := int(hash.Sum32() % keyspace.Partitions)
		require.Equal(t, n, keyspace.PartitionOf(app), app)
		require.Equal(t, fmt.Sprintf("earshot:{p%02d}:app:%s", n, app), keyspace.KeysOf(app).App())
	}
	place, ok := keyspace.ParseKey("earshot:{p99}:app:shop")
	require.True(t, ok, "one that is there by mistake is to be found")
	require.Equal(t, 99, place.Partition)
}
