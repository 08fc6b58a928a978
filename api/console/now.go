package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/lists"
	"earshot/trigger/query"
	"earshot/trigger/usage"
	"earshot/trigger/webhooks"
)

type overview struct {
	Period  period
	Use     *usage.Use // nil if it cannot be read
	Charts  []chart
	Unused  string // why there are no charts
	Full    bool   // Redis is full; only shown to the admin
	Denied  string // why the key may not read the records
	Backlog query.Backlog
	More    bool // more have failed than were read
	Causes  []*cause
	Hosts   []usage.Host // that failed or were paused
	Recent  []query.Record
	clock   time.Time
}

// Age returns a rough age.
func (o overview) Age(of *time.Time) string {
	age := o.clock.Sub(*of)
	switch {
	case age < 2*time.Minute:
		return strconv.Itoa(max(0, int(age.Seconds()))) + " s"
	case age < 2*time.Hour:
		return strconv.Itoa(int(age.Minutes())) + " min"
	case age < 48*time.Hour:
		return strconv.Itoa(int(age.Hours())) + " h"
	}
	return strconv.Itoa(int(age.Hours()/24)) + " days"
}

// Offered lists the lengths to choose from.
func (period) Offered() []choice {
	return []choice{{"15m", "15 minutes"}, {"1h", "hour"}, {"24h", "day"}, {"7d", "week"}}
}

type choice struct{ Key, Title string }

// cause is a reason of failed triggers, with their number.
type cause struct {
	Name, Reason, Error string
	Count               int
	Latest              query.Record
}

const sample = "100"

func nowPage(v *pageRequest) error {
	shown := overview{Period: periodOf(v.r.URL.Query(), v.Now()), clock: v.Now()}
	if err := v.readUsage(&shown); err != nil {
		return err
	}
	var failed, recent list[query.Record]
	path := v1("apps", v.app(), "triggers")
	err := errors.Join(
		v.get(v1("apps", v.app(), "backlog"), &shown.Backlog),
		v.get(path+"?limit="+sample+"&state=failed", &failed),
		v.get(path+"?limit=12", &recent),
	)
	found := refused(err, http.StatusForbidden)
	switch {
	case found != nil: // a key that may not read triggers still sees the rest of the page
		shown.Denied = found.Detail
	case err != nil:
		return err
	default:
		shown.Recent, shown.More, shown.Causes = recent.Items, failed.Next != "", causesOf(failed.Items)
	}
	if v.ownApp() == "" {
		metrics, err := v.record(http.MethodGet, "/metrics", nil)
		if err != nil {
			return err
		}
		shown.Full = strings.Contains(metrics.Body.String(), "\nearshot_redis_full 1\n")
	}
	return v.render("now", "Now", shown)
}

// period is the time range of a page.
type period struct {
	Within, Since, Until string // as requested
	From, To             time.Time
	step                 usage.Step
	fault                bool // the times are unreadable or not in order
}

// periodOf reads the time range; the last hour by default.
func periodOf(given url.Values, now time.Time) period {
	p := period{Within: given.Get("within"), Since: momentOf(given.Get("since")), Until: momentOf(given.Get("until"))}
	from, err := time.Parse(time.RFC3339, p.Since)
	to, wrong := time.Parse(time.RFC3339, cmp.Or(p.Until, now.UTC().Format(time.RFC3339)))
	if p.Since == "" {
		if periods[p.Within] == 0 {
			p.Within = "1h"
		}
		from, to, err, wrong, p.Until = now.Add(-periods[p.Within]), now, nil, nil, ""
	} else {
		p.Within = ""
	}
	p.fault = err != nil || wrong != nil || !from.Before(to)
	p.From, p.To, p.step = from.UTC(), to.UTC(), usage.Day
	for _, by := range []usage.Step{usage.Hour, usage.Minute} {
		if now.Sub(from) < time.Duration(by.Number-1)*by.Length {
			p.step = by
		}
	}
	return p
}

// Query returns the range for a link of the console.
func (p period) Query() string {
	return "since=" + url.QueryEscape(p.From.Format(time.RFC3339)) + "&until=" + url.QueryEscape(p.To.Format(time.RFC3339))
}

// steps returns the starts of the period's steps, at most as many as are kept.
func (p period) steps() (at []time.Time) {
	for begins := p.From.Truncate(p.step.Length); begins.Before(p.To) && len(at) < p.step.Number; begins = begins.Add(p.step.Length) {
		at = append(at, begins)
	}
	return at
}

// readUsage reads the app's usage and its hosts in the period. A key that may not read them sees why.
func (v *pageRequest) readUsage(shown *overview) error {
	if shown.Period.fault {
		shown.Unused = "The time has to begin before it ends, as since=2026-12-01T09:00:00Z"
		return nil
	}
	asked := "?limit=200&step=" + shown.Period.step.Name + "&" + shown.Period.Query()
	var all []usage.Use
	for next := ""; ; {
		var page struct {
			list[usage.Use]
			Total usage.Use `json:"total"`
		}
		err := v.get(v1("apps", v.app(), "usage")+asked+next, &page)
		if found := refused(err, http.StatusForbidden, http.StatusBadRequest); found != nil {
			if shown.Unused = found.Detail; found.Status == http.StatusForbidden {
				shown.Unused += ". They need a key of scope app"
			}
			return nil
		}
		if err != nil {
			return err
		}
		all, shown.Use = append(all, page.Items...), &page.Total
		if page.Next == "" {
			break
		}
		next = "&after=" + url.QueryEscape(page.Next)
	}
	shown.Charts = chartsOf(v.app(), shown.Period, all)
	if shown.Period.step == usage.Day {
		return nil
	}
	var hosts list[usage.Host]
	if err := v.get(v1("apps", v.app(), "usage", "hosts")+"?limit=200&"+shown.Period.Query(), &hosts); err != nil {
		return err
	}
	shown.Hosts = slices.DeleteFunc(hosts.Items, func(one usage.Host) bool { return one.Failures+one.Held == 0 })
	return nil
}

// chart holds time series with a common unit.
type chart struct {
	Title, Unit string
	At          []time.Time
	Series      []series
}

type series struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
	Href   string     `json:"href"`
}

// JSON returns the chart for console.js.
func (c chart) JSON() (string, error) {
	at := lists.Map(c.At, func(one time.Time) int64 { return one.Unix() })
	text, err := json.Marshal(struct {
		At     []int64  `json:"at"`
		Series []series `json:"series"`
		Unit   string   `json:"unit"`
	}{at, c.Series, c.Unit})
	return string(text), err
}

// chartRow is a step in the table of a chart.
type chartRow struct {
	At     time.Time
	Values []string // empty if unknown
}

// Rows returns the steps with a count, the newest first.
func (c chart) Rows() (rows []chartRow) {
	for i, at := range slices.Backward(c.At) {
		one, any := chartRow{At: at}, false
		for _, of := range c.Series {
			text := ""
			if value := of.Values[i]; value != nil {
				text = strconv.FormatFloat(*value, 'f', -1, 64)
				any = any || *value != 0
			}
			one.Values = append(one.Values, text)
		}
		if any {
			rows = append(rows, one)
		}
	}
	return rows
}

func chartsOf(app string, p period, all []usage.Use) []chart {
	at := p.steps()
	place := map[int64]int{}
	for i, one := range at {
		place[one.Unix()] = i
	}
	line := func(name, page, query string, of func(usage.Use) *float64) series {
		s := series{Name: name, Values: make([]*float64, len(at)), Href: link("apps", app, page) + "?" + query + "since={from}&until={to}"}
		for i := range s.Values {
			s.Values[i] = of(usage.Use{})
		}
		for _, one := range all {
			if i, is := place[one.Begins.Unix()]; is {
				s.Values[i] = of(one)
			}
		}
		return s
	}
	count := func(of func(usage.Use) int64) func(usage.Use) *float64 {
		return func(used usage.Use) *float64 { n := float64(of(used)); return &n }
	}
	took := func(of func(usage.Durations) float64) func(usage.Use) *float64 {
		return func(used usage.Use) *float64 {
			if used.Decided == nil {
				return nil
			}
			n := of(*used.Decided)
			return &n
		}
	}
	return []chart{
		{"Messages", "messages", at, []series{
			line("matched", "sessions", "outcome=fired&", count(func(u usage.Use) int64 { return u.Matched })),
			line("rejected", "sessions", "outcome=rejected&", count(func(u usage.Use) int64 { return u.Rejected })),
			line("unmatched", "sessions", "outcome=unmatched&", count(func(u usage.Use) int64 { return u.Unmatched })),
		}},
		{"Time to a decision", "ms", at, []series{
			line("half within", "sessions", "", took(func(d usage.Durations) float64 { return d.P50 })),
			line("95 % within", "sessions", "", took(func(d usage.Durations) float64 { return d.P95 })),
		}},
		{"Calls", "calls", at, []series{
			line("calls", "triggers", "", count(func(u usage.Use) int64 { return u.Calls })),
			line("failed calls", "triggers", "state=failed&", count(func(u usage.Use) int64 { return u.CallFailures })),
		}},
		{"Triggers and events", "triggers and events", at, []series{
			line("triggers", "triggers", "", count(func(u usage.Use) int64 { return u.Triggers })),
			line("events", "triggers", "", count(func(u usage.Use) int64 { return u.Events })),
		}},
		{"Model requests", "requests", at, []series{
			line("requests", "sessions", "", count(func(u usage.Use) int64 { return u.ModelRequests })),
		}},
		{"Tokens", "tokens", at, []series{
			line("prompt", "sessions", "", count(func(u usage.Use) int64 { return u.PromptTokens })),
			line("completion", "sessions", "", count(func(u usage.Use) int64 { return u.CompletionTokens })),
		}},
	}
}

// causesOf counts failed triggers by tool and the reason of the last failed attempt, the most frequent
// first.
func causesOf(failed []query.Record) []*cause {
	counted := map[[2]string]*cause{}
	var causes []*cause
	for _, record := range failed {
		found := &cause{Name: record.Name, Latest: record}
		for _, attempt := range slices.Backward(record.Attempts) {
			if attempt.Error != "" || attempt.Reason != "" {
				found.Reason, found.Error = string(attempt.Reason), attempt.Error
				break
			}
		}
		key := [2]string{found.Name, found.Reason}
		if counted[key] == nil {
			counted[key] = found
			causes = append(causes, found)
		}
		counted[key].Count++
	}
	slices.SortStableFunc(causes, func(a, b *cause) int { return cmp.Compare(b.Count, a.Count) })
	return causes
}

// endpoints is the body of the page with webhooks and the hosts of tools.
type endpoints struct {
	Period   period
	Hosts    []usage.Host
	Denied   string // why both are hidden
	Webhooks []webhookShown
	Away     string // why webhooks are hidden
	Resent   string // the webhook that is being resent
	Fault    *problem
}

// webhookShown is a webhook with its first missed deliveries.
type webhookShown struct {
	webhooks.Webhook
	Missed []webhooks.Delivery
	More   bool
}

func endpointsPage(v *pageRequest) error {
	return v.showEndpoints(http.StatusOK, endpoints{Resent: v.r.URL.Query().Get("resent")})
}

func (v *pageRequest) showEndpoints(status int, shown endpoints) error {
	given := v.r.URL.Query()
	if given.Get("within") == "" && given.Get("since") == "" {
		given.Set("within", "24h")
	}
	shown.Period = periodOf(given, v.Now())
	var hosts list[usage.Host]
	err := v.get(v1("apps", v.app(), "usage", "hosts")+"?limit=200&"+shown.Period.Query(), &hosts)
	if found := refused(err, http.StatusForbidden); found != nil {
		shown.Denied = found.Detail
		return v.renderStatus(status, "endpoints", "Endpoints", shown)
	}
	if found := refused(err, http.StatusBadRequest); found != nil {
		shown.Fault, err = found, nil
	}
	var all list[webhooks.Webhook]
	if err == nil {
		err = v.get(v1("apps", v.app(), "webhooks")+"?limit=200", &all)
	}
	if found := refused(err, http.StatusServiceUnavailable); found != nil {
		shown.Away, err = found.Detail, nil
	}
	if err != nil {
		return err
	}
	shown.Hosts = hosts.Items
	for _, one := range all.Items {
		of := webhookShown{Webhook: one}
		if one.Waiting+one.Failed > 0 {
			var missed list[webhooks.Delivery]
			if err := v.get(v1("apps", v.app(), "webhooks", one.Name, "deliveries")+"?limit=20", &missed); err != nil {
				return err
			}
			of.Missed, of.More = missed.Items, missed.Next != ""
		}
		shown.Webhooks = append(shown.Webhooks, of)
	}
	return v.renderStatus(status, "endpoints", "Endpoints", shown)
}

// resend resends to a webhook what did not arrive, or all events since a moment.
func resend(v *pageRequest) error {
	name, body := v.r.PathValue("webhook"), []byte(nil)
	if since := momentOf(v.r.PostForm.Get("since")); since != "" {
		body, _ = json.Marshal(map[string]string{"since": since}) // strings always encode
	}
	if err := v.call(http.MethodPost, v1("apps", v.app(), "webhooks", name, "resend"), body, nil); err != nil {
		fault := problemOf(err)
		return v.showEndpoints(fault.Status, endpoints{Fault: fault})
	}
	return v.redirect(link("apps", v.app(), "endpoints") + "?resent=" + url.QueryEscape(name))
}
