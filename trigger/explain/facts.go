package explain

import (
	"fmt"

	"earshot/repositories"
	"earshot/repositories/exactjson"
)

// listing is what an explanation keeps of a repository: enough to work out which of its tools
// were in scope, whoever asked.
type listing struct {
	ID        string       `json:"id"`
	Session   bool         `json:"session,omitempty"`
	Exclusive bool         `json:"exclusive,omitempty"`
	Once      bool         `json:"once,omitempty"`
	Tools     []listedTool `json:"tools"`
}

type listedTool struct {
	Name string `json:"name"`
	// Needs says why the tool is out of scope without a verified user; empty for a tool
	// that asks for none.
	Needs string `json:"needs,omitempty"`
}

type facts struct {
	listing []byte
	hidden  hidden
	mask    mask
}

// AppFacts are what is worked out once of an app's state: the tools of its repositories, and
// what is to be masked.
type AppFacts struct {
	ranked   []*repositories.Repository
	listings [][]byte // and their names as parts
	names    []string
	list     []byte // of the listings, and its name; nil without any
	listName string
	mask     mask
}

// FactsOf works out the facts of an app with its repositories, in the order in which they win
// a name.
func (p *Packer) FactsOf(app *repositories.App, ranked []*repositories.Repository) *AppFacts {
	of := &AppFacts{ranked: ranked}
	var all hidden
	var pieces []string
	all.credentials(app.Credentials())
	for _, repository := range ranked {
		found := p.facts(repository)
		name := p.name(found.listing)
		of.listings, of.names, pieces = append(of.listings, found.listing), append(of.names, name), append(pieces, shared+name)
		all = append(all, found.hidden...)
	}
	if len(pieces) > 0 {
		of.list = exactjson.EncodeOrNull(pieces)
		of.listName = p.name(of.list)
	}
	of.mask = all.replacer()
	return of
}

func (p *Packer) facts(r *repositories.Repository) *facts {
	if known, is := p.known.Get(r); is {
		return known
	}
	f, list := &facts{}, listing{ID: r.ID, Session: r.SessionID != "", Exclusive: r.Options.Exclusive, Once: r.Options.TriggerOnce}
	f.hidden.credentials(r.Credentials())
	for i := range r.Tools {
		tool := &r.Tools[i]
		one := listedTool{Name: tool.Name}
		if _, err := tool.For(nil); err != nil {
			one.Needs = err.Error()
		}
		list.Tools = append(list.Tools, one)
		f.hidden.tool(tool)
	}
	f.listing, f.mask = exactjson.EncodeOrNull(list), f.hidden.replacer()
	p.known.Add(r, f)
	return f
}

type placed struct {
	listing
	listedTool
}

// sorted parts the tools of listings, in the order in which they win a name, into those that
// are in scope and those that are not. barred has why a verified user may not use a tool, by
// repository and tool.
func sorted(listings []listing, verified bool, barred map[string]string) (in []placed, out []Barred) {
	taken := map[string]placed{}
	for _, repository := range listings {
		for _, tool := range repository.Tools {
			one := placed{repository, tool}
			switch before, is := taken[tool.Name]; {
			case is && tool.Name != repositories.CatchAll:
				out = append(out, one.barred(Shadowed, fmt.Sprintf("The tool of the same name in %s comes before it.", before.where())))
			case is:
				out = append(out, one.barred(Shadowed, fmt.Sprintf("The catch-all in %s comes before it.", before.where())))
			case one.why(verified, barred) != "":
				out = append(out, one.barred(Unverified, one.why(verified, barred)))
			default:
				taken[tool.Name] = one
				in = append(in, one)
			}
		}
	}
	return in, out
}

func (p placed) why(verified bool, barred map[string]string) string {
	if !verified || p.Needs == "" {
		return p.Needs
	}
	return barred[toolKey(p.Session, p.ID, p.Name)]
}

func toolKey(session bool, repositoryID, name string) string {
	if session {
		return "session/" + repositoryID + "/" + name
	}
	return repositoryID + "/" + name
}

func (p placed) where() string {
	if p.Session {
		return "repository " + p.ID + " of the session"
	}
	return "repository " + p.ID + " of the app"
}

func (p placed) barred(reason, why string) Barred {
	return Barred{RepositoryID: p.ID, Session: p.Session, Name: p.Name, Reason: reason, Why: why}
}
