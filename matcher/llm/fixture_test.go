package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

func llmOptions(server *llmtest.Server) llm.Options {
	return llm.Options{BaseURL: server.URL(), Key: secret.New(matchertest.Key), Model: "test-model"}
}

func newLLM(server *llmtest.Server) *llm.LLM { return llm.New(llmOptions(server)) }

// matchOne scripts the replies and matches one message against them.
func matchOne(t *testing.T, request matcher.Request, replies ...llmtest.Reply) (matcher.Result, *llmtest.Server) {
	t.Helper()
	server := llmtest.New(t)
	server.Queue(replies...)
	result, err := newLLM(server).Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, len(replies), server.Count(), "requests")
	return result, server
}
