package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/sync/singleflight"

	"earshot/matcher"
	"earshot/matcher/text"
)

// gemini is a client of Google's generateContent, of the Gemini API and of Vertex AI.
type gemini struct {
	endpoint // whose URL ends with the version
	// vertex is true for Vertex AI; project is its path of project and location, empty with only a key (express
	// mode). account is nil with a key.
	vertex  bool
	project string
	account *googleAccount
}

var vertexPath = regexp.MustCompile(`/(projects/[^/]+/locations/[^/]+)/?$`)

// newGemini returns a client of Vertex AI if the base URL's path ends with a project and a location, as in
// https://aiplatform.googleapis.com/v1/projects/p/locations/global, or if the host is Vertex AI's, which then needs
// a key.
func newGemini(base endpoint, given Config) (provider, error) {
	parsed, err := url.Parse(given.BaseURL)
	if err != nil {
		return nil, errBaseURL
	}
	g := &gemini{endpoint: base, vertex: strings.HasSuffix(parsed.Hostname(), "aiplatform.googleapis.com")}
	g.wireForm = g
	g.sendKey("X-Goog-Api-Key", "")
	if found := vertexPath.FindStringSubmatch(parsed.Path); found != nil {
		g.vertex, g.project = true, found[1]
		parsed.Path, parsed.RawPath = strings.TrimSuffix(parsed.Path, found[0]), ""
	}
	to, version, err := parseBase(parsed.String())
	if err != nil {
		return nil, err
	}
	latest := "v1beta"
	if g.vertex {
		latest = "v1beta1"
	}
	g.url = to.JoinPath(cmp.Or(version, latest))
	if g.vertex && g.key == "" {
		// The request's own timeout ends the wait for a token and reports it. The token client continues in the
		// background, with more time.
		g.account = &googleAccount{client: &http.Client{Transport: base.transport, Timeout: 2 * base.timeout}}
	}
	return g, nil
}

func (g *gemini) complete(ctx context.Context, request chatRequest) (completion, error) {
	path, err := g.modelPath(request.model)
	if err != nil {
		return completion{}, err
	}
	header := g.header.Clone()
	if g.account != nil {
		if err := g.account.authorize(ctx, header); err != nil {
			return completion{}, failure(ctx, err, g.key)
		}
	}
	if deadline, limited := ctx.Deadline(); limited {
		header.Set("X-Server-Timeout", strconv.Itoa(int(math.Ceil(time.Until(deadline).Seconds()))))
	}
	return g.ask(ctx, g.url.JoinPath(path+":generateContent"), header, request)
}

// modelPath returns a model's path below the version. A name may be a path itself, as in tunedModels/mine or
// publishers/meta/models/llama.
func (g *gemini) modelPath(model string) (string, error) {
	if strings.ContainsAny(model, "?&#%") || strings.Contains(model, "..") {
		return "", &matcher.Unavailable{Reason: fmt.Sprintf("%q is no name of a model: settings.llm.tools takes gemini/MODEL", text.Clip(model, maxFinish))}
	}
	publisher, name, published := strings.Cut(model, "/")
	switch {
	case !g.vertex && (publisher == "models" || publisher == "tunedModels") && published:
		return model, nil
	case !g.vertex:
		return "models/" + model, nil
	case publisher == "projects" && published:
		return model, nil
	case (publisher == "models" || publisher == "publishers") && published:
	case published:
		model = "publishers/" + publisher + "/models/" + name
	default:
		model = "publishers/google/models/" + model
	}
	return strings.TrimPrefix(g.project+"/"+model, "/"), nil
}

// googleAccount holds Google's application default credentials. It looks for them on first use, because that may
// need the network.
type googleAccount struct {
	client *http.Client // for tokens

	lookups     singleflight.Group
	credentials *google.Credentials // only for a lookup
}

// grant is a token, with the project that pays for requests with a person's credentials; empty for none.
type grant struct {
	token   *oauth2.Token
	project string
}

// authorize sets a token, cached until it expires, and who pays. Google's libraries do not end with the context of one
// request, so they run in the background, once for all messages that wait for them.
func (a *googleAccount) authorize(ctx context.Context, header http.Header) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case found := <-a.lookups.DoChan("", a.lookUp):
		if found.Err != nil {
			return found.Err
		}
		given := found.Val.(grant)
		given.token.SetAuthHeader(&http.Request{Header: header})
		if project := cmp.Or(os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT"), given.project); project != "" {
			header.Set("X-Goog-User-Project", project)
		}
		return nil
	}
}

// lookUp returns a grant. Missing credentials are looked for again each time.
func (a *googleAccount) lookUp() (found any, err error) {
	if a.credentials == nil {
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, a.client)
		a.credentials, err = google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/cloud-platform")
	}
	if err != nil {
		return nil, err
	}
	var file struct {
		Project string `json:"quota_project_id"`
	}
	_ = json.Unmarshal(a.credentials.JSON, &file) // no file, no project
	token, err := a.credentials.TokenSource.Token()
	return grant{token, file.Project}, err
}

// geminiSchemas is Gemini's subset of JSON Schema, from its API's description of responseJsonSchema.
var geminiSchemas = schemaSubset{
	keywords: []string{
		"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
		"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
	},
	formats: []string{"date-time", "date", "time", "duration"},
}

// roleModel is Gemini's name of the assistant's role.
const roleModel = "model"

// The body of a request to generateContent.
type (
	geminiRequest struct {
		SystemInstruction *geminiContent  `json:"systemInstruction,omitempty"`
		Contents          []geminiContent `json:"contents"`
	}
	geminiContent struct {
		Parts []geminiPart `json:"parts"`
		Role  string       `json:"role"`
	}
	geminiPart struct {
		Text      string        `json:"text,omitempty"`
		Call      *geminiCall   `json:"functionCall,omitempty"`
		Result    *geminiResult `json:"functionResponse,omitempty"`
		Signature string        `json:"thoughtSignature,omitempty"`
	}
	geminiCall struct {
		Args json.RawMessage `json:"args"`
		ID   string          `json:"id"`
		Name string          `json:"name"`
	}
	geminiResult struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	}
	geminiFunction struct {
		Description string          `json:"description,omitempty"`
		Name        string          `json:"name"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
	}
)

// From Gemini 3 on, models refuse calls without a signature in the current turn. Google's documentation prescribes
// the value unsigned for a call with an unknown signature, such as one from the history.
var signedModels = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|[1-9][0-9]|[a-z])`)

const unsigned = "skip_thought_signature_validator"

// write implements wireForm. Results of calls have their own content, right after the calls. The clock is a
// separate part before the user's text.
func (g *gemini) write(request chatRequest, _ []string) requestBody {
	rules, sides := alternate(request.messages)
	called, _ := calledTools(request.messages)
	var rest geminiRequest
	if rules != "" {
		rest.SystemInstruction = &geminiContent{Role: roleUser, Parts: []geminiPart{{Text: rules}}}
	}
	for _, one := range sides {
		results, parts := geminiContent{Role: roleUser}, geminiContent{Role: roleUser}
		if one.model {
			parts.Role = roleModel
		}
		for _, message := range one.messages {
			if message.role == roleTool {
				results.Parts = append(results.Parts, geminiPart{Result: newGeminiResult(called[message.callID], message)})
				continue
			}
			if message.text != "" {
				parts.Parts = append(parts.Parts, geminiPart{Text: message.text})
			}
			for _, call := range message.calls {
				parts.Parts = append(parts.Parts, geminiPart{
					Call: &geminiCall{ID: call.id, Name: call.name, Args: call.object()}, Signature: call.echo,
				})
			}
		}
		for _, content := range []geminiContent{results, parts} {
			if len(content.Parts) > 0 {
				rest.Contents = append(rest.Contents, content)
			}
		}
	}
	if signedModels.MatchString(request.model) {
		// The first call of each group since the user's last text carries the signature.
		for _, content := range slices.Backward(rest.Contents) {
			if content.Role == roleUser && slices.ContainsFunc(content.Parts, func(part geminiPart) bool { return part.Text != "" }) {
				break
			}
			first := slices.IndexFunc(content.Parts, func(part geminiPart) bool { return part.Call != nil })
			if first >= 0 {
				content.Parts[first].Signature = cmp.Or(content.Parts[first].Signature, unsigned)
			}
		}
	}

	tools := make([]json.RawMessage, len(request.tools))
	for i, tool := range request.tools {
		tools[i] = tool.json("gemini", func(tool *chatTool) any {
			return geminiFunction{Name: tool.name, Description: tool.description, Parameters: geminiSchemas.reduce(tool.schema)}
		})
	}
	return requestBody{rest: rest, tools: tools, within: "functionDeclarations"}
}

// newGeminiResult writes the result of a call: its output, as JSON if valid, or its error.
func newGeminiResult(name string, message chatMessage) *geminiResult {
	member, value := "output", json.RawMessage(message.text)
	if message.failed {
		member = "error"
	}
	if _, err := decodeJSON(message.text); err != nil {
		value = json.RawMessage(encodeJSON(message.text))
	}
	return &geminiResult{ID: message.callID, Name: name, Response: map[string]json.RawMessage{member: value}}
}

// read implements wireForm. It uses the first candidate: texts except thoughts, and calls with their signature.
func (g *gemini) read(body []byte) (completion, error) {
	var answer struct {
		answerError
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text      anyText `json:"text"`
					Thought   bool    `json:"thought"`
					Signature anyText `json:"thoughtSignature"`
					Call      *struct {
						ID   anyText      `json:"id"`
						Name anyText      `json:"name"`
						Args anyArguments `json:"args"`
					} `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
			FinishReason anyText `json:"finishReason"`
		} `json:"candidates"`
		Feedback struct {
			BlockReason anyText `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage lenient[struct {
			Prompt     anyCount `json:"promptTokenCount"`
			ToolPrompt anyCount `json:"toolUsePromptTokenCount"`
			Cached     anyCount `json:"cachedContentTokenCount"`
			Candidates anyCount `json:"candidatesTokenCount"`
			Thoughts   anyCount `json:"thoughtsTokenCount"` // charged as output
		}] `json:"usageMetadata"`
	}
	if err := decodeAnswer(body, &answer); err != nil {
		return completion{}, err
	}
	counted := answer.Usage.value
	found := completion{usage: Usage{
		Prompt: int(counted.Prompt + counted.ToolPrompt), Cached: int(counted.Cached), Completion: int(counted.Candidates + counted.Thoughts),
	}}
	if len(answer.Candidates) == 0 {
		if reason := string(answer.Feedback.BlockReason); reason != "" {
			return found, fmt.Errorf("the provider's content filter refused the request (%s)", text.Clip(reason, maxFinish))
		}
		return found, errors.New("the answer has no candidates")
	}
	chosen := answer.Candidates[0]
	for _, part := range chosen.Content.Parts {
		switch {
		case part.Call != nil && part.Call.Name == "":
			return found, errUnreadableCalls
		case part.Call != nil:
			found.calls = append(found.calls, toolCall{
				id: string(part.Call.ID), name: string(part.Call.Name), arguments: string(part.Call.Args), echo: string(part.Signature),
			})
		case !part.Thought:
			found.text += string(part.Text)
		}
	}
	return found, checkFinish(chosen.FinishReason, "STOP", "FINISH_REASON_UNSPECIFIED")
}
