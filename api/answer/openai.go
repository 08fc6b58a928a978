package answer

import (
	"cmp"
	"net/http"
)

// OpenAIPath is in the paths whose clients are those of OpenAI's, and read errors in its form
// alone.
const OpenAIPath = "/openai/v1/"

// openAIError is a problem as clients of OpenAI's read it.
type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// openAIWords are the type and the code of a problem of that status, in OpenAI's words where
// it has some.
var openAIWords = map[int][2]string{
	http.StatusUnauthorized:          {"authentication_error", "invalid_api_key"},
	http.StatusForbidden:             {"permission_error", "forbidden"},
	http.StatusNotFound:              {"invalid_request_error", "not_found"},
	http.StatusRequestEntityTooLarge: {"invalid_request_error", "request_too_large"},
	http.StatusTooManyRequests:       {"rate_limit_error", "rate_limit_exceeded"},
}

// OpenAIError is an error as clients of OpenAI's read it, to be written as JSON.
func OpenAIError(err error) any { return ProblemOf(err).openAI() }

func (p *Problem) openAI() (shown openAIError) {
	words := openAIWords[p.Status]
	if words[0] == "" {
		words[0] = "invalid_request_error"
	}
	if p.Status >= http.StatusInternalServerError {
		words[0] = "server_error"
	}
	shown.Error.Message, shown.Error.Type = p.Detail, words[0]
	if code := cmp.Or(p.code, words[1]); code != "" {
		shown.Error.Code = &code
	}
	return shown
}
