package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

var (
	settingFlag     = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`)
	settingVariable = regexp.MustCompile(`\(([A-Z_]+)\)`)
)

// requireSettings looks in operations.md for every setting of serve, by its variable or else by its flag.
func requireSettings(t *testing.T, program string) {
	t.Helper()
	help, err := exec.Command(program, "serve", "--help").Output()
	require.NoError(t, err)
	text, err := os.ReadFile("operations.md")
	require.NoError(t, err)
	flags := 0
	for line := range strings.Lines(string(help)) {
		flag := settingFlag.FindStringSubmatch(line)
		if flag == nil || flag[1] == "help" {
			continue
		}
		flags++
		setting := "--" + flag[1]
		if variable := settingVariable.FindAllStringSubmatch(line, -1); variable != nil {
			setting = variable[len(variable)-1][1]
		}
		require.Contains(t, string(text), "`"+setting+"`", "a setting that operations.md does not describe")
	}
	require.Greater(t, flags, 30)
}

func TestLinksLeadSomewhere(t *testing.T) {
	link, code := regexp.MustCompile(`\]\(([^)\s]+)\)`), regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for _, path := range append(documents(t), "README.md", "../README.md", "../SECURITY.md", "../../SECURITY.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), "code"), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
				_, err := os.Stat(file)
				require.NoError(t, err, "%s links to %s", path, found[1])
			}
			if anchor != "" {
				require.Contains(t, anchorsOf(t, file), anchor, "%s links to %s", path, found[1])
			}
		}
	}
}

// anchorsOf are the anchors that GitHub gives the headings of a document, and its own.
func anchorsOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	for _, own := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(string(text), -1) {
		anchors = append(anchors, own[1])
	}
	return anchors
}
