package httpcall

import "earshot/repositories"

// FillBody fills the body of an http tool whose source has no headers.
func FillBody(tool *repositories.Tool, values map[string]any) ([]byte, error) {
	return toolBody(repositories.Source{}, tool, values)
}
