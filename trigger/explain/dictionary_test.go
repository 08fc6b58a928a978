package explain

import (
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"earshot/trigger/shorttext"
)

func TestExplanationsOfThisBuildAndOfEarlierOnesAreRead(t *testing.T) {
	const text = `{"at":1795553166310,"stage":"offline","why":"Fired booking/book-table."}`
	for _, kept := range []string{compress([]byte(text)), string(s2.Encode(nil, []byte(text)))} {
		read, err := decompress(kept)
		require.NoError(t, err)
		require.Equal(t, text, string(read))
	}
	for _, faulty := range []string{"", shorttext.Mark, shorttext.Mark + "\xff\xff\xff", "{}", compress([]byte(text))[:9]} {
		_, err := decompress(faulty)
		require.Error(t, err, "%q", faulty)
	}
}

// TestTheDictionaryReadsStoredExplanations reads an explanation stored by an earlier build with the same mark.
func TestTheDictionaryReadsStoredExplanations(t *testing.T) {
	read, err := decompress(keptEarlier)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(read), `{"at":1795553166310,"stage":"llm"`), "%s", read)
}

const keptEarlier = "\x00\xb4\x01\xd1\xc2\x15\x0059h\x18name\":\"\xd9\xe1\x01\xbf\x15\x00E\b}]}"
