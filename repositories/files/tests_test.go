package files_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/fault"
	"earshot/repositories/files"
)

func TestATestOfABodyIsReadAsThatOfAFile(t *testing.T) {
	t.Parallel()
	test, err := files.ReadTest("a day", []byte(`{"now":"2026-11-20T09:30:00+01:00","tools":"book","chat":[
		{"user":"on ${DAY}","expect":[{"tool":"book","values":{"day":"Monday"}}]},{"agent":"fine"},{"user":"thanks"},{"expect":{"none":true}}]}`))
	require.NoError(t, err)
	require.Equal(t, "a day", test.Name)
	require.Equal(t, []string{"book"}, test.Tools)
	require.Equal(t, "on ${DAY}", test.Chat[0].Text, "nothing is filled in")
	require.Equal(t, "book", test.Chat[0].Expect[0].Tool)
	require.True(t, test.Chat[2].Expect[0].None)
	require.Equal(t, 9, test.Now.Hour())
}

func TestFaultsOfATestOfABodyHavePointers(t *testing.T) {
	t.Parallel()
	for body, pointers := range map[string][]string{
		`{`: {""}, `[]`: {""}, `{}`: {""}, `{"chat":[]}`: {"/chat"}, `{"chat":["hello"]}`: {"/chat/0"},
		`{"chat":[{"user":""},{"expect":{"none":false}},{"expect":{"tool":"a","vals":{}}}],"timeZone":"Mars"}`: {"/chat/0/user", "/chat/1/expect", "/chat/1/expect/none", "/chat/2/expect/vals", "/timeZone"},
	} {
		_, err := files.ReadTest("t", []byte(body))
		var faults fault.List
		require.ErrorAs(t, err, &faults, body)
		var found []string
		for _, one := range faults {
			found = append(found, one.Pointer)
			require.NotContains(t, one.Detail, "test \"t\"")
		}
		require.ElementsMatch(t, pointers, found, body)
	}
}
