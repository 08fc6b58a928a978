package eval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
)

// Recording holds models' answers by a digest of their requests, which excludes clock, time zone and key. It
// contains no credential. It is an http.RoundTripper that answers from the recording, and safe for concurrent
// use.
type Recording struct {
	next   http.RoundTripper // handles unrecorded requests; nil in a replay
	keys   []string          // which no answer may contain
	mu     sync.Mutex
	known  map[string]recordedAnswer
	asked  tape
	missed bool // reports that a request was not in the recording
}

// tape is the file format of a recording.
type tape struct {
	Version int `json:"version"`
	// Models are the configured providers by name.
	Models  map[string]recordedModel `json:"models"`
	Answers []recordedAnswer         `json:"answers"` // in request order
}

type recordedModel struct {
	BaseURL string `json:"baseUrl,omitempty"`
	Model   string `json:"model,omitempty"`
	Keyed   bool   `json:"keyed,omitempty"`
}

// recordedAnswer is one answer: JSON, or otherwise text.
type recordedAnswer struct {
	Request string `json:"request"` // the digest
	Status  int    `json:"status"`
	Type    string `json:"type,omitempty"`
	Body    any    `json:"body"`
}

const tapeVersion = 1

// Record starts a recording of the configured models' answers, and sets the options to use it.
func Record(o *llm.Options) (*Recording, error) {
	if !o.Configured() {
		return nil, errors.New("--record: no model is configured, so that there is nothing to record; set OPENAI_API_KEY or OPENAI_BASE_URL")
	}
	r := &Recording{next: llm.NewHTTPClient(1).Transport, known: map[string]recordedAnswer{}, asked: tape{Version: tapeVersion, Models: map[string]recordedModel{}}}
	for name, of := range configs(o) {
		if !of.key.Empty() {
			r.keys = append(r.keys, of.key.Reveal())
		}
		address, err := url.Parse(*of.baseURL)
		if err != nil {
			address = &url.URL{}
		}
		address.User, address.RawQuery, address.Fragment = nil, "", "" // these may be credentials
		r.asked.Models[name] = recordedModel{BaseURL: address.String(), Model: *of.model, Keyed: !of.key.Empty()}
	}
	o.HTTPClient = &http.Client{Transport: r}
	return r, nil
}

// Replay reads a recording, and sets the options to use it instead of the recorded models. No key is needed.
func Replay(file string, o *llm.Options) (*Recording, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--replay: %w", err)
	}
	r := &Recording{known: map[string]recordedAnswer{}}
	if err := exactjson.Unmarshal(text, &r.asked); err != nil || r.asked.Version != tapeVersion {
		return nil, fmt.Errorf("--replay: %s is not a recording of version %d; make one with --record", file, tapeVersion)
	}
	for _, one := range r.asked.Answers {
		r.known[one.Request] = one
	}
	for name, of := range configs(o) {
		was := r.asked.Models[name]
		*of.key, *of.baseURL, *of.model = secret.Secret{}, was.BaseURL, was.Model
		if was.Keyed {
			*of.key = secret.New("recorded")
		}
	}
	o.HTTPClient = &http.Client{Transport: r}
	return r, nil
}

// config points to a provider's fields in the options.
type config struct {
	key            *secret.Secret
	baseURL, model *string
}

func configs(o *llm.Options) map[string]config {
	return map[string]config{
		"openai":    {&o.Key, &o.BaseURL, &o.Model},
		"anthropic": {&o.Anthropic.Key, &o.Anthropic.BaseURL, &o.Anthropic.Model},
		"gemini":    {&o.Gemini.Key, &o.Gemini.BaseURL, &o.Gemini.Model},
		"cohere":    {&o.Cohere.Key, &o.Cohere.BaseURL, &o.Cohere.Model},
	}
}

// RoundTrip answers a request to a model. Other requests, such as for a token, are passed on.
func (r *Recording) RoundTrip(request *http.Request) (*http.Response, error) {
	last := path.Base(request.URL.Path)
	if request.Method != http.MethodPost || last != "completions" && last != "messages" && last != "chat" && !strings.HasSuffix(last, ":generateContent") {
		if r.next == nil {
			return nil, errors.New("--replay sends no requests")
		}
		return r.next.RoundTrip(request)
	}
	var body []byte
	if request.Body != nil {
		defer request.Body.Close()
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	sum := sha256.New() // identifies the request, regardless of time and place
	fmt.Fprintln(sum, last)
	sum.Write(llm.Timeless(body))
	digest := hex.EncodeToString(sum.Sum(nil))
	r.mu.Lock()
	known, is := r.known[digest]
	r.missed = r.missed || !is && r.next == nil
	r.mu.Unlock()
	switch {
	case is:
		text, isText := known.Body.(string)
		if !isText {
			written, err := exactjson.Encode(known.Body)
			if err != nil {
				return nil, err
			}
			text = string(written)
		}
		return &http.Response{
			Status: http.StatusText(known.Status), StatusCode: known.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {known.Type}}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: request,
		}, nil
	case r.next == nil:
		return nil, errors.New("the request is not recorded")
	}
	return r.ask(request, body, digest)
}

// ask asks the model. It records answers, and refusals of request parameters, after which the client asks again
// without them. Other refusals are temporary.
func (r *Recording) ask(request *http.Request, body []byte, digest string) (*http.Response, error) {
	sent := request.Clone(request.Context())
	sent.Body, sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response, err := r.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusBadRequest && response.StatusCode != http.StatusUnprocessableEntity {
		return response, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	kept := text
	for _, key := range r.keys { // an answer may repeat a key
		kept = bytes.ReplaceAll(kept, []byte(key), []byte("***"))
	}
	one := recordedAnswer{Request: digest, Status: response.StatusCode, Type: response.Header.Get("Content-Type"), Body: string(kept)}
	if value, err := exactjson.Decode(kept); err == nil {
		one.Body = value
	}
	r.mu.Lock()
	if _, is := r.known[digest]; !is {
		r.asked.Answers = append(r.asked.Answers, one)
		r.known[digest] = one
	}
	r.mu.Unlock()
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, nil
}

// Save writes a recording to a file.
func (r *Recording) Save(file string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked.Answers == nil {
		r.asked.Answers = []recordedAnswer{}
	}
	text, err := json.MarshalIndent(r.asked, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	return nil
}

// Explain replaces the error of an undecided message if its cause is a missing recorded answer.
func (r *Recording) Explain(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed {
		r.missed = false
		return &matcher.Unavailable{Reason: "what it would be asked was not recorded: the tools, the conversation or the program have changed since; record it again with --record"}
	}
	return err
}
