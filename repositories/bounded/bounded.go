// Package bounded has a cache that is bounded in bytes as well as in number.
package bounded

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps the values that were used last. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	kept  *simplelru.LRU[K, weighed[V]]
	most  int
	bytes int
}

type weighed[V any] struct {
	value V
	bytes int
}

// New returns an empty cache of at most number values, and most bytes in total.
func New[K comparable, V any](number, most int) *Cache[K, V] {
	c := &Cache[K, V]{most: most}
	c.kept, _ = simplelru.NewLRU(number, func(_ K, evicted weighed[V]) { c.bytes -= evicted.bytes }) // fails for a size of 0 only
	return c
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.kept.Get(key)
	return entry.value, found
}

// Add keeps a value of so many bytes, and drops those that were used longest ago. The newest one always stays.
func (c *Cache[K, V]) Add(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Remove(key) // replacing it would not count its bytes off
	c.kept.Add(key, weighed[V]{value, bytes})
	for c.bytes += bytes; c.bytes > c.most && c.kept.Len() > 1; {
		c.kept.RemoveOldest()
	}
}
