package llm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

// The conversation as generateContent wants it: results of calls are a content of their
// own right after the calls, and rules that it does not take are said in words.
const geminiAsked = `{
  "systemInstruction": {"role": "user", "parts": [{"text": "RULES"}]},
  "tools": [{"functionDeclarations": [
    {"name": "book", "description": "User wants an appointment",
     "parametersJsonSchema": {"type": "object", "properties": {
       "day": {"type": "string", "description": "wished day (pattern ^[a-z]+$)"},
       "people": {"type": "integer", "minimum": 1, "maximum": 9007199254740993}}, "required": ["day"]}},
    {"name": "light-on", "parametersJsonSchema": {"type": "object", "properties": {}}}]}],
  "contents": [
    {"role": "user", "parts": [{"text": "(The conversation begins here.)"}]},
    {"role": "model", "parts": [{"text": "Hello."}]},
    {"role": "user", "parts": [{"text": "book monday"}]},
    {"role": "model", "parts": [
      {"functionCall": {"id": "EARLIER1", "name": "book", "args": {"day": "mon", "people": 9007199254740993}}},
      {"functionCall": {"id": "EARLIER2", "name": "light-on", "args": {}}}]},
    {"role": "user", "parts": [
      {"functionResponse": {"id": "EARLIER1", "name": "book", "response": {"output": {"id": 9007199254740995}}}},
      {"functionResponse": {"id": "EARLIER2", "name": "light-on", "response": {"error": "The call failed: HTTP 500"}}}]},
    {"role": "model", "parts": [{"text": "Booked."}]},
    {"role": "user", "parts": [
      {"text": "Current date and time: Friday, 2026-11-20, 09:30 CET (UTC+01:00)."},
      {"text": "  and \"tuesday\"\n"}]}
  ]
}`

// An answer as the API gives it: parallel calls, the first of them signed, no ids.
const geminiAnswered = `{
  "candidates": [{"content": {"role": "model", "parts": [
      {"text": "Two things.", "thought": true},
      {"text": "Let me see."},
      {"functionCall": {"name": "book", "args": {"people": 9007199254740993}}, "thoughtSignature": "c2ln-_w="},
      {"functionCall": {"name": "light-on", "args": {}}}]},
    "finishReason": "STOP", "index": 0, "safetyRatings": [{"category": "X", "probability": "NEGLIGIBLE"}], "avgLogprobs": -0.1}],
  "usageMetadata": {"promptTokenCount": 70, "candidatesTokenCount": 12, "totalTokenCount": 90, "thoughtsTokenCount": 8,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 70}]},
  "modelVersion": "m", "responseId": "r"
}`

func TestGeminiIsAskedInItsOwnForm(t *testing.T) {
	request := conversation(t)
	_, asked := geminiSpoken().match(t, request, geminiSpoken().text("none"))
	requireAsked(t, request, geminiAsked, asked[0].body)
}

func TestGeminisSecondTryHasItsSignatureAndResults(t *testing.T) {
	request := conversation(t)
	result, asked := geminiSpoken().match(t, request, geminiAnswered, geminiSpoken().calls([2]string{"book", `{"day":"tue"}`}))
	require.Equal(t, []string{`book {"day":"tue"}`, "light-on {}"}, matchertest.Fired(result))
	contents := decoded(t, asked[1].body).(map[string]any)["contents"].([]any)
	added := contents[len(contents)-2:]
	ids := map[string]string{}
	for i, part := range added[0].(map[string]any)["parts"].([]any)[1:] {
		ids[part.(map[string]any)["functionCall"].(map[string]any)["id"].(string)] = fmt.Sprintf("MADE%d", i+1)
	}
	require.Len(t, ids, 2)
	require.Equal(t, decoded(t, `[
	  {"role": "model", "parts": [
	    {"text": "Let me see."},
	    {"functionCall": {"id": "MADE1", "name": "book", "args": {"people": 9007199254740993}}, "thoughtSignature": "c2ln-_w="},
	    {"functionCall": {"id": "MADE2", "name": "light-on", "args": {}}}]},
	  {"role": "user", "parts": [
	    {"functionResponse": {"id": "MADE1", "name": "book", "response": {"error": "Not accepted: day: is required. Call the tool again with this put right from what the conversation says. Leave out what nobody said; do not invent it."}}},
	    {"functionResponse": {"id": "MADE2", "name": "light-on", "response": {"output": "Accepted. Do not repeat this call."}}}]}
	]`), renamed(any(added), ids))
}

// TestCallsThatGeminiDidNotSignAreSentAsUnsigned holds what models from Gemini 3 on
// answer with 400: "Function call is missing a thought_signature". Older turns are not
// checked, nor are older models.
func TestCallsThatGeminiDidNotSignAreSentAsUnsigned(t *testing.T) {
	for model, want := range map[string]int{"gemini-3.5-flash": 1, "gemini-flash-latest": 1, "gemini-10-pro": 1, "gemini-2.5-flash": 0, "gemini-1.5-pro": 0, "m": 0} {
		e := newEndpoint(t, geminiSpoken().text("ok"))
		options := geminiSpoken().options(e)
		options.Gemini.Model = model
		_, err := llm.New(options).Reply(t.Context(), conversation(t), []matcher.PastCall{{TriggerID: "t8", Name: "book"}, {TriggerID: "t9", Name: "light-on"}})
		require.NoError(t, err)
		body := decoded(t, e.questions()[0].body)
		require.Equal(t, want, countMember(body, "thoughtSignature"), model)
		contents := body.(map[string]any)["contents"].([]any)
		first := contents[len(contents)-2].(map[string]any)["parts"].([]any)[0].(map[string]any)
		if want > 0 {
			require.Equal(t, "skip_thought_signature_validator", first["thoughtSignature"])
		}
		require.NotContains(t, body, "tools")
		require.NotContains(t, body, "toolConfig")
	}
}

func TestVertexIsAskedAtItsOwnPlaceWithAKey(t *testing.T) {
	for suffix, want := range map[string]string{
		"/v1/projects/clinic/locations/europe-west4":  "/v1/projects/clinic/locations/europe-west4/publishers/google/models/m:generateContent",
		"/projects/clinic/locations/global/":          "/v1beta1/projects/clinic/locations/global/publishers/google/models/m:generateContent",
		"/v1beta1/projects/clinic-2/locations/global": "/v1beta1/projects/clinic-2/locations/global/publishers/google/models/m:generateContent",
	} {
		e := newEndpoint(t, geminiSpoken().calls([2]string{"book", `{"day":"mon","people":9007199254740993}`}))
		options := geminiSpoken().options(e)
		options.Gemini.BaseURL += suffix
		request := conversation(t)
		result, err := llm.New(options).Match(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, []string{`book {"day":"mon","people":9007199254740993}`}, matchertest.Fired(result))
		require.Equal(t, want, e.questions()[0].path)
		require.Equal(t, matchertest.Key, e.questions()[0].header.Get("X-Goog-Api-Key"))
		requireAsked(t, request, geminiAsked, e.questions()[0].body)
	}
}

func TestModelsOfGeminiMayBePathsOfTheProvider(t *testing.T) {
	for suffix, paths := range map[string]map[string]string{
		"": {"m": "models/m", "models/m": "models/m", "tunedModels/m": "tunedModels/m"},
		"/v1beta/projects/p/locations/l": {
			"m": "projects/p/locations/l/publishers/google/models/m", "meta/llama": "projects/p/locations/l/publishers/meta/models/llama",
			"publishers/meta/models/llama":       "projects/p/locations/l/publishers/meta/models/llama",
			"projects/q/locations/r/endpoints/7": "projects/q/locations/r/endpoints/7", "models/m": "projects/p/locations/l/models/m",
		},
	} {
		for model, want := range paths {
			e := newEndpoint(t, geminiSpoken().text("none"))
			options := geminiSpoken().options(e)
			options.Gemini.BaseURL, options.Gemini.Model = options.Gemini.BaseURL+suffix, model
			_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
			require.NoError(t, err)
			require.Equal(t, "/v1beta/"+want+":generateContent", e.questions()[0].path)
		}
	}
}

func TestModelThatWouldLeaveItsPathIsNotAskedFor(t *testing.T) {
	for _, model := range []string{"../../upload", "m?alt=sse", "m#", "m%2e%2e"} {
		options := geminiSpoken().options(newEndpoint(t))
		options.Gemini.Model = model
		require.Contains(t, unavailable(t, options).Reason, "is no name of a model")
	}
}

func TestVertexWithoutAKeyTakesGooglesCredentials(t *testing.T) {
	tokens := newEndpoint(t)
	tokens.replies = []answer{{header: jsonHeader, body: `{"access_token":"ya29.planted","token_type":"Bearer","expires_in":3600}`}}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", serviceAccount(t, tokens.server.URL))
	e := newEndpoint(t, geminiSpoken().text("none"), geminiSpoken().text("none"))
	llm := llm.New(llm.Options{Gemini: llm.Config{BaseURL: e.server.URL + "/v1/projects/p/locations/l"}})
	for range 2 {
		_, err := llm.Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
		require.NoError(t, err)
	}
	require.Len(t, tokens.questions(), 1, "the token is kept")
	require.Equal(t, "Bearer ya29.planted", e.questions()[1].header.Get("Authorization"))
	require.Empty(t, e.questions()[1].header.Get("X-Goog-Api-Key"))
}

func TestVertexWithoutAnyCredentialsIsUnavailable(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none.json")
	e := newEndpoint(t)
	reason := unavailable(t, llm.Options{Gemini: llm.Config{BaseURL: e.server.URL + "/v1/projects/p/locations/l"}}).Reason
	require.Contains(t, reason, "credentials")
	require.Empty(t, e.questions())
}

func TestVertexByItsHostTakesAKeyAlone(t *testing.T) {
	recorded := &recorder{}
	options := llm.Options{Gemini: llm.Config{Key: secret.New(matchertest.Key), BaseURL: "https://aiplatform.googleapis.com"}}
	options.HTTPClient = recorded.client()
	unavailable(t, options)
	require.Equal(t, matchertest.Key, recorded.header.Get("X-Goog-Api-Key"))
	require.Equal(t, "/v1beta1/publishers/google/models/gemini-3.5-flash-lite:generateContent", recorded.path)
}

func TestGeminiIsShownTheSubsetOfSchemasThatItTakes(t *testing.T) {
	tool := `{"name":"pay","parameters":{"type":"object","$defs":{"money":{"type":"number","exclusiveMinimum":0,"multipleOf":0.01}},"properties":{
		"amount":{"$ref":"#/$defs/money","description":"how much"},
		"when":{"type":"string","format":"date-time","default":"now"},
		"mail":{"type":"string","format":"email","minLength":3},
		"sure":{"type":"boolean","const":true},
		"kind":{"enum":["a",7]},"odd":{"enum":["a",null]},
		"list":{"type":"array","minItems":1,"uniqueItems":true,"items":{"type":"string","pattern":"^x"}},
		"either":{"anyOf":[{"type":"string","maxLength":4},{"not":{"type":"null"}}]}},
		"if":{"required":["mail"]},"then":{"required":["kind"]}}}`
	_, asked := geminiSpoken().match(t, matchertest.Request(t, "x", tool), geminiSpoken().text("none"))
	schema := geminiSpoken().tools(decoded(t, asked[0].body).(map[string]any))[0].(map[string]any)["parametersJsonSchema"]
	require.Equal(t, decoded(t, `{"type":"object","$defs":{"money":{"type":"number","description":"(exclusiveMinimum 0, multipleOf 0.01)"}},"properties":{
		"amount":{"$ref":"#/$defs/money"},
		"when":{"type":"string","format":"date-time","description":"(default now)"},
		"mail":{"type":"string","description":"(format email, minLength 3)"},
		"sure":{"type":"boolean","description":"(const true)"},
		"kind":{"enum":["a",7]},"odd":{"description":"(enum [\"a\",null])"},
		"list":{"type":"array","minItems":1,"description":"(uniqueItems true)","items":{"type":"string","description":"(pattern ^x)"}},
		"either":{"anyOf":[{"type":"string","description":"(maxLength 4)"},{}]}}}`), schema)
}
