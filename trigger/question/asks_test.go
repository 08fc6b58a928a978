package question_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger/question"
)

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
		"": false,
	} {
		require.Equal(t, asks, question.Asks(text, asked), text)
	}
	require.True(t, question.Asks("Élan vital : soll ich das tun", "Élan vital. Soll ich das tun? (ja / nein)"))
	require.False(t, question.Asks("anything", " (yes / no)"), "a question without words is in no text")
	require.False(t, question.Asks("anything", ""))
}

func FuzzPlain(f *testing.F) {
	f.Add("Refund an order: order A-17. Shall I go ahead? (yes / no)")
	f.Add("… \t\n\x00 \xff ﷽ 1.2.3-")
	f.Fuzz(func(t *testing.T, text string) {
		plain := question.Plain(text)
		if plain[0] != ' ' || plain[len(plain)-1] != ' ' {
			t.Errorf("%q becomes %q", text, plain)
		}
		if again := question.Plain(plain); again != plain {
			t.Errorf("%q becomes %q, and that %q", text, plain, again)
		}
	})
}
