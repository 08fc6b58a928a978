package clients

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// python returns an interpreter that has httpx and mypy: the system's has what apt-get installs.
func python(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(program, "-c", "import httpx, mypy").Run() == nil {
			return program
		}
	}
	testbed.Missing(t, "no python3 with httpx and mypy: apt-get install python3-httpx mypy, or pip install httpx mypy")
	return ""
}

func TestTypesOfThePythonClientAreUpToDate(t *testing.T) {
	program, folder, s := python(t), copied(t, "python"), dev(t)
	s.save("/openapi.json", filepath.Join(folder, "openapi.json"))
	s.save("/asyncapi.json", filepath.Join(folder, "asyncapi.json"))
	run(t, folder, program, "generate.py", "openapi.json", "asyncapi.json", "src/earshot")
	for _, file := range []string{"types.py", "_sync.py"} {
		upToDate(t, filepath.Join(folder, "src/earshot", file), filepath.Join("python/src/earshot", file))
	}
}

func TestThePythonClientLivesAStory(t *testing.T) {
	program, folder, s := python(t), copied(t, "python"), dev(t)
	between, network := troubleBefore(t, s)
	for name, value := range map[string]string{"EARSHOT_URL": s.URL, "EARSHOT_KEY": testbed.AdminKey, "DESK_URL": desk(t), "EARSHOT_TROUBLE": network, "PYTHONPATH": "src"} {
		t.Setenv(name, value)
	}
	run(t, folder, program, "-W", "error", "tests/story.py")
	streams, lost := between.came("/v1/apps/clinic-python/sessions/trouble/events")
	require.GreaterOrEqual(t, streams, 3, "one broke off and one fell silent; on a busy machine others do")
	require.Equal(t, 4, lost)
}

func TestThePythonClientIsTyped(t *testing.T) {
	program, folder := python(t), copied(t, "python")
	run(t, folder, program, "-m", "mypy", "src/earshot", "generate.py", "tests/story.py")
	require.FileExists(t, filepath.Join(folder, "src/earshot/py.typed"))
}
