package llm_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

func geminiSpoken() spoken {
	return spoken{
		name: "gemini", model: "gemini-3.5-flash-lite", keyIn: "X-Goog-Api-Key", path: "/v1beta/models/m:generateContent",
		set:  func(o *llm.Options, p llm.Config) { o.Gemini = p },
		call: `{"functionCall":{"id":"c%d","name":%q,"args":%s}}`,
		called: `{"candidates":[{"content":{"role":"model","parts":[CALLS]},"finishReason":"STOP","index":0}],
			"usageMetadata":{"promptTokenCount":120,"cachedContentTokenCount":100,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":129}}`,
		said:  `{"candidates":[{"content":{"parts":[{"text":%q}]},"finishReason":"STOP"}]}`,
		whole: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"book","args":{"day":"mon"}}}]},"finishReason":"%s"}]}`,
		cut:   "MAX_TOKENS", blocked: "SAFETY",
		none: `{"candidates":[]}`, says: "no candidates",
		bad: `{"candidates":[{"content":{"parts":[{"functionCall":{"args":{}}}]}}]}`,
	}
}

// The conversation in generateContent: results of calls are a separate content right after the calls, and
// unsupported rules are in descriptions.
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

// An answer of the API with parallel calls, of which the first is signed, and no ids.
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
	requireAsked(t, geminiSpoken(), geminiAsked)
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

// TestCallsThatGeminiDidNotSignAreSentAsUnsigned: models from Gemini 3 on answer 400 with "Function call is missing
// a thought_signature". Older turns and older models are not checked.
func TestCallsThatGeminiDidNotSignAreSentAsUnsigned(t *testing.T) {
	for model, want := range map[string]int{"gemini-3.5-flash": 1, "gemini-flash-latest": 1, "gemini-10-pro": 1, "gemini-2.5-flash": 0, "gemini-1.5-pro": 0, "m": 0} {
		e := newProvider(t, bodiesOf(geminiSpoken().text("ok"))...)
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
		vertex := geminiSpoken()
		vertex.set = func(o *llm.Options, p llm.Config) {
			o.Gemini = llm.Config{Key: p.Key, BaseURL: p.BaseURL + suffix, Model: p.Model}
		}
		requireAsked(t, vertex, geminiAsked)
		result, questions := vertex.match(t, conversation(t), vertex.calls([2]string{"book", `{"day":"mon","people":9007199254740993}`}))
		require.Equal(t, []string{`book {"day":"mon","people":9007199254740993}`}, matchertest.Fired(result))
		require.Equal(t, want, questions[0].path)
		require.Equal(t, matchertest.Key, questions[0].header.Get("X-Goog-Api-Key"))
	}
	recorded := &recorder{}
	options := llm.Options{Gemini: llm.Config{Key: secret.New(matchertest.Key), BaseURL: "https://aiplatform.googleapis.com"}, HTTPClient: recorded.client()}
	unavailable(t, options)
	require.Equal(t, matchertest.Key, recorded.header.Get("X-Goog-Api-Key"))
	require.Equal(t, "/v1beta1/publishers/google/models/gemini-3.5-flash-lite:generateContent", recorded.path, "by its host")
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
			e := newProvider(t, bodiesOf(geminiSpoken().text("none"))...)
			options := geminiSpoken().options(e)
			options.Gemini.BaseURL, options.Gemini.Model = options.Gemini.BaseURL+suffix, model
			_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", book))
			require.NoError(t, err)
			require.Equal(t, "/v1beta/"+want+":generateContent", e.questions()[0].path)
		}
	}
}

func TestModelThatWouldLeaveItsPathIsNotAskedFor(t *testing.T) {
	for _, model := range []string{"../../upload", "m?alt=sse", "m#", "m%2e%2e"} {
		options := geminiSpoken().options(newProvider(t))
		options.Gemini.Model = model
		require.Contains(t, unavailable(t, options).Reason, "is no name of a model")
	}
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

func TestGeminisAnswersAreRead(t *testing.T) {
	requireEnds(t, geminiSpoken(), map[string]string{
		"STOP": "", "FINISH_REASON_UNSPECIFIED": "", "": "",
		"MALFORMED_FUNCTION_CALL": `finish_reason "MALFORMED_FUNCTION_CALL"`, "RECITATION": "content filter", "BLOCKLIST": "content filter",
		"PROHIBITED_CONTENT": "content filter", "SPII": "content filter", "LANGUAGE": "LANGUAGE", "OTHER": "OTHER",
		"UNEXPECTED_TOOL_CALL": "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS": "TOO_MANY", "CONTINUATION": "CONTINUATION",
	})
	requireFires(t, geminiSpoken(), onMonday,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"default_api:book","args":"{'day':'mon'}"}}]}}],"usageMetadata":{"promptTokenCount":"4"}}`,
		`{"candidates":[{"content":{"parts":[{"text":"book?","thought":true},{"text":"{\"name\":\"book\",\"parameters\":{\"day\":\"mon\"}}"}]}}]}`)
	requireFires(t, geminiSpoken(), "light_on {}", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"light_on"}}]}}]}`)
	blocked := answer{body: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","safetyRatings":[]},"usageMetadata":{"promptTokenCount":4}}`}
	require.Contains(t, unavailable(t, geminiSpoken().options(newProvider(t, blocked))).Reason, "content filter refused the request (PROHIBITED_CONTENT)")
}

// serviceAccount writes the credentials of a service account with a token URL and an additional member, and
// configures them.
func serviceAccount(t *testing.T, tokenURL, more string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "earshot@p.iam.gserviceaccount.com", "token_uri": tokenURL, "quota_project_id": more,
		"private_key_id": "k", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "account.json")
	require.NoError(t, os.WriteFile(file, account, 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
}

// vertexAt configures Vertex AI without a key.
func vertexAt(e *fakeProvider) llm.Options {
	return llm.Options{Gemini: llm.Config{BaseURL: e.server.URL + "/v1/projects/p/locations/l"}}
}

func TestVertexWithoutAKeyTakesGooglesCredentials(t *testing.T) {
	for file, payers := range map[string][]string{"": {"", "of-the-environment"}, "payer": {"payer", "of-the-environment"}} {
		t.Run(file, func(t *testing.T) {
			tokens := newProvider(t, answer{header: http.Header{"Content-Type": {"application/json"}}, body: `{"access_token":"ya29.planted","token_type":"Bearer","expires_in":3600}`})
			serviceAccount(t, tokens.server.URL, file)
			e := newProvider(t, bodiesOf(geminiSpoken().text("none"), geminiSpoken().text("none"))...)
			model := llm.New(vertexAt(e))
			for i, payer := range payers {
				_, err := model.Match(t.Context(), matchertest.Request(t, "x", book))
				require.NoError(t, err)
				header := e.questions()[i].header
				require.Equal(t, "Bearer ya29.planted", header.Get("Authorization"))
				require.Equal(t, payer, header.Get("X-Goog-User-Project"), "who pays for a person's requests")
				require.Empty(t, header.Get("X-Goog-Api-Key"))
				t.Setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "of-the-environment")
			}
			require.Len(t, tokens.questions(), 1, "the token is kept")
		})
	}
}

func TestVertexWithoutAnyCredentialsIsUnavailable(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none.json")
	require.Contains(t, unavailable(t, vertexAt(newProvider(t))).Reason, "credentials")

	tokens := newProvider(t, answer{hang: true})
	serviceAccount(t, tokens.server.URL, "")
	options := vertexAt(newProvider(t))
	options.Timeout = 500 * time.Millisecond
	require.Equal(t, "no answer within 500ms", unavailable(t, options).Reason, "nor does it wait longer for a token")
}

// tokensAway asks nobody for a token until it is closed, and then has none.
type tokensAway struct {
	closed chan struct{}
	asked  atomic.Int32
}

func (a *tokensAway) RoundTrip(*http.Request) (*http.Response, error) {
	a.asked.Add(1)
	<-a.closed
	return nil, errors.New("no token today")
}

func TestMessagesWaitForOneTokenTogether(t *testing.T) {
	serviceAccount(t, "http://tokens.test", "")
	request := matchertest.Request(t, "x", book)
	synctest.Test(t, func(t *testing.T) {
		away := &tokensAway{closed: make(chan struct{})}
		options := llm.Options{Gemini: llm.Config{BaseURL: "http://vertex.test/v1/projects/p/locations/l"}, HTTPClient: &http.Client{Transport: away}}
		model := llm.New(options)
		var messages sync.WaitGroup
		for range 5 {
			messages.Go(func() {
				_, err := model.Match(t.Context(), request)
				assert.ErrorContains(t, err, "no token today")
			})
		}
		synctest.Wait()
		close(away.closed)
		messages.Wait()
		require.EqualValues(t, 1, away.asked.Load())
	})
}
