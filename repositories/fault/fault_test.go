package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"earshot/repositories/fault"
)

func TestMostFaultsAreListedAndTheOthersCounted(t *testing.T) {
	t.Parallel()
	var list fault.List
	for i := range fault.Most + 7 {
		list.Add(fault.Point("tools", i), "is wrong")
	}
	list.Put(fault.New("/more", "is wrong"))
	require.True(t, list.Full())
	require.Equal(t, fault.Most+8, list.Count())
	listed, more := list.Coded()
	require.Len(t, listed, fault.Most)
	require.Equal(t, 8, more)
	require.Equal(t, fault.InvalidValue, listed[0].Code)
	require.Empty(t, list[0].Code, "Coded changes a copy")

	var whole fault.List
	whole.Add("/name", "is missing")
	whole.Join(list)
	require.Equal(t, fault.Most+9, whole.Count(), "a part brings its unlisted faults along")
	require.ErrorContains(t, whole.Err(), "/name: is missing; /tools/0: is wrong;")
	require.ErrorContains(t, whole.Err(), "and there are 9 more errors")
}

func TestNoFaultIsNoError(t *testing.T) {
	t.Parallel()
	var list fault.List
	list.Skip(0)
	list.Join(nil)
	require.NoError(t, list.Err())
	require.Zero(t, list.Count())
}

func TestPlaceIsAJSONPointer(t *testing.T) {
	t.Parallel()
	require.Empty(t, fault.Point())
	require.Equal(t, "/tools/3/a~1b~0c", fault.Point("tools", 3, "a/b~c"))
	require.Equal(t, "the whole body is wrong", fault.List{fault.New("", "the whole body is wrong")}.Error())
}

func TestUnknownWordMeansTheNearestKnownOne(t *testing.T) {
	t.Parallel()
	known := []string{"actor", "allowedValues", "description", "minValue", "required", "text", "url"}
	for word, meant := range map[string]string{
		"descripton": "description", "REQUIRED": "required", "requierd": "required", // letters
		"role": "actor", "enum": "allowedValues", "minimum": "minValue", "Content": "text", // other products
		"desc": "description", "values": "allowedValues", // parts
		"xyzzy": "", "": "", strings.Repeat("description", 50): "",
	} {
		found := fault.DidYouMean(word, known)
		require.Equal(t, meant, found.Suggestion, word)
		require.Equal(t, known, found.Allowed)
		require.Equal(t, fault.NotAllowed, found.Code)
		require.Equal(t, meant != "", found.String() != "")
	}
	require.Equal(t, `; did you mean "url"?`, fault.DidYouMean("ulr", known).String())
}

func TestManyKnownWordsAreNotAllListed(t *testing.T) {
	t.Parallel()
	known := make([]string, 10_000)
	for i := range known {
		known[i] = fmt.Sprint("tool-", i)
	}
	found := fault.DidYouMean("tool-17x", known)
	require.Len(t, found.Allowed, 100)
	require.Equal(t, "tool-17", found.Suggestion)
}

func TestFaultTakesTheMeantOfItsArguments(t *testing.T) {
	t.Parallel()
	made := fault.New("/a", "unknown field %q%s", "txet", fault.DidYouMean("txet", []string{"text"}))
	require.Equal(t, `unknown field "txet"; did you mean "text"?`, made.Detail)
	require.Equal(t, "text", made.Suggestion)
	require.EqualError(t, made, made.Detail)
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for limit := range 12 {
		cut := fault.Cut("Grüße, 世界", limit)
		require.LessOrEqual(t, len(cut), limit)
		require.True(t, utf8.ValidString(cut), "%d: %q", limit, cut)
	}
	require.Equal(t, "short", fault.Clip("short"))
	require.Equal(t, strings.Repeat("x", 80)+"…", fault.Clip(strings.Repeat("x", 81)))
}

func TestValueIsShownAsJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"5"`, fault.Show("5"))
	require.Equal(t, `5`, fault.Show(5))
	require.Equal(t, `"a<b"`, fault.Show("a<b"))
	require.Equal(t, `{"a":[null]}`, fault.Show(map[string]any{"a": []any{nil}}))
	require.NotEmpty(t, fault.Show(func() {}), "what is not JSON is shown all the same")
	require.Equal(t, `1, 2`, fault.ShowAll([]any{1, 2}))
	require.True(t, strings.HasSuffix(fault.ShowAll(make([]any, 13)), "null, …"))
	require.Equal(t, "a, b or c", fault.OneOf([]string{"a", "b", "c"}))
	require.Equal(t, "a", fault.OneOf([]string{"a"}))
	require.Empty(t, fault.OneOf[string](nil))
}

func TestEveryCodeIsDescribedOnce(t *testing.T) {
	t.Parallel()
	seen := map[fault.Code]bool{}
	for _, one := range fault.Codes {
		require.False(t, seen[one.Code], one.Code)
		require.NotEmpty(t, one.When)
		seen[one.Code] = true
	}
	for _, code := range []fault.Code{fault.InvalidValue, fault.UnknownField, fault.NotAllowed, fault.Missing, fault.WrongType, fault.NotSupported, fault.Malformed} {
		require.True(t, seen[code], code)
	}
}
