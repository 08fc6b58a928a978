package matcher

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"google.golang.org/genai"
)

// geminiPlace is where Gemini is: the Gemini API, or Vertex AI.
type geminiPlace struct {
	base, version     string
	vertex            bool
	project, location string
}

var vertexPath = regexp.MustCompile(`/projects/([^/]+)/locations/([^/]+)/?$`)

// placeOf reads a base URL. It is Vertex AI's where its path ends with a project and a
// location, as in https://aiplatform.googleapis.com/v1/projects/p/locations/global, or
// where its host is Vertex AI's, which then takes a key (express mode).
func placeOf(given Provider) (geminiPlace, error) {
	parsed, err := url.Parse(given.BaseURL)
	if err != nil {
		return geminiPlace{}, errBaseURL
	}
	place := geminiPlace{vertex: strings.HasSuffix(parsed.Hostname(), "aiplatform.googleapis.com")}
	if found := vertexPath.FindStringSubmatch(parsed.Path); found != nil {
		place.vertex, place.project, place.location = true, found[1], found[2]
		parsed.Path, parsed.RawPath = strings.TrimSuffix(parsed.Path, found[0]), ""
	}
	place.base, place.version, err = endpoint(parsed.String())
	return place, err
}

// config returns the SDK's configuration. All that it would else look for in
// environment variables of its own is given.
func (p geminiPlace) config(key string) *genai.ClientConfig {
	config := &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: cmp.Or(key, "none"),
		HTTPOptions: genai.HTTPOptions{BaseURL: p.base, APIVersion: p.version},
	}
	if p.vertex {
		config.Backend, config.APIKey = genai.BackendVertexAI, key
		config.Project, config.Location = p.project, p.location
	}
	return config
}
