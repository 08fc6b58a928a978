package shorttext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger/shorttext"
)

const common = `{"triggerId":"","repositoryId":"","name":"","source":"message","state":"pending"}`

func TestATextIsReadAsItWasPacked(t *testing.T) {
	t.Parallel()
	d := shorttext.New(1<<20, common)
	for _, text := range []string{"x", common, strings.Repeat("a table for two; ", 5000), "\x00\x01\xff"} {
		packed := d.Pack([]byte(text))
		require.True(t, strings.HasPrefix(packed, shorttext.Mark))
		read, err := d.Unpack(packed)
		require.NoError(t, err)
		require.Equal(t, text, string(read))
	}
	require.Less(t, len(d.Pack([]byte(common))), len(common)/4, "it is in the dictionary")
}

func TestADamagedTextIsAnError(t *testing.T) {
	t.Parallel()
	packed := shorttext.New(1<<20, common).Pack([]byte(strings.Repeat("noon ", 100)))
	bounded := shorttext.New(499, common)
	for name, damaged := range map[string]string{
		"empty": "", "only the mark": shorttext.Mark, "another form": common, "cut off": packed[:len(packed)-1], "longer than allowed": packed,
		"said to be very long": shorttext.Mark + "\xff\xff\xff\xff\x0f", "no length": shorttext.Mark + "\xff",
	} {
		_, err := bounded.Unpack(damaged)
		require.Error(t, err, name)
	}
	_, err := shorttext.New(500, common).Unpack(packed)
	require.NoError(t, err)
}

func FuzzUnpack(f *testing.F) {
	d := shorttext.New(1<<10, common)
	f.Add(d.Pack([]byte(common)))
	f.Add(shorttext.Mark + "\x05\x00")
	f.Fuzz(func(t *testing.T, packed string) {
		if text, err := d.Unpack(packed); err == nil {
			require.LessOrEqual(t, len(text), 1<<10)
		}
	})
}
