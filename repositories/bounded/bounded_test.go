package bounded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/bounded"
)

func TestACacheIsBoundedInNumberAndInBytes(t *testing.T) {
	t.Parallel()
	c := bounded.New[string, int](3, 100)
	has := func(keys ...string) {
		t.Helper()
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			_, found := c.Get(key)
			require.Equal(t, found, len(keys) > 0 && keys[0] == key, key)
			if found {
				keys = keys[1:]
			}
		}
	}
	for i, key := range []string{"a", "b", "c", "d"} {
		c.Add(key, i, 10)
	}
	has("b", "c", "d")
	c.Add("c", 7, 85) // b was used before d
	has("c", "d")
	for range 20 {
		c.Add("c", 8, 80)
	}
	has("c", "d")
	value, _ := c.Get("c")
	require.Equal(t, 8, value)
	c.Add("e", 9, 500)
	has("e")
}
