package emitter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAServerAllowsIsComparedWithWhatIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		given           *allowance
		needed, missing []string
	}{
		{"nothing is said", nil, []string{"a.>"}, nil},
		{"only denials", &allowance{Deny: []string{"b.>"}}, []string{"a.>"}, nil},
		{"the same", &allowance{Allow: []string{"a.*.>"}}, []string{"a.*.>"}, nil},
		{"more", &allowance{Allow: []string{"a.>", "*.b"}}, []string{"a.*.c", "c.b", "a.>"}, nil},
		{"less", &allowance{Allow: []string{"a.b.>", "c.*"}}, []string{"a.>", "a.*.c", "c.>", "c", "c.d.e"}, []string{"a.>", "a.*.c", "c.>", "c", "c.d.e"}},
		{"a part is denied", &allowance{Allow: []string{">"}, Deny: []string{"a.b.c"}}, []string{"a.>", "a.*.c", "a.b", "b.>"}, []string{"a.>", "a.*.c"}},
		{"all is denied", &allowance{Deny: []string{">"}}, []string{"a"}, []string{"a"}},
	} {
		require.Equal(t, c.missing, c.given.lacks(c.needed), c.name)
	}
}
