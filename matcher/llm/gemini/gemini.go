// Package gemini is the client of Google's generateContent, in the Gemini API and in Vertex
// AI.
package gemini

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

	"earshot/matcher"
	"earshot/matcher/llm/provider"
	"earshot/matcher/text"
)

// DefaultModel is asked where neither the app nor the configuration names one.
const DefaultModel = "gemini-3.5-flash-lite"

// client speaks Google's generateContent, of the Gemini API and of Vertex AI.
type client struct {
	transport *provider.Transport
	base      *url.URL // with the version
	key       string
	// vertex is true for Vertex AI, and project the path of the project and the location
	// there; none with a key alone (express mode). account is nil with a key.
	vertex  bool
	project string
	account *googleAccount
}

var vertexPath = regexp.MustCompile(`/(projects/[^/]+/locations/[^/]+)/?$`)

// New returns a client of the provider's endpoint. It is Vertex AI's where the
// path of the base URL ends with a project and a location, as in
// https://aiplatform.googleapis.com/v1/projects/p/locations/global, or where its host is
// Vertex AI's, which then takes a key.
func New(network provider.Network, given provider.Config) (provider.Client, error) {
	parsed, err := url.Parse(given.BaseURL)
	if err != nil {
		return nil, provider.ErrBaseURL
	}
	g := &client{key: given.Key.Reveal()}
	g.transport = provider.NewTransport(network, g.key)
	g.transport.Essential = []string{"contents", "systemInstruction", "tools"}
	g.vertex = strings.HasSuffix(parsed.Hostname(), "aiplatform.googleapis.com")
	if found := vertexPath.FindStringSubmatch(parsed.Path); found != nil {
		g.vertex, g.project = true, found[1]
		parsed.Path, parsed.RawPath = strings.TrimSuffix(parsed.Path, found[0]), ""
	}
	base, version, err := provider.Endpoint(parsed.String())
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

// Complete implements provider.Client.
func (g *client) Complete(ctx context.Context, request provider.Request) (provider.Completion, error) {
	path, err := g.modelPath(request.Model)
	if err != nil {
		return provider.Completion{}, err
	}
	header, err := g.header(ctx)
	if err != nil {
		return provider.Completion{}, provider.Failure(ctx, err, g.key)
	}
	body, err := g.transport.Post(ctx, g.base.JoinPath(path+":generateContent"), header, newBody(request))
	if err != nil {
		return provider.Completion{}, err
	}
	answer, err := readAnswer(body)
	return answer, g.transport.Unreadable(err)
}

// modelPath is where a model stands below the version. A name may be a path of the
// provider's, as in tunedModels/mine or publishers/meta/models/llama.
func (g *client) modelPath(model string) (string, error) {
	if strings.ContainsAny(model, "?&#%") || strings.Contains(model, "..") {
		return "", &matcher.Unavailable{Reason: fmt.Sprintf("%q is no name of a model: settings.llm.tools takes gemini/MODEL", text.Clip(model, provider.MaxFinish))}
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
func (g *client) header(ctx context.Context) (http.Header, error) {
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
