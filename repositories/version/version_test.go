package version

import (
	"encoding/json"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	someCommit = "4bf92f3577b34da6a3ce929d0e0e47364bf92f35"
	someDate   = "2026-12-01T08:30:00Z"
)

func built(of string, settings ...string) *debug.BuildInfo {
	info := &debug.BuildInfo{Main: debug.Module{Version: of}}
	for i := 0; i < len(settings); i += 2 {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
	}
	return info
}

func TestBuildIsReadFromWhatGoHasWritten(t *testing.T) {
	for name, c := range map[string]struct {
		info     *debug.BuildInfo
		version  string
		modified bool
	}{
		"nothing":            {nil, "devel", false},
		"go run":             {built("(devel)"), "devel", false},
		"a tag":              {built("v1.2.3", "vcs.revision", someCommit, "vcs.time", someDate), "1.2.3", false},
		"a tag and changes":  {built("v1.2.3+dirty", "vcs.modified", "true"), "1.2.3+dirty", true},
		"a commit":           {built("(devel)", "vcs.revision", someCommit, "vcs.time", someDate), "0.0.0-20261201083000-4bf92f3577b3", false},
		"commit and changes": {built("", "vcs.revision", someCommit, "vcs.time", someDate, "vcs.modified", "true"), "0.0.0-20261201083000-4bf92f3577b3+dirty", true},
		"no time":            {built("", "vcs.revision", someCommit), "devel", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(c.info)
			require.Equal(t, c.version, got.Version)
			require.Equal(t, c.modified, got.Modified)
			require.NotEmpty(t, got.Go)
			require.Regexp(t, `^\w+/\w+$`, got.Platform)
		})
	}
}

func TestWhatIsLinkedInGoesFirst(t *testing.T) {
	linkedVersion, linkedCommit, linkedDate = "1.2.3", someCommit, someDate
	t.Cleanup(func() { linkedVersion, linkedCommit, linkedDate = "", "", "" })
	got := read(built("v9.9.9", "vcs.revision", "another", "vcs.time", "2001-01-01T00:00:00Z"))
	require.Equal(t, "1.2.3", got.Version)
	require.Regexp(t, `^1\.2\.3 \(commit 4bf92f3577b3 of 2026-12-01T08:30:00Z\) go\S+ \w+/\w+$`, got.String())

	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.Contains(t, string(text), `"commit":"`+someCommit+`","date":"`+someDate+`","modified":false`)
}
