package main

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
)

// size is a flag for a number of bytes, which may have a unit: 4GiB, 512MiB, 1000000.
type size int64

const (
	// defaultStreamMax is how much the stream may hold.
	defaultStreamMax size = 4 << 30
	// leastSize is the smallest that is of any use; a lower number is a slip.
	leastSize size = 1 << 10
)

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	bytes, err := humanize.ParseBytes(text)
	if err != nil || bytes < uint64(leastSize) || bytes > math.MaxInt64 {
		return fmt.Errorf("it must be a size of %s or more, as in 4GiB, 512MiB or 1000000", leastSize)
	}
	*s = size(bytes)
	return nil
}

// String implements pflag.Value.
func (s size) String() string {
	for shift, unit := range map[int]string{40: "TiB", 30: "GiB", 20: "MiB", 10: "KiB"} {
		if rest := s >> shift; rest > 0 && rest < 1024 && rest<<shift == s {
			return fmt.Sprintf("%d%s", rest, unit)
		}
	}
	return fmt.Sprint(int64(s))
}

// Type implements pflag.Value.
func (*size) Type() string { return "size" }
