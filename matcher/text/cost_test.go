package text_test

import (
	"testing"

	"earshot/matcher/text"
)

func BenchmarkSplit(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		text.Split("I'd like a table for two next Friday evening at the Trattoria, but don't seat us by the door")
	}
}
