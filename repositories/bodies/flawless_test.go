package bodies

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bodies without a fault, and some with faults that only treeReader finds.
var flawless = []string{
	`{}`, ` [] `, `null`, `"a:\"{,\\"`, "{\"a\":\t1.0,\n\"A\":{\"a\":[1e2,-0,true,\"é\\u00e9\",{\"\":null}]}}", `{"a":{"b":1},"c":{"b":1}}`,
	strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), `{"a":"\ud83d\uDE00","\\ud800":"\\\\ud800"}`,
}

var flawed = []string{
	``, `{`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, "{\"\xff\":1}", `["\ud800"]`, `{"\uDFFF":1}`, `{} {}`, `[1e999999]`, `"a`, `"\`, `{"a":1,}`, `[1:2]`,
	strings.Repeat("[", maxNesting+2) + strings.Repeat("]", maxNesting+2), "[" + strings.Repeat("0,", maxValues) + "0]",
}

func TestOnlyFlawlessBodiesAreReadAtOnce(t *testing.T) {
	for _, body := range flawless {
		_, ok := readFlawless([]byte(body))
		require.True(t, ok, body)
	}
	for _, body := range flawed {
		_, ok := readFlawless([]byte(body))
		require.False(t, ok, "%.100s", body)
	}
}

func FuzzFlawlessBodiesAreReadAlike(f *testing.F) {
	for _, body := range append(flawless, flawed[:len(flawed)-1]...) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		tree, ok := readFlawless(body)
		want, faults, cut := readTokens(body)
		if ok {
			require.Empty(t, faults)
			require.Empty(t, cut)
			require.Equal(t, want, tree)
		}
	})
}
