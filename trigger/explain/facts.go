package explain

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/maphash"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/repositories"
	"earshot/repositories/exactjson"
)

// listing is what an explanation stores of a repository: enough to derive which of its tools were in scope for
// any user.
type listing struct {
	ID        string       `json:"id"`
	Session   bool         `json:"session,omitempty"`
	Exclusive bool         `json:"exclusive,omitempty"`
	Once      bool         `json:"once,omitempty"`
	Tools     []listedTool `json:"tools"`
}

type listedTool struct {
	Name string `json:"name"`
	// Needs is why the tool is out of scope without a verified user; empty if it needs none.
	Needs string `json:"needs,omitempty"`
}

type facts struct {
	listing []byte
	hidden  hidden
	mask    mask
}

const (
	knownRepositories = 8192
	knownParts        = 32768
)

// Packer packs explanations. It is safe for concurrent use.
type Packer struct {
	keep  time.Duration
	now   func() time.Time
	seed  maphash.Seed
	known *lru.Cache[*repositories.Repository, *facts]
	refs  *lru.Cache[uint64, string] // by a hash of the content
	heads *lru.Cache[uint64, string] // names of lists, by a hash of the owner and the content
	// written is when a part was last written, by owner and name.
	written *lru.Cache[[2]string, time.Time]
}

// NewPacker returns a packer for explanations that are kept for keep.
func NewPacker(keep time.Duration, now func() time.Time) *Packer {
	known, _ := lru.New[*repositories.Repository, *facts](knownRepositories) // fails for a size of 0 only
	refs, _ := lru.New[uint64, string](knownParts)
	heads, _ := lru.New[uint64, string](knownRepositories)
	written, _ := lru.New[[2]string, time.Time](knownParts)
	return &Packer{keep: keep, now: now, seed: maphash.MakeSeed(), known: known, refs: refs, heads: heads, written: written}
}

// AppFacts are computed once per state of an app: the tools of its repositories, and the texts to be masked.
type AppFacts struct {
	ranked   []*repositories.Repository
	listings [][]byte // names are their part names
	names    []string
	list     []byte // of the listings, with its part name; nil for none
	listName string
	mask     mask
}

// FactsOf computes the facts of an app with its repositories, in the order in which they win a name.
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

func (p *Packer) name(content []byte) string {
	key := maphash.Bytes(p.seed, content)
	name, is := p.refs.Get(key)
	if !is {
		sum := sha256.Sum256(content)
		name = base64.RawURLEncoding.EncodeToString(sum[:12])
		p.refs.Add(key, name)
	}
	return name
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
		params := tool.Params()
		var values map[string]any
		for _, name := range params.Names() {
			if !params.Hidden(name) {
				continue
			}
			if values == nil {
				values = params.Read(nil).Values
			}
			f.hidden.value(values[name])
		}
	}
	f.listing, f.mask = exactjson.EncodeOrNull(list), f.hidden.replacer()
	p.known.Add(r, f)
	return f
}

type placed struct {
	listing
	listedTool
}

// sorted divides the tools of listings, in the order in which they win a name, into those in scope and those
// not. barred has the reasons why a verified user may not use tools, by repository and tool.
func sorted(listings []listing, verified bool, barred map[string]string) (in []placed, out []Barred) {
	taken := map[string]placed{}
	for _, repository := range listings {
		for _, tool := range repository.Tools {
			one := placed{repository, tool}
			switch before, is := taken[tool.Name]; {
			case is && tool.Name != repositories.CatchAll:
				out = append(out, one.barred(Shadowed, fmt.Sprintf("The tool of the same name in %s comes before it.", before.where())))
			case is:
				out = append(out, one.barred(Shadowed, fmt.Sprintf("The fallback tool in %s comes before it.", before.where())))
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
