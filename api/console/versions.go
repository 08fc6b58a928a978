package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"earshot/repositories/exactjson"
	"earshot/repositories/store"
)

// versionsBody is the body of the page of versions of a repository.
type versionsBody struct {
	ID       string
	Versions []store.Version
	Next     string
	Chosen   *store.Version
	Against  int // the version that the chosen one is compared with; 0 for none
	Newest   int
	Deleted  bool // the chosen one has no definition
	Changes  []changedLine
	Restored string
	Fault    *problem
}

// changedLine is a line of the definition: in both versions, or with a sign in one of them.
type changedLine struct{ Sign, Text string }

// Name says what a line is, for the colour and for those who do not see it.
func (l changedLine) Name() string {
	return map[string]string{"+": "added", "-": "taken", "…": "gap"}[l.Sign]
}

func versionsPage(v *pageRequest) error {
	shown, err := v.versions()
	if err != nil {
		return err
	}
	return v.render("versions", shown.ID, shown)
}

// versions reads a page of versions, and what the chosen one changed; without a choice, the newest on the page.
func (v *pageRequest) versions() (versionsBody, error) {
	asked := v.r.URL.Query()
	shown := versionsBody{ID: v.r.PathValue("repository"), Restored: asked.Get("restored")}
	path := v1("apps", v.app(), "repositories", shown.ID, "versions")
	var newest, page list[store.Version]
	if err := v.get(path+"?limit=1", &newest); err != nil {
		return shown, err
	}
	if err := v.get(path+"?limit=50&after="+url.QueryEscape(asked.Get("after")), &page); err != nil {
		return shown, err
	}
	shown.Versions, shown.Next, shown.Newest = page.Items, page.Next, newest.Items[0].Number
	number, _ := strconv.Atoi(asked.Get("version"))
	if number == 0 && len(page.Items) > 0 {
		number = page.Items[0].Number
	}
	if number == 0 {
		return shown, nil
	}
	version, after, err := v.definitionOf(shown.ID, number)
	if err != nil {
		return shown, err
	}
	before := ""
	if number > 1 {
		if _, before, err = v.definitionOf(shown.ID, number-1); refused(err, http.StatusNotFound) != nil {
			before, err = "", nil // it made room
		}
	}
	if err != nil {
		return shown, err
	}
	shown.Chosen, shown.Against, shown.Deleted = &version, number-1, after == ""
	shown.Changes, err = changesOf(before, after)
	return shown, err
}

// definitionOf reads a version, and its definition as an editor shows it; empty for a deletion.
func (v *pageRequest) definitionOf(id string, number int) (version store.Version, text string, err error) {
	var found struct {
		store.Version
		Definition *struct {
			From    json.RawMessage `json:"from,omitempty"`
			Options json.RawMessage `json:"options,omitempty"`
			Tools   json.RawMessage `json:"tools"`
		} `json:"definition"`
	}
	if err := v.get(v1("apps", v.app(), "repositories", id, "versions", strconv.Itoa(number)), &found); err != nil {
		return version, "", err
	}
	if found.Definition == nil {
		return found.Version, "", nil
	}
	written, err := exactjson.Encode(found.Definition)
	return found.Version, laidOut(written, "", 5) + "\n", err
}

// changesOf are the lines that differ, with three lines around each.
func changesOf(before, after string) (lines []changedLine, err error) {
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), 3)
	for i, hunk := range diff.Hunks {
		if i > 0 {
			lines = append(lines, changedLine{"…", ""})
		}
		for _, line := range hunk.Lines {
			sign := map[udiff.OpKind]string{udiff.Insert: "+", udiff.Delete: "-"}[line.Kind]
			lines = append(lines, changedLine{sign, strings.TrimRight(line.Content, "\n")})
		}
	}
	return lines, err
}

// restoreVersion writes a version as the newest one.
func restoreVersion(v *pageRequest) error {
	id, version := v.r.PathValue("repository"), v.r.PostForm.Get("version")
	at := link("apps", v.app(), "versions", id)
	err := v.call(http.MethodPost, v1("apps", v.app(), "repositories", id, "versions", version, "restore"), nil, nil)
	if err == nil {
		return v.redirect(at + "?restored=" + url.QueryEscape(version))
	}
	if refused(err, http.StatusUnauthorized) != nil {
		return err
	}
	shown, wrong := v.versions()
	if wrong != nil {
		return wrong
	}
	shown.Fault = problemOf(err)
	return v.renderStatus(shown.Fault.Status, "versions", shown.ID, shown)
}
