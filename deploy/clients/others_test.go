//go:build nightly

package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// Both clients print the tool that fired with its value, the place of a fault, and the status of a refusal.
const printed = "fired request-for-appointment on Friday\nfault at /text\nrefused: 403\n"

func TestClientByOapiCodegenWorksWithTheService(t *testing.T) {
	s := dev(t)
	folder := copied(t, "golang")
	s.save("/openapi.json", filepath.Join(folder, "openapi.json"))
	run(t, folder, "go", "generate")
	run(t, folder, "go", "build", "-o", "clinic", ".")
	got := run(t, folder, filepath.Join(folder, "clinic"), s.URL, testbed.AdminKey)
	require.Equal(t, strings.Replace(printed, "fault at /text", "fault at /actor\nfault at /text", 1), got)
}

func TestToolsOfLangchaingoWorkWithTheService(t *testing.T) {
	beside(t, dev(t), "go/langchain")
}

func TestThePythonClientIsTyped(t *testing.T) {
	program, folder := python(t), copied(t, "python")
	run(t, folder, program, "-m", "mypy", "src/earshot", "generate.py", "tests/story.py")
	require.FileExists(t, filepath.Join(folder, "src/earshot/py.typed"))
}
