package verify

import (
	"context"
	"slices"
	"strings"

	"earshot/repositories/keyspace"
)

// script is one text of Lua that looks at something, in two forms: one writes nothing, the other
// mends what it finds. It returns its faults, three texts each: the rule, what is to be said of
// it, and ” where nothing mends it, '0' where something would, '1' where it did.
type script struct{ look, mend *keyspace.Script }

// faultLua defines fault(rule, detail, repair), which notes a fault, and where it is to be mended
// calls repair; nil where nothing mends it. ofNoApp(app, apps, id) reports whether an app is
// neither there nor listed.
const faultLua = `
local faults = {}
local function fault(rule, detail, repair)
  faults[#faults + 1] = rule
  faults[#faults + 1] = tostring(detail or '')
  faults[#faults + 1] = repair and (mend and '1' or '0') or ''
  if repair and mend then repair() end
end
local function ofNoApp(app, apps, id)
  return redis.call('EXISTS', app) == 0 and not redis.call('ZSCORE', apps, id)
end
`

func newScript(parts ...string) *script {
	text := strings.Join(append([]string{faultLua}, parts...), "\n")
	return &script{keyspace.NewReadingScript("local mend = false", text), keyspace.NewFreeingScript("local mend = true", text)}
}

// probe is one look of a script at one thing.
type probe struct {
	*script
	keys []string
	args []any
	app  string
	of   string // what it is about, in words
}

func (p probe) call() keyspace.Call { return keyspace.Call{Keys: p.keys, Args: p.args} }

func (p probe) name() string { return p.app + "\x00" + p.of }

// So many looks are sent in one round trip, and so many suspects are remembered at most before
// they are looked at again.
const (
	together     = 100
	mostSuspects = 10_000
)

// ask looks, and remembers what looks like a fault.
func (w *walk) ask(ctx context.Context, probes []probe) error {
	err := w.each(ctx, probes, false, func(p probe, _ []Finding) {
		if !w.suspected[p.name()] {
			w.suspected[p.name()] = true
			w.suspects = append(w.suspects, p)
		}
	})
	if err == nil && len(w.suspects) >= mostSuspects {
		err = w.judge(ctx)
	}
	return err
}

// judge looks at all suspects again after a pause: what is still there is a fault.
func (w *walk) judge(ctx context.Context) error {
	suspects := w.suspects
	w.suspects = nil
	if len(suspects) == 0 {
		return nil
	}
	if err := w.Pause(ctx); err != nil {
		return err
	}
	clear(w.suspected)
	w.strays(suspects)
	return w.each(ctx, suspects, w.Mend, func(_ probe, list []Finding) {
		for _, one := range list {
			w.found(one)
		}
	})
}

// each runs probes, those of one script together, and hands out those that found something.
func (w *walk) each(ctx context.Context, probes []probe, mend bool, do func(probe, []Finding)) error {
	for len(probes) > 0 {
		same := 1
		for same < len(probes) && same < together && probes[same].script == probes[0].script {
			same++
		}
		replies, err := w.replies(ctx, probes[:same], mend)
		if err != nil {
			return err
		}
		for i, reply := range replies {
			if list := probes[i].findings(reply); len(list) > 0 {
				do(probes[i], list)
			}
		}
		probes = probes[same:]
	}
	return nil
}

func (w *walk) replies(ctx context.Context, probes []probe, mend bool) ([]any, error) {
	calls, run := make([]keyspace.Call, len(probes)), probes[0].look
	for i, one := range probes {
		calls[i] = one.call()
	}
	if mend {
		run = probes[0].mend
	}
	return run.RunAll(ctx, w.DB, calls)
}

// findings reads the reply of a script.
func (p probe) findings(reply any) (list []Finding) {
	fields, _ := reply.([]any)
	for one := range slices.Chunk(keyspace.Fields(fields), 3) {
		list = append(list, Finding{Rule: one[0], App: p.app, Of: p.of, Detail: one[1], Mended: one[2] == "1"})
	}
	return list
}
