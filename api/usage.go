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

// Usage tells what apps have used. usage.Counter implements it.
type Usage interface {
	Days(ctx context.Context, appID string, from, to time.Time) ([]usage.Day, error)
}

// usages serves what apps have used.
type usages struct {
	usage Usage
	now   func() time.Time
}

func (h usages) routes() []route {
	return []route{{method: http.MethodGet, path: ofApp + "/usage", handle: h.list, query: append([]string{"from", "to"}, pageQuery...)}}
}

// usageDays is how many days are listed by default.
const usageDays = 30

func (h usages) list(c echo.Context) error {
	a := &searchQuery{c: c}
	from, to := a.day("from"), a.day("to")
	if to.IsZero() {
		to = h.now().UTC()
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, 1-usageDays)
	}
	if days := to.Sub(from).Hours() / 24; days < 0 {
		a.fault("to is before from")
	} else if days >= usage.Kept {
		a.fault("from and to are " + strconv.Itoa(int(days)+1) + " days; ask for " + strconv.Itoa(usage.Kept) + " at most, as long as they are kept")
	}
	if err := a.problem(); err != nil {
		return err
	}
	items, err := h.usage.Days(c.Request().Context(), c.Param("appId"), from, to)
	if err != nil {
		return err
	}
	return listNamed(c, items, func(one usage.Day) string { return one.Day })
}

// day reads a parameter that is a day, of UTC; the zero time where it is left out.
func (a *searchQuery) day(name string) time.Time {
	given := a.c.QueryParam(name)
	if given == "" {
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, given)
	if err != nil {
		a.fault(name + " " + answer.Quote(given) + " is no day, as 2026-11-30")
	}
	return day
}

// unused has counted nothing.
type unused struct{}

// Days returns none.
func (unused) Days(context.Context, string, time.Time, time.Time) ([]usage.Day, error) {
	return nil, nil
}
