package matcher_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/question"
)

func TestAnswersThatAQuestionOffersAreRead(t *testing.T) {
	_, offered, found := strings.Cut(question.Of(&repositories.Tool{Name: "t"}, nil, "do it"), "(")
	require.True(t, found)
	consent, refusal, _ := strings.Cut(strings.TrimSuffix(offered, ")"), " / ")
	yes, no := matcher.Consents(consent)
	require.True(t, yes && !no, consent)
	yes, no = matcher.Consents(refusal)
	require.True(t, no && !yes, refusal)
}
