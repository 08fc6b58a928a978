package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestWhatRaceSkipsIsFound(t *testing.T) {
	found, err := findUnraced(fstest.MapFS{
		"matcher/a_test.go": {Data: []byte("func TestSkips(t *testing.T) {\n\tunraced.Only(t)\n}\n\nfunc TestRuns(t *testing.T) {\n}\n" +
			"func TestDoesLess(t *testing.T) {\n\tif unraced.Raced {\n\t}\n}\n")},
		"matcher/b_test.go": {Data: []byte("func TestRunsToo(t *testing.T) {\n}\n")},
		"store/a_test.go":   {Data: []byte("func TestStores(t *testing.T) {\n\tredistest.Each(t, func() {})\n}\n")},
		"matcher/a.go":      {Data: []byte("func TestNothing() { unraced.Only(t) }\n")},
	})
	require.NoError(t, err)
	require.Equal(t, unraced{names: []string{"TestSkips", "TestDoesLess"}, packages: []string{"./matcher"}, embedded: []string{"./store"}}, found)
}
