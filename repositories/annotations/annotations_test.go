package annotations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/annotations"
)

// all keeps every mark, with its words as value.
func all(_, words string) (any, bool) { return words, true }

func none(string, string) (any, bool) { return nil, false }

func TestExamplesAreReadInPlainWords(t *testing.T) {
	for given, want := range map[string]struct {
		text  string
		marks []string
	}{
		`a table for [two](people) at [noon](time)`: {"a table for two at noon", []string{"people=two", "time=noon"}},
		`[two](people)`:                  {"two", []string{"people=two"}},
		`nothing is marked`:              {"nothing is marked", nil},
		``:                               {"", nil},
		`[Zürich](stadt), bitte`:         {"Zürich, bitte", []string{"stadt=Zürich"}},
		`for [ two ](people) of us`:      {"for  two  of us", []string{"people=two"}},
		`[](people) come`:                {" come", []string{"people="}},
		`[x](filter[name](a))`:           {"x", []string{"filter[name](a)=x"}},
		`press [Esc], then [OK](button)`: {"press [Esc], then OK", []string{"button=OK"}},
		`[a [b](x) c](y)`:                {"[a b c](y)", []string{"x=b"}},
		`[two] (people)`:                 {"[two] (people)", nil},
		`[two](people`:                   {"[two](people", nil},
		`two](people)`:                   {"two](people)", nil},
		`\[two](people) and \x`:          {`[two](people) and \x`, nil},
		`[two](` + strings.Repeat("x", 300) + `)`: {`[two](` + strings.Repeat("x", 300) + `)`, nil},
	} {
		read := annotations.Parse(given, all)
		require.Equal(t, want.text, read.Text, given)
		var found []string
		for _, one := range read.Marks {
			require.Equal(t, one.Value, read.Words(one), given)
			found = append(found, one.Parameter+"="+read.Words(one))
		}
		require.Equal(t, want.marks, found, given)
		require.Equal(t, want.text, annotations.Plain(given))
	}
}

func TestAMarkThatIsNotKeptStaysAsItWas(t *testing.T) {
	read := annotations.Parse("see [here](https://h/a), [two](people)", func(name, words string) (any, bool) { return 2, name == "people" })
	require.Equal(t, "see [here](https://h/a), two", read.Text)
	require.Equal(t, []annotations.Mark{{Parameter: "people", From: 25, To: 28, Value: 2}}, read.Marks)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a table for [two](people) at [noon](time)", "[[a](b)](c)", `\[a](b)`, "[a](", "](b)", "[ ]( )", strings.Repeat("[a](", 50), "[é](ü)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		read := annotations.Parse(given, all)
		require.LessOrEqual(t, len(read.Text), len(given))
		end := 0
		for _, one := range read.Marks {
			require.GreaterOrEqual(t, one.From, end, given)
			require.GreaterOrEqual(t, one.To, one.From, given)
			require.Equal(t, one.Value, read.Words(one), given)
			end = one.To
		}
		if kept := annotations.Parse(given, none); !strings.Contains(given, `\[`) {
			require.Equal(t, given, kept.Text, "what is not kept stays")
		}
	})
}
