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
	"earshot/trigger/trial"
)

type versionsBody struct {
	ID       string
	Versions []store.Version
	Next     string
	Chosen   *store.Version
	Against  int // the version that the chosen one is compared with; 0 for none
	Newest   int
	Deleted  bool // the chosen version has no definition
	Changes  []changedLine
	Restored string
	Fault    *problem
}

func versionsPage(v *pageRequest) error {
	shown, err := v.versions()
	if err != nil {
		return err
	}
	return v.render("versions", shown.ID, shown)
}

// versions reads a page of versions and the diff of the chosen one; by default, the newest on the page.
func (v *pageRequest) versions() (versionsBody, error) {
	asked := v.r.URL.Query()
	shown := versionsBody{ID: v.r.PathValue("repository"), Restored: asked.Get("restored")}
	path := v1("apps", v.app(), "repositories", shown.ID, "versions")
	var listed, newest list[store.Version]
	if err := v.get(path+"?limit=50&after="+url.QueryEscape(asked.Get("after")), &listed); err != nil {
		return shown, err
	}
	if newest = listed; asked.Get("after") != "" {
		if err := v.get(path+"?limit=1", &newest); err != nil {
			return shown, err
		}
	}
	shown.Versions, shown.Next, shown.Newest = listed.Items, listed.Next, newest.Items[0].Number
	number, _ := strconv.Atoi(asked.Get("version"))
	if number == 0 && len(listed.Items) > 0 {
		number = listed.Items[0].Number
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
			before, err = "", nil // that version was dropped
		}
	}
	if err != nil {
		return shown, err
	}
	shown.Chosen, shown.Against, shown.Deleted = &version, number-1, after == ""
	shown.Changes, err = changesOf(before, after)
	return shown, err
}

// definitionOf reads a version, and its definition as formatted text; empty for a deletion.
func (v *pageRequest) definitionOf(id string, number int) (version store.Version, text string, err error) {
	var found struct {
		store.Version
		Definition *authored `json:"definition"`
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

// authored is the part of a repository that its author writes.
type authored struct {
	Options json.RawMessage `json:"options,omitempty"`
	From    json.RawMessage `json:"from,omitempty"`
	Tools   json.RawMessage `json:"tools"`
}

// changedLine is a line of a diff, with a sign if it was added or removed.
type changedLine struct{ Sign, Text string }

// Name returns the class of a line, for colours and screen readers.
func (l changedLine) Name() string {
	return map[string]string{"+": "added", "-": "taken", "…": "gap"}[l.Sign]
}

// changesOf returns the lines that differ, with three lines of context.
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

// rehearsal is the outcome of a change of tools, or why it is unknown.
type rehearsal struct {
	*trial.Outcome
	App   string
	Fault *problem
}

// mostShown is how many differing messages a page lists.
const mostShown = 20

// Shown returns the first differing messages.
func (r rehearsal) Shown() []trial.Difference {
	return r.Differences[:min(len(r.Differences), mostShown)]
}

// Hidden counts the other differing messages.
func (r rehearsal) Hidden() int { return len(r.Differences) + r.MoreDifferences - len(r.Shown()) }

// Differing counts all differing messages.
func (r rehearsal) Differing() int { return r.Messages.Tried - r.Messages.Same }

// TestsThatDiffer returns the tests whose outcome changes, or that fail with the new tools.
func (r rehearsal) TestsThatDiffer() (some []trial.TestOutcome) {
	for _, one := range r.Tests {
		if one.Before.OK != one.After.OK || !one.After.OK {
			some = append(some, one)
		}
	}
	return some
}

// rehearsed rehearses messages and tests.
func (v *pageRequest) rehearsed(asked map[string]any) (rehearsal, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return rehearsal{}, err
	}
	found := rehearsal{App: v.app(), Outcome: &trial.Outcome{}}
	err = v.call(http.MethodPost, v1("apps", v.app(), "rehearsals"), body, found.Outcome)
	if err != nil && refused(err, http.StatusUnauthorized) == nil {
		found.Fault, err = problemOf(err), nil
	}
	return found, err
}
