package verify

import "hash/maphash"

// filter remembers names in a fixed amount of memory, 8 MiB. It never denies one that was added.
// Of those that were not it takes one in some for added: with a million names one in ninety
// thousand, with ten million one in twenty-five; which ones differs from filter to filter.
type filter struct {
	bits  []uint64
	seeds [filterHashes]maphash.Seed
}

const (
	filterHashes = 4
	filterBits   = 1 << 26
)

func newFilter() *filter {
	f := &filter{bits: make([]uint64, filterBits/64)}
	for i := range f.seeds {
		f.seeds[i] = maphash.MakeSeed()
	}
	return f
}

func (f *filter) add(name string) {
	for _, seed := range f.seeds {
		word, bit := placeOfBit(seed, name)
		f.bits[word] |= bit
	}
}

func (f *filter) has(name string) bool {
	for _, seed := range f.seeds {
		if word, bit := placeOfBit(seed, name); f.bits[word]&bit == 0 {
			return false
		}
	}
	return true
}

func placeOfBit(seed maphash.Seed, name string) (word int, bit uint64) {
	at := maphash.String(seed, name) % filterBits
	return int(at / 64), 1 << (at % 64)
}
