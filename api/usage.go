package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/trigger/usage"
)

// Usage returns what apps have used. usage.Counter implements it.
type Usage interface {
	Read(ctx context.Context, appID string, by usage.Step, from, to time.Time) (list []usage.Used, total usage.Used, err error)
	Hosts(ctx context.Context, appID string, by usage.Step, from, to time.Time) ([]usage.Host, error)
}

type usages struct {
	usage Usage
	now   func() time.Time
}

func (h usages) routes() []route {
	return []route{
		{method: http.MethodGet, path: ofApp + "/usage", handle: h.list, query: append([]string{"from", "to", "step", "since", "until"}, pageQuery...)},
		{method: http.MethodGet, path: ofApp + "/usage/hosts", handle: h.hosts, query: append([]string{"since", "until"}, pageQuery...)},
	}
}

var usageSteps = []string{usage.Minute.Name, usage.Hour.Name, usage.Day.Name}

// Default lengths of the list.
const (
	usageDays    = 30
	usageHours   = 24
	usageMinutes = 60
)

func (h usages) list(c echo.Context) error {
	a := &searchQuery{c: c}
	by, back := usage.Day, usageDays
	switch a.oneOf("step", usageSteps) {
	case usage.Minute.Name:
		by, back = usage.Minute, usageMinutes
	case usage.Hour.Name:
		by, back = usage.Hour, usageHours
	}
	from, to := a.usedTime(by, h.now(), back)
	if err := a.problem(); err != nil {
		return err
	}
	all, total, err := h.usage.Read(c.Request().Context(), c.Param("appId"), by, from, to)
	if err != nil {
		return err
	}
	items, next, err := pageNamed(c, all, func(one usage.Used) string { return one.Begins.Format(time.RFC3339) })
	return answer.Result(c, http.StatusOK, struct {
		Items []usage.Used `json:"items"`
		Next  string       `json:"next,omitempty"`
		Total usage.Used   `json:"total"`
	}{append([]usage.Used{}, items...), cursorOf(c, next), total}, err)
}

// hosts lists hosts by minutes if these are kept for the whole time, otherwise by hours.
func (h usages) hosts(c echo.Context) error {
	a := &searchQuery{c: c}
	by, back := usage.Minute, usageMinutes
	if since := a.time("since"); !since.IsZero() && h.now().Sub(since) >= time.Duration(by.Kept-1)*by.Length {
		by, back = usage.Hour, usageHours
	}
	from, to := a.usedTime(by, h.now(), back)
	if err := a.problem(); err != nil {
		return err
	}
	items, err := h.usage.Hosts(c.Request().Context(), c.Param("appId"), by, from, to)
	if err != nil {
		return err
	}
	return listNamed(c, items, func(one usage.Host) string { return one.Name })
}

// usedTime reads the requested time range: since and until, or the days from and to. Its length is limited
// by how long its steps are kept.
func (a *searchQuery) usedTime(by usage.Step, now time.Time, back int) (from, to time.Time) {
	since, until, first, last := a.time("since"), a.time("until"), a.day("from"), a.day("to")
	days := !first.IsZero() || !last.IsZero()
	if days && (by != usage.Day || !since.IsZero() || !until.IsZero()) {
		a.fault("from and to name days, where step is day: name times by since and until")
	}
	if to = last; !days && !until.IsZero() {
		to = until.Add(-1) // until is exclusive
	}
	if to.IsZero() {
		to = now.UTC()
	}
	if from = first; !days {
		from = since
	}
	if from.IsZero() {
		from = to.Add(-time.Duration(back-1) * by.Length)
	}
	names := [2]string{"since", "until"}
	if days {
		names = [2]string{"from", "to"}
	}
	if count := int(to.Truncate(by.Length).Sub(from.Truncate(by.Length))/by.Length) + 1; to.Before(from) {
		a.fault(names[1] + " is before " + names[0])
	} else if count > by.Kept {
		a.fault(names[0] + " and " + names[1] + " are " + strconv.Itoa(count) + " " + by.Name + "s; ask for " + strconv.Itoa(by.Kept) + " at most, as long as they are kept")
	}
	return from, to
}

// unused implements Usage without any counts.
type unused struct{}

func (unused) Read(context.Context, string, usage.Step, time.Time, time.Time) ([]usage.Used, usage.Used, error) {
	return nil, usage.Used{}, nil
}

func (unused) Hosts(context.Context, string, usage.Step, time.Time, time.Time) ([]usage.Host, error) {
	return nil, nil
}
