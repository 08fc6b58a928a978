package explain

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/maphash"
	"slices"
	"time"
	"weak"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/repositories"
	"earshot/repositories/bounded"
	"earshot/repositories/exactjson"
)

// repositoryListing is what an explanation stores of a repository: enough to derive which of its tools were in scope for
// any user.
type repositoryListing struct {
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
	hidden  hiddenTexts
	mask    mask
}

const (
	cachedRepositories = 8192
	cachedFacts        = 32 << 20 // bytes of the facts of these repositories
	cachedParts        = 32768
)

// Packer packs explanations. It is safe for concurrent use.
type Packer struct {
	keep      time.Duration
	now       func() time.Time
	seed      maphash.Seed
	facts     *bounded.Cache[weak.Pointer[repositories.Repository], *facts] // keeps no repository that was written anew
	partNames *lru.Cache[uint64, string]                                    // by a hash of the content
	listNames *lru.Cache[uint64, string]                                    // names of lists, by a hash of the owner and the content
	written   *lru.Cache[[2]string, time.Time]                              // when a part was last written, by owner and name
	texts     *lru.Cache[[2]string, askedText]                              // of the last explanation, by owner and session
	drafts    *lru.Cache[uint64, Packed]                                    // without their texts, by a hash of the body
}

// NewPacker returns a packer for explanations that are kept for keep.
func NewPacker(keep time.Duration, now func() time.Time) *Packer {
	repositoryFacts := bounded.New[weak.Pointer[repositories.Repository], *facts](cachedRepositories, cachedFacts)
	partNames, _ := lru.New[uint64, string](cachedParts) // fails for a size of 0 only
	listNames, _ := lru.New[uint64, string](cachedRepositories)
	written, _ := lru.New[[2]string, time.Time](cachedParts)
	drafts, _ := lru.New[uint64, Packed](cachedDrafts)
	texts, _ := lru.New[[2]string, askedText](cachedSessions)
	return &Packer{keep: keep, now: now, seed: maphash.MakeSeed(), facts: repositoryFacts, partNames: partNames, listNames: listNames, written: written, texts: texts, drafts: drafts}
}

// AppFacts are computed once per state of an app: the tools of its repositories, and the texts to be masked.
type AppFacts struct {
	ranked   []*repositories.Repository
	listings [][]byte
	names    []string // of the parts that the listings are stored as
	list     []byte   // of the listings, with its part name; nil for none
	listName string
	mask     mask
}

// FactsOf computes the facts of an app with its repositories, in the order in which they win a name.
func (p *Packer) FactsOf(app *repositories.App, ranked []*repositories.Repository) *AppFacts {
	appFacts := &AppFacts{ranked: ranked}
	var texts hiddenTexts
	var pieces []string
	texts.credentials(app.Credentials())
	for _, repository := range ranked {
		repositoryFacts := p.factsOf(repository)
		name := p.name(repositoryFacts.listing)
		appFacts.listings, appFacts.names, pieces = append(appFacts.listings, repositoryFacts.listing), append(appFacts.names, name), append(pieces, shared+name)
		texts = append(texts, repositoryFacts.hidden...)
	}
	if len(pieces) > 0 {
		appFacts.list = exactjson.EncodeOrNull(pieces)
		appFacts.listName = p.name(appFacts.list)
	}
	appFacts.mask = texts.replacer()
	return appFacts
}

func (p *Packer) name(content []byte) string {
	key := maphash.Bytes(p.seed, content)
	name, is := p.partNames.Get(key)
	if !is {
		sum := sha256.Sum256(content)
		name = base64.RawURLEncoding.EncodeToString(sum[:12])
		p.partNames.Add(key, name)
	}
	return name
}

func (p *Packer) factsOf(r *repositories.Repository) *facts {
	key := weak.Make(r)
	if known, is := p.facts.Get(key); is {
		return known
	}
	f, listing := &facts{}, repositoryListing{ID: r.ID, Session: r.SessionID != "", Exclusive: r.Options.Exclusive, Once: r.Options.TriggerOnce}
	f.hidden.credentials(r.Credentials())
	for i := range r.Tools {
		tool := &r.Tools[i]
		entry := listedTool{Name: tool.Name}
		if _, err := tool.For(nil); err != nil {
			entry.Needs = err.Error()
		}
		listing.Tools = append(listing.Tools, entry)
		params := tool.Params()
		if hidden := slices.DeleteFunc(params.Names(), func(name string) bool { return !params.Hidden(name) }); len(hidden) > 0 {
			values := params.Read(nil).Values
			for _, name := range hidden {
				f.hidden.value(values[name])
			}
		}
	}
	f.listing, f.mask = exactjson.EncodeOrNull(listing), f.hidden.replacer()
	size := len(f.listing)
	for _, text := range f.hidden {
		size += len(text)
	}
	p.facts.Add(key, f, size)
	return f
}

type placedTool struct {
	repositoryListing
	listedTool
}

// divide divides the tools of listings, in the order in which they win a name, into those in scope and those
// not. refusals has the reasons why a verified user may not use tools, by repository and tool.
func divide(listings []repositoryListing, verified bool, refusals map[string]string) (in []placedTool, out []OutOfScope) {
	winners := map[string]placedTool{}
	for _, repository := range listings {
		for _, tool := range repository.Tools {
			placed := placedTool{repository, tool}
			switch winner, is := winners[tool.Name]; {
			case is && tool.Name != repositories.CatchAll:
				out = append(out, placed.outOfScope(Shadowed, fmt.Sprintf("The tool of the same name in %s comes before it.", winner.place())))
			case is:
				out = append(out, placed.outOfScope(Shadowed, fmt.Sprintf("The fallback tool in %s comes before it.", winner.place())))
			case placed.outOfScopeReason(verified, refusals) != "":
				out = append(out, placed.outOfScope(Unverified, placed.outOfScopeReason(verified, refusals)))
			default:
				winners[tool.Name] = placed
				in = append(in, placed)
			}
		}
	}
	return in, out
}

func (p placedTool) outOfScopeReason(verified bool, refusals map[string]string) string {
	if !verified || p.Needs == "" {
		return p.Needs
	}
	return refusals[toolKey(p.Session, p.ID, p.Name)]
}

func toolKey(session bool, repositoryID, name string) string {
	if session {
		return "session/" + repositoryID + "/" + name
	}
	return repositoryID + "/" + name
}

func (p placedTool) place() string {
	if p.Session {
		return "repository " + p.ID + " of the session"
	}
	return "repository " + p.ID + " of the app"
}

func (p placedTool) outOfScope(reason, why string) OutOfScope {
	return OutOfScope{RepositoryID: p.ID, Session: p.Session, Name: p.Name, Reason: reason, Why: why}
}
