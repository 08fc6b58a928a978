package retrieval_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/repositories/lists"
)

// rows returns the lines of a file, split at bars.
func rows(t testing.TB, file string) [][]string {
	content, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var all [][]string
	for line := range strings.Lines(string(content)) {
		all = append(all, strings.Split(strings.TrimSpace(line), "|"))
	}
	return all
}

// operation is a tool that calls a path with a method, as imported from OpenAPI.
func operation(t testing.TB, name, method, path, description string) string {
	var parameters []map[string]string
	for _, part := range strings.Split(path, "/") {
		if named := strings.Trim(part, "{}"); named != part {
			parameters = append(parameters, map[string]string{"name": named, "type": "string", "description": "The " + named})
			path = strings.Replace(path, part, "{{."+named+"}}", 1)
		}
	}
	tool, err := json.Marshal(map[string]any{"name": name, "type": "http", "source": "api", "method": method, "path": path, "description": description, "pathParams": parameters})
	require.NoError(t, err)
	return string(tool)
}

// catalogue returns the operations of several APIs in their authors' styles.
func catalogue(t testing.TB) []matcher.Candidate {
	tools := lists.Map(rows(t, "catalogue.txt"), func(row []string) string { return operation(t, row[0], row[1], row[2], row[3]) })
	return matchertest.InScope(t, matchertest.Scope, "catalogue", tools...)
}

// TestSearchFindsWhatPeopleMean searches for tools in users' words. The held-out searches were written before the
// tables of acts, and first used when these were complete.
func TestSearchFindsWhatPeopleMean(t *testing.T) {
	candidates, r := catalogue(t), retrieval.New()
	for file, least := range map[string][2]int{"asked.txt": {39, 40}, "asked_held_out.txt": {34, 38}} {
		var first, ofThree int
		all := rows(t, file)
		for _, row := range all {
			found := matchertest.Found(r.Search(t.Context(), request("", candidates), row[0], 3))
			at := slices.IndexFunc(found, func(name string) bool { return slices.Contains(strings.Split(row[1], ","), name) })
			if at == 0 {
				first++
			} else {
				t.Logf("%q finds %v, and means %s", row[0], found, row[1])
			}
			if at >= 0 {
				ofThree++
			}
		}
		t.Logf("%s: right first in %d of %d, among the first three in %d", file, first, len(all), ofThree)
		require.GreaterOrEqual(t, first, least[0], file)
		require.GreaterOrEqual(t, ofThree, least[1], file)
	}
}

func TestSearchKnowsWhatIsDone(t *testing.T) {
	tools := map[string][]string{
		"en": {
			operation(t, "post_v1_refunds", "POST", "/refunds", "Refunds"), operation(t, "post_v1_payments", "POST", "/payments", "Payments"), operation(t, "post_v1_orders", "POST", "/orders", "Orders"),
			operation(t, "get_v1_orders", "GET", "/orders", "Returns all orders"), operation(t, "delete_v1_orders_id", "DELETE", "/orders/{id}", "Order"),
			operation(t, "op17", "DELETE", "/vehicles/{id}", "Vehicle"), operation(t, "op18", "POST", "/vehicles", "Vehicle"), operation(t, "op19", "GET", "/vehicles", "Vehicle"),
			operation(t, "start-server", "POST", "/servers/{id}/start", ""), operation(t, "stop-server", "POST", "/servers/{id}/stop", ""), operation(t, "describe-server", "GET", "/servers/{id}", ""),
		},
		"de": {
			operation(t, "Artikel-Loeschen", "POST", "/artikel/loeschen", "Löscht einen Artikel"), operation(t, "Artikel-Anlegen", "POST", "/artikel/anlegen", "Legt einen Artikel an"),
			operation(t, "Konto-Sperren", "POST", "/konto/sperren", "Ein Konto sperren"), operation(t, "Konto-Entsperren", "POST", "/konto/entsperren", "Ein Konto entsperren"),
		},
		"fr": {
			operation(t, "supprimer-facture", "POST", "/factures/suppression", "Supprimer une facture"), operation(t, "creer-facture", "POST", "/factures", "Créer une facture"),
			operation(t, "rembourser-client", "POST", "/remboursements", "Rembourser un client"),
		},
	}
	for _, c := range []struct{ language, said, want string }{
		{"en", "give the money back", "post_v1_refunds"},
		{"en", "refund a payment", "post_v1_refunds"},
		{"en", "make a payment", "post_v1_payments"},
		{"en", "give me the orders", "get_v1_orders"},
		{"en", "order something", "post_v1_orders"},
		{"en", "deletion of an order", "delete_v1_orders_id"},
		{"en", "which orders are there", "get_v1_orders"},
		{"en", "get rid of this vehicle", "op17"},
		{"en", "set a new vehicle up", "op18"},
		{"en", "look the vehicles up", "op19"},
		{"en", "which server is it", "describe-server"},
		{"en", "shut the server down", "stop-server"},
		{"en", "power up a server", "start-server"},
		{"de", "ich will einen Artikel loswerden", "Artikel-Loeschen"},
		{"de", "einen neuen Artikel erstellen", "Artikel-Anlegen"},
		{"de", "bitte wirf den Artikel weg", "Artikel-Loeschen"},
		{"de", "Sperrung von einem Konto", "Konto-Sperren"},
		{"fr", "je veux effacer une facture", "supprimer-facture"},
		{"fr", "ajouter une facture", "creer-facture"},
		{"fr", "rendre son argent à quelqu'un", "rembourser-client"},
		{"fr", "la suppression de plusieurs factures", "supprimer-facture"},
	} {
		candidates := matchertest.InScope(t, matchertest.Scope, "r", tools[c.language]...)
		found := matchertest.Found(retrieval.New().Search(t.Context(), request("", candidates), c.said, 3))
		require.NotEmpty(t, found, c.said)
		require.Equal(t, c.want, found[0], "%s: %v", c.said, found)
	}
}

func TestSearchPutsWhatUndoesBehind(t *testing.T) {
	candidates := matchertest.InScope(t, matchertest.Scope, "r", `{"name":"start-server","description":"Start a server"}`, `{"name":"stop-server","description":"Stop a server"}`,
		`{"name":"log-of-everything","description":"Lines of the log, the newest at the top, of the server and all that runs beside it"}`, matchertest.TaxiTool)
	for said, behind := range map[string]string{"launch the server": "stop-server", "halt the server": "start-server"} {
		found := matchertest.Found(retrieval.New().Search(t.Context(), request("", candidates), said, 4))
		require.Equal(t, behind, found[2], "%s: %v", said, found)
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{500, 10_000} {
		candidates, messages := matchertest.Many(b, n)
		r, one := retrieval.New(), request("", candidates)
		one.Shared = &matcher.Shared{Tools: candidates}
		r.Search(b.Context(), one, messages[0], 10)
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Search(b.Context(), one, messages[i%len(messages)], 10)
			}
		})
	}
}
