package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestLinksLeadSomewhere(t *testing.T) {
	link, code := regexp.MustCompile(`\]\(([^)\s]+)\)`), regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	pages := append(documents(t), testbed.Got(filepath.Glob("reference/*.md"))(t)...)
	for _, path := range append(pages, "README.md", "../README.md", "../SECURITY.md", "../../SECURITY.md") {
		text := testbed.Read(t, path)
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(text, "code"), -1) {
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
	text := testbed.Read(t, path)
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	for _, own := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(text, -1) {
		anchors = append(anchors, own[1])
	}
	return anchors
}
