package values_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/datetime"
	"earshot/matcher/matchertest"
	"earshot/matcher/values"
)

func read(t *testing.T, tool, text string) map[string]any {
	t.Helper()
	return values.Of(datetime.NewText(text, matchertest.Friday), matchertest.InScope(t, matchertest.Scope, "r", tool)[0].Tool).Values
}

type expected map[string]map[string]any // by text

func (e expected) of(t *testing.T, tool string) {
	t.Helper()
	for text, want := range e {
		require.Equal(t, want, read(t, tool, text), text)
	}
}

const playTool = `{"name":"play","schema":[{"parameter":"title","type":"string"},{"parameter":"artist","type":"string"}],"examples":[
	"play [Waterloo](title)","play [Thriller](title) by [Michael Jackson](artist)","put on something by [Queen](artist)","the song [Help](title) please"]}`

func TestMarkedValuesAreReadWhereTheyAreSaidAgain(t *testing.T) {
	expected{
		"I would love to hear Waterloo":            {"title": "Waterloo"},
		"michael jackson again":                    {"artist": "michael jackson"},
		"it was at the battle of Waterloo Station": {},
		"help me": {},
	}.of(t, playTool)
}

func TestValuesAreReadBetweenTwoKnownWords(t *testing.T) {
	expected{
		"play Wonderwall":                      {"title": "Wonderwall"},
		"play Wonderwall by Oasis":             {"title": "Wonderwall", "artist": "Oasis"},
		"put on something by Abba please":      {"artist": "Abba"},
		"could you play the song Hello, Adele": {},
	}.of(t, playTool)
}

func TestOneKnownWordAloneBringsNoValue(t *testing.T) {
	expected{
		"play it":                      {},
		"play something":               {},
		"play the guitar at the party": {},
		"Purple Rain by all means":     {},
		"stand by me":                  {},
	}.of(t, playTool)
}
