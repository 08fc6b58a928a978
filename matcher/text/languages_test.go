package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryListHasItsNameInTheFilesOfLanguages(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "lists.go", nil, 0)
	require.NoError(t, err)
	var names []string
	for _, declaration := range file.Decls {
		if constants, is := declaration.(*ast.GenDecl); is && constants.Lparen.IsValid() && constants.Tok == token.CONST {
			for _, constant := range constants.Specs {
				names = append(names, constant.(*ast.ValueSpec).Names[0].Name)
			}
			break
		}
	}
	require.Equal(t, names[:lists], listNames)
	require.Panics(t, func() { listOf("Stopwords") })
}

func TestTablesOfLanguagesHoldWordsAsTextsAreRead(t *testing.T) {
	valued := map[List]bool{
		Months: true, Weekdays: true, ShortWeekdays: true, NearDays: true, NamedHours: true, DayParts: true,
		DayUnits: true, DayShifts: true, BesideDays: true, WeekLater: true, HalfHours: true,
		NumberWords: true, Numbers: true, Ordinals: true, DayOrdinals: true, GroupWords: true, Scales: true, contractions: true, holding: true,
	}
	for i, table := range languages {
		for list, words := range table.words {
			for _, one := range entries(words) {
				word, value, has := strings.Cut(one, "=")
				require.Equal(t, Fold(word), word, "language %d, list %d: no capitals, no accents", i, list)
				require.Equal(t, valued[list], has && value != "", "language %d, list %d: %s", i, list, one)
			}
		}
	}
}

func TestNumbersOfACalendarAreWhole(t *testing.T) {
	for i, table := range languages {
		for list, most := range map[List]int{Months: 12, Weekdays: 6} {
			seen := map[int]bool{}
			for _, one := range entries(table.words[list]) {
				word, _, _ := strings.Cut(one, "=")
				number, ok := list.Number(word)
				require.True(t, ok && number <= most, word)
				seen[number] = true
			}
			require.Len(t, seen, map[List]int{Months: 12, Weekdays: 7}[list], "language %d", i)
		}
	}
}

func TestWordsOfElisionsAndContractionsHaveTheirPlaces(t *testing.T) {
	for said, want := range map[string]string{
		"l'absence d'Anna": "l' absence d' Anna", "all’Aquila": "all’ Aquila", "don't": "don't don't", "aujourd'hui": "aujourd'hui",
		"order id 5": "order id 5", "id like it": "id id like it",
	} {
		var places []string
		for _, w := range Split(said) {
			places = append(places, said[w.Start:w.End])
		}
		require.Equal(t, want, strings.Join(places, " "), said)
	}
}

func TestTheExpectedLanguageDecidesWhereWordsDoNot(t *testing.T) {
	for preferred, want := range map[string]string{"de": "de", "de-AT": "de", "de_AT": "de", "FR": "fr", "ja": "", "": ""} {
		require.Equal(t, want, LanguageIn("1.500", preferred), preferred)
	}
	require.Equal(t, mixed, LanguageIn("please send 1.500", "de-AT"))
}
