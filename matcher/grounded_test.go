package matcher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llmtest"
)

const groundedTool = `{"name":"fly","description":"User wants to fly","schema":[
	{"parameter":"city","type":"string","required":true,"grounded":true},{"parameter":"class","type":"string"}]}`

func TestUngroundedValueGoesBackAndIsRejected(t *testing.T) {
	result, server := matchOne(t, llmRequest(t, "book me a flight", groundedTool),
		llmtest.Call("fly", `{"city":"Paris","class":"economy"}`),
		llmtest.Call("fly", `{"city":"Paris"}`))
	require.Empty(t, result.Matches)
	require.Equal(t, "city", result.Rejected[0].Errors[0].Parameter)
	messages := server.Requests()[1].Messages
	require.Contains(t, messages[len(messages)-1].Content, "Paris")
}

func TestGroundedValueFires(t *testing.T) {
	result, _ := matchOne(t, llmRequest(t, "book me a flight to PARIS", groundedTool), llmtest.Call("fly", `{"city":"Paris","class":"economy"}`))
	require.Equal(t, []string{`fly {"city":"Paris","class":"economy"}`}, fired(result), "a value that need not be grounded may come from anywhere")
}

func TestMatchesSayWhereTheirValuesWereSaid(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("fly", `{"city":"Paris","class":"economy"}`))
	request := llmRequest(t, "yes, do that", groundedTool)
	request.History = []matcher.Utterance{{ID: "m7", Actor: matcher.ActorUser, Text: "I want to go to París"}}
	result, err := matcher.New(llmOptions(server)).Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, map[string]*matcher.Evidence{"city": {MessageID: "m7", Words: "París"}, "class": nil}, result.Matches[0].Evidence)
}
