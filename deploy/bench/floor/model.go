package floor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// model asks an OpenAI-compatible LLM over connections that are kept.
type model struct {
	url  string
	http *http.Client
}

func newModel(base string) model {
	return model{url: base + "/chat/completions", http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}}
}

// parameters are those of all tools of the measurements.
const parameters = `{"type":"object","properties":{"day":{"type":"string","description":"wished day"}},"required":["day"]}`

// function is a tool as the model gets it, request and completion what is exchanged.
type (
	function struct {
		Type     string     `json:"type"`
		Function definition `json:"function"`
	}
	definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	request struct {
		Model    string          `json:"model"`
		Messages []content       `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}
	content struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	completion struct {
		Choices []struct {
			Message struct {
				Calls []struct {
					Function struct {
						Name      string `json:"name"`
						Arguments string `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
)

// calls asks which of the tools a text calls for.
func (m model) calls(ctx context.Context, tools, text string) ([]fired, error) {
	body, err := json.Marshal(request{"double", []content{{"system", "Call the tools that the user's words ask for."}, {"user", text}}, json.RawMessage(tools)})
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := m.http.Do(post)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var found completion
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil || len(found.Choices) == 0 {
		return nil, fmt.Errorf("the LLM answered %s without a choice: %w", response.Status, err)
	}
	calls := []fired{}
	for _, call := range found.Choices[0].Message.Calls {
		calls = append(calls, fired{call.Function.Name, json.RawMessage(call.Function.Arguments)})
	}
	return calls, nil
}
