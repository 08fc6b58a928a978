package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// developing runs earshot dev -f until the test ends.
type developing struct {
	t        *testing.T
	out, err screenful
	done     chan int
}

func develop(t *testing.T, args ...string) *developing {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d := &developing{t: t, done: make(chan int, 1)}
	env := environment{out: &d.out, err: &d.err, lookup: lookIn(map[string]string{"EARSHOT_ADDR": "127.0.0.1:0"})}
	go func() { d.done <- run(ctx, append([]string{"dev"}, args...), env) }()
	t.Cleanup(func() {
		cancel()
		<-d.done
	})
	return d
}

// until waits for a text on either screenful.
func (d *developing) until(want string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return strings.Contains(d.out.String()+d.err.String(), want) },
		30*time.Second, 5*time.Millisecond, "%s in\n%s\n%s", want, &d.out, &d.err)
}

// playground is the service that it runs.
func (d *developing) playground() *playground {
	d.until("Earshot listens on ")
	_, rest, _ := strings.Cut(d.out.String(), "Earshot listens on ")
	url, _, _ := strings.Cut(rest, " ")
	return &playground{t: d.t, url: url, variables: map[string]string{"EARSHOT_URL": url}}
}

func TestDevLoadsFilesAndLoadsThemAgainWhenTheyChange(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: one\n---\nkind: toolset\nname: desk\ntools: [one]\n")
	d := develop(t, "-f", "tools.yaml")
	d.until("1 file loaded: created 2, updated 0, left 0, removed 0")
	w := d.playground()
	w.request("PUT", "/v1/apps/clinic/repositories/others", `{"tools":[{"name":"x"}]}`)

	write(t, "next.yaml", "kind: tool\nname: two\n")
	require.NoError(t, os.Rename("next.yaml", "tools.yaml"), "as editors replace a file")
	d.until("- repository clinic/desk\n")
	d.until("  repository clinic/others is not in the files and stays")
	require.Equal(t, "two", firstTool(w, "default"))

	write(t, "tools.yaml", "kind: tol\n")
	d.until("tools.yaml:1:7: unknown kind \"tol\"")
	d.until("the files were not loaded; what is running stays as it was")
	require.Equal(t, "two", firstTool(w, "default"))

	write(t, "tools.yaml", "kind: tool\nname: three\n")
	d.until("tools/three is new")
	require.Equal(t, "three", firstTool(w, "default"))
}

func firstTool(w *playground, repository string) string {
	w.t.Helper()
	tools := w.request("GET", "/v1/apps/clinic/repositories/"+repository, "")["tools"].([]any)
	return tools[0].(map[string]any)["name"].(string)
}

func TestDevFindsNewFilesOfAFolder(t *testing.T) {
	inFolder(t)
	require.NoError(t, os.Mkdir("app", 0o700))
	write(t, filepath.Join("app", "tools.yaml"), "kind: tool\nname: one\n")
	d := develop(t, "-f", "app")
	d.until("1 file loaded")
	write(t, filepath.Join("app", "more.yaml"), "kind: tool\nname: two\n")
	d.until("2 files loaded: created 0, updated 1, left 1, removed 0")
}

func TestDevEndsWhereTheFilesCannotBeLoadedAtStart(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", "kind: tol\n")
	d := develop(t, "-f", "tools.yaml")
	code := <-d.done
	d.done <- code
	require.Equal(t, 1, code)
	require.Contains(t, d.err.String(), "tools.yaml:1:7: unknown kind \"tol\"")
}
