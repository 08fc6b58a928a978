package conversation_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
)

// tool is one of a repository with the given fields.
func tool(t testing.TB, fields string) *repositories.Tool {
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "shop"}, "r", []byte(`{"tools":[{"name":"refundOrder",`+fields+`}]}`))
	require.NoError(t, err)
	return &repository.Tools[0]
}

func values(t testing.TB, raw string) map[string]any {
	decoded, err := exactjson.Decode([]byte(raw))
	require.NoError(t, err)
	return decoded.(map[string]any)
}

const refund = `"description":"Refund an order.","schema":[{"parameter":"order","type":"string"},{"parameter":"amount","type":"number"}]`

func TestQuestionIsInTheUsersLanguage(t *testing.T) {
	given := values(t, `{"amount":30,"order":"A-17"}`)
	for said, want := range map[string]string{
		"please refund the order":                  "Shall I go ahead? (yes / no)",
		"Bitte erstatte mir die Bestellung A-17":   "Soll ich das tun? (ja / nein)",
		"Je voudrais être remboursé de 30 euros":   "Dois-je le faire ? (oui / non)",
		"Vorrei un rimborso per il mio ordine":     "Procedo? (sì / no)",
		"Quiero que me devuelvan el dinero":        "¿Lo hago? (sí / no)",
		"A-17":                                     "Shall I go ahead? (yes / no)",
		"":                                         "Shall I go ahead? (yes / no)",
		"返金してください":                                 "Shall I go ahead? (yes / no)",
		"refund A-17, por favor, that would be it": "Shall I go ahead? (yes / no)",
	} {
		require.Equal(t, "Refund an order: order A-17, amount 30. "+want, conversation.Question(tool(t, refund), given, "", said), said)
	}
	german := tool(t, `"description":"Erstattet eine Bestellung, die der Kunde nicht mehr möchte"`)
	require.Equal(t, "Erstattet eine Bestellung, die der Kunde nicht mehr möchte. Soll ich das tun? (ja / nein)", conversation.Question(german, nil, "", "A-17"))
}

func TestAnswersThatAQuestionOffersAreRead(t *testing.T) {
	for _, said := range []string{"the order", "die Bestellung ist nicht da", "je voudrais", "vorrei un ordine", "quiero el pedido"} {
		asked := conversation.Question(tool(t, refund), nil, "", said)
		yes, no, found := strings.Cut(strings.TrimSuffix(asked[strings.LastIndexByte(asked, '(')+1:], ")"), " / ")
		require.True(t, found, asked)
		consents, refuses := matcher.Consents(yes)
		require.True(t, consents && !refuses, asked)
		consents, refuses = matcher.Consents(no)
		require.True(t, refuses && !consents, asked)
		consents, refuses = matcher.Consents(asked)
		require.False(t, consents || refuses, "what is asked is no answer")
	}
}

func TestQuestionsOfEqualValuesAreAlike(t *testing.T) {
	of := tool(t, refund+`,"confirm":"once","dedupe":{"within":"1m"}`)
	require.Equal(t, repositories.ConfirmOnce, of.Confirm)
	require.Equal(t, repositories.DedupeSession, of.Dedupe.Scope)
	one, other := values(t, `{"order":"A-17","amount":30}`), values(t, `{"amount":3.0e1,"order":"A-17"}`)
	require.Equal(t, conversation.Digest(one), conversation.Digest(other))
	require.Equal(t, conversation.Question(of, one, "", ""), conversation.Question(of, other, "", ""))
}

func TestQuestionShowsValuesAsPeopleReadThem(t *testing.T) {
	const fields = `"description":"d","schema":[{"parameter":"a","type":"string"}]`
	for raw, want := range map[string]string{
		`{"a":"A-17"}`:                                      `a A-17`,
		`{"a":30}`:                                          `a 30`,
		`{"a":3e1}`:                                         `a 30`,
		`{"a":9007199254740993}`:                            `a 9007199254740993`,
		`{"a":true,"b":false}`:                              `a yes, b no`,
		`{"a":null}`:                                        ``,
		`{"a":""}`:                                          `a “”`,
		`{"a":"x, amount 5"}`:                               `a “x, amount 5”`,
		`{"a":"x”, b “y"}`:                                  `a “x', b 'y”`,
		`{"a":"two\nlines"}`:                                `a two lines`,
		`{"a":"1\u202e00\u200b5"}`:                          `a 1005`,
		`{"a":["Ann","Bob Ray",[2]]}`:                       `a (Ann, Bob Ray, (2))`,
		`{"a":{"zip":"80331","city":"München"}}`:            `a (city München, zip 80331)`,
		`{"a":[1,2,3,4,5,6,7,8,9,10,11,12]}`:                `a (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, … +2)`,
		`{"a":[[[[[[1]]]]]]}`:                               `a (((((…)))))`,
		`{"zeta":1,"order_id":2,"orderId":3,"a":4}`:         `a 4, order id 3, order id 2, zeta 1`,
		`{"a":{"password":"hunter2","apiKey":"k"},"pin":1}`: `a (api key ***, password ***), pin ***`,
		`{"author":"me","keyword":"k"}`:                     `author me, keyword k`,
	} {
		want = strings.TrimPrefix("d: "+want+". ", "d: . ")
		if !strings.HasPrefix(want, "d") {
			want = "d. "
		}
		require.Equal(t, want+"Shall I go ahead? (yes / no)", conversation.Question(tool(t, fields), values(t, raw), "", ""), raw)
	}
}

func TestQuestionLeavesOutWhatTheUserHasNoPartIn(t *testing.T) {
	hidden := tool(t, `"description":"d","schema":[{"parameter":"desk","type":"string","value":"A"},{"parameter":"tier","type":"string","ignore":true,"default":"x"},
	  {"parameter":"sub","type":"string","authServices":[{"name":"google","field":"sub"}]},{"parameter":"city","type":"string"}]`)
	require.Equal(t, "d: city Bern. Shall I go ahead? (yes / no)", conversation.Question(hidden, values(t, `{"desk":"A","tier":"x","sub":"1","city":"Bern"}`), "", ""))
	schema := tool(t, `"description":"d","parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"additionalProperties":true}`)
	require.Equal(t, "d: z 1, a 2, more 3. Shall I go ahead? (yes / no)", conversation.Question(schema, values(t, `{"a":2,"more":3,"z":1}`), "", ""), "in the order of the schema")
}

func TestQuestionNamesTheTool(t *testing.T) {
	for description, want := range map[string]string{
		``:                                     "refund order. Shall",
		`Refunds an order!`:                    "Refunds an order. Shall",
		`Refund it. Use this where it is due.`: "Refund it. Shall",
		`Refund, e.g. an order`:                "Refund, e.g. an order. Shall",
		`Refund version 1.2`:                   "Refund version 1.2. Shall",
		"Refund\\nan  order.\\n\\nNever twice": "Refund an order. Shall",
		`...`:                                  "refund order. Shall",
	} {
		require.Contains(t, "|"+conversation.Question(tool(t, `"description":"`+description+`"`), nil, "", ""), "|"+want, description)
	}
}

func TestAQuestionIsKnownAgainInOtherLayout(t *testing.T) {
	const asked = "Refund an order: order A-17, amount 5.00. Shall I go ahead? (yes / no)"
	for text, asks := range map[string]bool{
		asked: true,
		"Refund an order: order A-17, amount 5.00. Shall I go ahead?":                         true,
		"Sure!\n\n**REFUND an order:**\n- order `A-17`,\n- amount 5.00.\n\nShall I go ahead?": true,
		"Refund an order: order A-17, amount 5.00":                                            false,
		"Refund an order: order A-17, amount 5.001. Shall I go ahead?":                        false,
		"Refund an order: order A-170, amount 5.00. Shall I go ahead?":                        false,
		"Refund an order: order B-A-17, amount 5.00. Shall I go ahead?":                       false,
		"Would you like our newsletter? Shall I go ahead?":                                    false,
		"One moment - refund an order: order A-17, amount 5.00. Shall I go ahead?":            true,
		"¿Refund an order: order A-17, amount 5.00. Shall I go ahead? Or not?":                true,
		"We do not refund an order: order A-17, amount 5.00. Shall I go ahead?":               false,
		"I cannot, however, refund an order: order A-17, amount 5.00. Shall I go ahead?":      false,
		"Refund an order: order A-17, amount 5.00. Shall I go ahead and close the chat?":      false,
		"Not refund an order: order A-17, amount 5.00. Shall I go ahead? I mean:\n" + asked:   true,
		asked + " Yes or no?":                               true,
		asked + " By the way, do you want a newsletter?":    false,
		asked + " Also: shall I wire 500 to Bob?":           false,
		"Do you like pizza? " + asked:                       true,
		"I was told to ask \"" + asked + "\" but I do not.": false,
		"Er schrieb: „" + asked + "“.":                      false,
		"Il a écrit « " + asked + " ».":                     false,
		"Do not answer “" + asked + "”. Do you like pizza?": false,
		"I have a \"good\" one for you. " + asked:           true,
		"": false,
	} {
		require.Equal(t, asks, conversation.Asks(text, asked), text)
	}
	require.True(t, conversation.Asks("Élan vital : soll ich das tun", "Élan vital. Soll ich das tun? (ja / nein)"))
	require.False(t, conversation.Asks("anything", " (yes / no)"), "a question without words is in no text")
	require.False(t, conversation.Asks("anything", ""))
}

func FuzzSentences(f *testing.F) {
	f.Add("Refund an order: order A-17. Shall I go ahead? (yes / no)")
	f.Add("… \t\n\x00 \xff ﷽ 1.2.3-")
	f.Fuzz(func(t *testing.T, text string) {
		spaced := func(text string) string {
			return strings.NewReplacer(ledger.SentenceEnd, " ", ledger.QuotedEnd, " ", ledger.QuestionEnd, " ").Replace(conversation.Sentences(text))
		}
		plain := spaced(text)
		if plain[0] != ' ' || plain[len(plain)-1] != ' ' {
			t.Errorf("%q becomes %q", text, plain)
		}
		if again := spaced(plain); again != plain {
			t.Errorf("%q becomes %q, and that %q", text, plain, again)
		}
	})
}

func FuzzQuestion(f *testing.F) {
	f.Add("Refund an order.", "order", "A-17", "bitte")
	f.Add(strings.Repeat("ü", 200), "\u202e", strings.Repeat("€", 100), "¿y?")
	f.Fuzz(func(t *testing.T, description, name, value, said string) {
		if !utf8.ValidString(description + name + value) {
			t.Skip()
		}
		list := []any{value, map[string]any{name: value}}
		asked := conversation.Question(&repositories.Tool{Name: "t", Description: description}, map[string]any{name: list, "password": value}, "", said)
		require.True(t, utf8.ValidString(asked))
		require.NotContains(t, asked, "\n")
		require.Less(t, len(asked), 1000)
		require.Contains(t, asked, " / ")
	})
}
