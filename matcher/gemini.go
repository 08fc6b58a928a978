package matcher

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// geminiModel is asked where neither the app nor the configuration names one.
const geminiModel = "gemini-3.5-flash-lite"

// geminiClient speaks Google's generateContent, of the Gemini API and of Vertex AI.
type geminiClient struct {
	transport *transport
	base      *url.URL // with the version
	key       string
	// vertex is true for Vertex AI, and project the path of the project and the location
	// there; none with a key alone (express mode). account is nil with a key.
	vertex  bool
	project string
	account *googleAccount
}

var vertexPath = regexp.MustCompile(`/(projects/[^/]+/locations/[^/]+)/?$`)

// newGemini returns a client of the provider's endpoint. It is Vertex AI's where the
// path of the base URL ends with a project and a location, as in
// https://aiplatform.googleapis.com/v1/projects/p/locations/global, or where its host is
// Vertex AI's, which then takes a key.
func newGemini(network network, given Provider) (completer, error) {
	parsed, err := url.Parse(given.BaseURL)
	if err != nil {
		return nil, errBaseURL
	}
	g := &geminiClient{key: given.Key.Reveal()}
	g.transport = newTransport(network, g.key)
	g.vertex = strings.HasSuffix(parsed.Hostname(), "aiplatform.googleapis.com")
	if found := vertexPath.FindStringSubmatch(parsed.Path); found != nil {
		g.vertex, g.project = true, found[1]
		parsed.Path, parsed.RawPath = strings.TrimSuffix(parsed.Path, found[0]), ""
	}
	base, version, err := endpoint(parsed.String())
	if err != nil {
		return nil, err
	}
	if version == "" {
		version = "v1beta"
		if g.vertex {
			version = "v1beta1"
		}
	}
	g.base = base.JoinPath(version)
	if g.vertex && g.key == "" {
		g.account = newGoogleAccount(network)
	}
	return g, nil
}

// complete implements completer.
func (g *geminiClient) complete(ctx context.Context, request completionRequest) (completion, error) {
	path, err := g.modelPath(request.Model)
	if err != nil {
		return completion{}, err
	}
	header, err := g.header(ctx)
	if err != nil {
		return completion{}, failure(ctx, err, g.key)
	}
	body, err := g.transport.post(ctx, g.base.JoinPath(path+":generateContent"), header, newGeminiRequest(request))
	if err != nil {
		return completion{}, err
	}
	answer, err := readGemini(body)
	return answer, g.transport.unreadable(err)
}

// modelPath is where a model stands below the version. A name may be a path of the
// provider's, as in tunedModels/mine or publishers/meta/models/llama.
func (g *geminiClient) modelPath(model string) (string, error) {
	if strings.ContainsAny(model, "?&#%") || strings.Contains(model, "..") {
		return "", &Unavailable{Reason: fmt.Sprintf("%q is no name of a model: settings.llm.tools takes gemini/MODEL", clip(model, maxFinish))}
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

// header holds the credentials, and how many seconds the answer is waited for.
func (g *geminiClient) header(ctx context.Context) (http.Header, error) {
	header := http.Header{}
	if g.account != nil {
		if err := g.account.authorize(ctx, header); err != nil {
			return nil, err
		}
	}
	if g.key != "" {
		header.Set("X-Goog-Api-Key", g.key)
	}
	if deadline, limited := ctx.Deadline(); limited {
		header.Set("X-Server-Timeout", strconv.Itoa(int(math.Ceil(time.Until(deadline).Seconds()))))
	}
	return header, nil
}
