package matcher

import (
	"net/http"
	"slices"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/fault"
)

// final are the acts that nobody takes back, by what they do in words.
var final = map[string]string{
	"pay": movesMoney, "repay": movesMoney, "refund": movesMoney, "charge": movesMoney, "transfer": movesMoney,
	"buy": "orders something", "delete": "deletes something",
}

// What tools do that nobody takes back.
const (
	movesMoney   = "moves money"
	endsContract = "ends a contract"
)

// ending are the acts that end a contract, where they are done to one.
var ending = []string{"cancel", "delete", "close", "unsubscribe"}

// irreversible says in words what a tool does that nobody takes back, as far as its name tells,
// or its description where the name has no plain verb; empty for most tools, for those that only
// read, and for those that settle, which can be taken back.
func irreversible(app *repositories.App, tool *repositories.Tool) string {
	if tool.Settle > 0 || reads(app, tool) {
		return ""
	}
	for _, verb := range verbsOf(tool) {
		if does := whatNobodyTakesBack(verb, tool); does != "" {
			return does
		}
	}
	return ""
}

// harmless are acts by which a description tells that the noun of a name is a thing: "order-status"
// orders nothing.
var harmless = []string{"read", "many", "track", "verify", "count", "calculate", "update"}

// verbsOf are the acts of each verb by which a tool says what it does.
func verbsOf(tool *repositories.Tool) [][]string {
	named, described := text.ActingIn(tool.Name), text.ActingIn(tool.Description)
	doubtful := described.Plain && !slices.ContainsFunc(slices.Concat(described.Acts...), func(act string) bool { return !slices.Contains(harmless, act) })
	switch acts := text.ActsOfMethod(tool.Method); {
	case len(named.Acts) > 0 && (named.Plain || !doubtful):
		return named.Acts
	case len(described.Acts) == 0 && acts != nil:
		return [][]string{acts}
	}
	return described.Acts
}

// whatNobodyTakesBack is what a verb does, all of whose senses are irreversible: "close" is not,
// unless it is done to an account.
func whatNobodyTakesBack(verb []string, tool *repositories.Tool) string {
	about := text.Split(text.Identifier(tool.Name) + " " + tool.Description)
	says := func(list text.List) bool {
		return slices.ContainsFunc(about, func(w text.Word) bool { return list.Has(w.Norm) })
	}
	ends := slices.ContainsFunc(verb, func(act string) bool { return slices.Contains(ending, act) })
	if ends && says(text.ContractWords) {
		return endsContract
	}
	does := ""
	for _, act := range verb {
		if does = final[act]; does == "" {
			return ""
		}
	}
	if slices.Contains(verb, "transfer") && !says(text.MoneyWords) && !hasAmount(tool) {
		return "" // of a call, or of a file
	}
	return does
}

// hasAmount reports whether a parameter is named for an amount.
func hasAmount(tool *repositories.Tool) bool {
	return slices.ContainsFunc(tool.Params().Names(), func(name string) bool {
		return slices.ContainsFunc(text.Split(text.Identifier(name)), func(w text.Word) bool { return w.Is(text.AmountNames) })
	})
}

// reads reports whether a tool changes nothing.
func reads(app *repositories.App, tool *repositories.Tool) bool {
	switch {
	case tool.RunsStatement():
		return app.ReadOnly(tool)
	case tool.ReadOnly != nil:
		return *tool.ReadOnly
	}
	return tool.Method == http.MethodGet || tool.Request != nil && tool.Request.Method == http.MethodGet
}

// AsksFirst says why a tool that a message calls for asks before it takes effect, though it does
// not say so itself: the app wants it where the words decided. It is empty where it does not ask.
func AsksFirst(app *repositories.App, stage string, tool *repositories.Tool) string {
	byWords := stage == StageExact || stage == StageOffline
	if !byWords || tool.Confirm != "" || tool.Name == repositories.CatchAll {
		return ""
	}
	switch app.Settings.Offline.Confirm {
	case repositories.ConfirmIrreversible:
		if does := irreversible(app, tool); does != "" {
			return "the words alone decided, the tool " + does + `, and settings.offline.confirm is "irreversible"`
		}
	case repositories.ConfirmAlways:
		if !reads(app, tool) {
			return `the words alone decided, and settings.offline.confirm is "always"`
		}
	}
	return ""
}

// Unconfirmed advises a confirm for each tool of a repository that does what nobody takes back, and
// of which neither it nor the app says whether it asks first. The places are those of the tools.
func Unconfirmed(app *repositories.App, r *repositories.Repository) fault.List {
	var notes fault.List
	for i := range r.Tools {
		if r.Tools[i].Confirm != "" || app.Settings.Offline.Confirm != "" {
			continue
		}
		if does := irreversible(app, &r.Tools[i]); does != "" {
			notes.Add(fault.Point("tools", i), "%s and fires without a question: set its confirm, or settings.offline.confirm of the app", does)
		}
	}
	return notes
}
