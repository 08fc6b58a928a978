package house_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// realTime are the functions that may read the real clock, each with its reason.
var realTime = map[string]string{
	"api.discardRest":             ofDeadlines,
	"api.eventWriter.write":       ofDeadlines,
	"api/mcp.stream.send":         ofDeadlines,
	"api/mqtt.Server.admit":       ofDeadlines,
	"api/server.pace.step":        ofDeadlines,
	"httpcall.tokenCache.request": "oauth2 says when a token ends by the real clock",
	"matcher/llm.gemini.complete": ofDeadlines,

	"repositories/store.freshCache.get":          ofRevocations,
	"repositories/store.freshCache.read":         ofRevocations,
	"trigger/effect.Late":                        ofDeadlines,
	"trigger.decider.commit":                     ofLeases,
	"trigger/delivery.Deliveries.BeginCall":      ofLeases,
	"trigger/delivery.writeBehind.publish":       ofLeases,
	"trigger/delivery.Deliveries.publishInOrder": ofLeases,
	"trigger/delivery.Deliveries.publishRun":     ofLeases,
	"trigger/delivery.Deliveries.takeCall":       ofLeases,
	"trigger/delivery.writeBehind.writeRuns":     ofLeases,
	"trigger/delivery.First.isLate":              ofLeases,
	"trigger/delivery.First.publishResults":      ofLeases,
	"trigger/delivery.First.flush":               ofLeases,
	"emitter.Emitter.send":                       ofLeases,
}

const (
	ofDeadlines   = "the deadlines of contexts and connections are by the real clock"
	ofLeases      = "a lease runs on in Redis, whatever clock is given here, and ends a context"
	ofRevocations = "a revocation waits until no replica uses what it has read before, whatever clock is given there"
)

var realServers = []string{"deploy/testbed"}

// TestTimeIsInjected allows the real clock only as the default of a clock in options (o.Now = time.Now), and in programs.
func TestTimeIsInjected(t *testing.T) {
	found, excuses := findings{}, newReasons("realTime", realTime)
	for _, s := range production(t) {
		if s.folder() == "cmd" || s.folder() == "deploy" || slices.Contains(realServers, s.pkg()) {
			continue
		}
		for _, declaration := range s.file.Decls {
			name := s.pkg() + "." + nameOf(declaration)
			for _, node := range clocks(declaration) {
				if !excuses.has(name) {
					found.add(s.pkg(), "%s: %s asks the real clock: give it one, or say in realTime why not", at(node), name)
				}
			}
		}
	}
	found.report(t)
	excuses.report(t)
}

func clocks(declaration ast.Decl) []ast.Node {
	var found []ast.Node
	ast.Inspect(declaration, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			return !isDefaultClock(n)
		case *ast.SelectorExpr:
			if from, is := n.X.(*ast.Ident); is && from.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, n.Sel.Name) {
				found = append(found, node)
			}
		}
		return true
	})
	return found
}

// isDefaultClock reports whether an assignment is one of time.Now to a field for a clock.
func isDefaultClock(assignment *ast.AssignStmt) bool {
	field, is := assignment.Lhs[0].(*ast.SelectorExpr)
	if !is || !strings.EqualFold(field.Sel.Name, "now") || len(assignment.Rhs) != 1 {
		return false
	}
	_, value := assignment.Rhs[0].(*ast.SelectorExpr)
	return value
}

// nameOf is the name of a function with its receiver, or the first name of another declaration.
func nameOf(declaration ast.Decl) string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return receiverName(d) + "." + d.Name.Name
		}
		return d.Name.Name
	case *ast.GenDecl:
		for _, name := range declared(d) {
			return name.Name
		}
	}
	return ""
}

func declared(d *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}

func receiverName(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	for {
		switch node := of.(type) {
		case *ast.StarExpr:
			of = node.X
		case *ast.IndexExpr:
			of = node.X
		case *ast.IndexListExpr:
			of = node.X
		case *ast.Ident:
			return node.Name
		default:
			return ""
		}
	}
}
