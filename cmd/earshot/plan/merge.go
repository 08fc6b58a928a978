package plan

import (
	"encoding/json"
	"slices"

	"earshot/cmd/earshot/client"
	"earshot/repositories/files"
)

// merge lays what the files say of the app over what the service has: files that define
// only tools must not take away an app's modules and settings. Fields that the files do
// not mention stay. In lists, members of the same name are replaced in their place, new
// ones are added, and others stay unless they are removable. Credentials of what stays are
// the *** that the service has sent, which keeps them.
func merge(there, files []byte, removable func(Member) bool) ([]byte, error) {
	var body, given map[string]json.RawMessage
	if err := client.Decode(there, &body); err != nil {
		return nil, err
	}
	if err := client.Decode(files, &given); err != nil {
		return nil, err
	}
	for name, value := range given {
		if !slices.Contains(lists, name) {
			body[name] = value
		}
	}
	for _, name := range lists {
		merged, err := mergeList(name, body[name], given[name], removable)
		if err != nil {
			return nil, err
		}
		delete(body, name)
		if len(merged) > 0 {
			if body[name], err = json.Marshal(merged); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(body)
}

// lists are the fields of an app that hold lists of named members.
var lists = []string{"modules", "authServices", "sources"}

// Member names something that a planner may remove: a repository (of the Kind
// "repository"), or a member of one of the app's lists (of the list's name as Kind).
type Member struct{ Kind, ID string }

// DefinedBy lists the repositories of files, and the members of their app's lists.
func DefinedBy(set *files.Set) map[Member]bool {
	defined := map[Member]bool{}
	for _, definition := range set.Repositories {
		defined[Member{"repository", definition.ID}] = true
	}
	for _, list := range lists {
		for _, name := range set.App.Names(list) {
			defined[Member{list, name}] = true
		}
	}
	return defined
}

func mergeList(list string, there, given json.RawMessage, removable func(Member) bool) ([]json.RawMessage, error) {
	old, err := readMembers(there)
	if err != nil {
		return nil, err
	}
	added, err := readMembers(given)
	if err != nil {
		return nil, err
	}
	var merged []json.RawMessage
	for _, kept := range old {
		at := slices.IndexFunc(added, func(m namedMember) bool { return m.name == kept.name })
		switch {
		case at >= 0:
			merged = append(merged, added[at].body)
			added = slices.Delete(added, at, at+1)
		case !removable(Member{list, kept.name}):
			merged = append(merged, kept.body)
		}
	}
	for _, one := range added {
		merged = append(merged, one.body)
	}
	return merged, nil
}

// namedMember is a member of such a list with its name.
type namedMember struct {
	name string
	body json.RawMessage
}

func readMembers(list json.RawMessage) ([]namedMember, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var bodies []json.RawMessage
	if err := client.Decode(list, &bodies); err != nil {
		return nil, err
	}
	found := make([]namedMember, len(bodies))
	for i, body := range bodies {
		var value any
		if err := client.Decode(body, &value); err != nil {
			return nil, err
		}
		found[i] = namedMember{nameOf(value), body}
	}
	return found, nil
}
