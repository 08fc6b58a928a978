package files

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// Limits of overlays, whose actions can multiply values.
const (
	maxActions  = 1000
	maxOverlaid = 1_000_000 // values of the document, including added ones
)

var (
	overlayFields = []string{"overlay", "info", "extends", "actions"}
	actionFields  = []string{"target", "description", "update", "remove", "copy"}
)

// overlay is an OpenAPI Overlay during its application. Actions of version 1.0 are read by the more permissive
// rules of 1.1.
type overlay struct {
	im       *openapi
	document any // the document for JSONPath; nil if outdated
}

// applyOverlays applies the overlays of the options to the document in order.
func (im *openapi) applyOverlays(root *node) *node {
	for _, path := range im.options.Overlays {
		source, err := readSource(path, im.options.Stdin, maxDescriptionBytes, "an overlay is read up to that length")
		if err != nil {
			im.faults.add(position{file: path}, "%s", err)
			continue
		}
		before := len(im.faults)
		values := readValues(path, source, nil, &im.faults)
		if len(im.faults) > before {
			continue
		}
		if len(values) != 1 || values[0].kind != objectValue || values[0].field("overlay") == nil {
			im.faults.add(position{path, 1, 1}, "is no OpenAPI Overlay: that is one object with overlay, info and actions")
			continue
		}
		root = (&overlay{im: im}).apply(root, values[0])
	}
	return root
}

func (o *overlay) apply(root, source *node) *node {
	faults := &o.im.faults
	version := source.textOf("overlay")
	if !strings.HasPrefix(version+".", "1.0.") && !strings.HasPrefix(version+".", "1.1.") {
		faults.add(source.get("overlay").at, "has overlay %s; versions 1.0 and 1.1 are read", fault.Show(version))
		return root
	}
	checkFields(source, overlayFields, "an overlay", faults)
	actions := source.get("actions")
	switch {
	case actions == nil || actions.kind != listValue || len(actions.items) == 0:
		faults.add(source.at, "has no actions; that is a list of a target and an update, a copy or a remove each")
		return root
	case len(actions.items) > maxActions:
		faults.add(actions.at, "has %d actions; at most %d are read", len(actions.items), maxActions)
		return root
	}
	for i, action := range actions.items {
		label := fmt.Sprintf("actions[%d]", i)
		if action.kind != objectValue {
			faults.add(action.at, "%s is %s and no map", label, action.kind)
			continue
		}
		before := len(*faults)
		checkFields(action, actionFields, label, faults)
		changed := o.applyAction(root, action, label)
		if len(*faults) > before {
			continue // check the other actions
		}
		if changed != root && weight(changed, maxOverlaid) >= maxOverlaid {
			faults.add(action.at, "%s: the document has more than %d values by now, and is read no further", label, maxOverlaid)
			return root
		}
		if changed != root {
			root, o.document = changed, nil
		}
	}
	return root
}

func checkFields(value *node, fields []string, owner string, faults *Faults) {
	for _, f := range value.fields {
		if !slices.Contains(fields, f.name) && !strings.HasPrefix(f.name, "x-") {
			faults.add(f.at, "unknown field %q of %s%s", fault.Clip(f.name), owner, fault.DidYouMean(f.name, fields))
		}
	}
}

// applyAction applies one action to the document. After a fault its result is not used.
func (o *overlay) applyAction(root, action *node, label string) *node {
	faults := &o.im.faults
	remove, update, source := action.get("remove"), action.get("update"), action.get("copy")
	if remove != nil && remove.kind != booleanValue {
		faults.add(remove.at, "%s: remove is %s and no boolean", label, remove.kind)
		return root
	}
	targets, expression, ok := o.selectValues(root, action, "target", label)
	switch {
	case !ok:
		return root
	case isTrue(remove):
	case update != nil && source != nil:
		faults.add(action.at, "%s: %s has both an update and a copy; give one of them", label, expression)
		return root
	case source != nil:
		sources, sourceExpression, ok := o.selectValues(root, action, "copy", label)
		if !ok {
			return root
		}
		if len(sources) != 1 {
			faults.add(source.at, "%s: %s selects %d values, and one is copied", label, sourceExpression, len(sources))
			return root
		}
		update = root.inside(sources[0])
	case update == nil:
		faults.add(action.at, "%s: %s has neither an update nor a copy nor remove: true", label, expression)
		return root
	}
	if len(targets) == 0 {
		o.im.notes.add(action.get("target").at, "%s: %s matches nothing in the document", label, expression)
		return root
	}
	slices.Reverse(targets) // later and inner values first, so that the other positions stay valid
	if isTrue(remove) {
		if len(targets[len(targets)-1]) == 0 {
			faults.add(action.at, "%s: %s is the whole document, which cannot be removed", label, expression)
			return root
		}
		for _, path := range targets {
			root = root.changed(path, func(*node) *node { return nil })
		}
		return root
	}
	for _, path := range targets {
		if root = o.update(root, update, path, label+": "+expression); root == nil {
			return nil
		}
	}
	return root
}

// update returns the document with an update at one place; nil after a fault.
func (o *overlay) update(root, update *node, path spec.NormalizedPath, what string) *node {
	target := root.inside(path)
	switch isObject := target.kind == objectValue; {
	case isObject && update.kind != objectValue:
		o.im.faults.add(update.at, "%s selects a map at %s, and is updated by %s: give a map", what, path.Pointer(), update.kind)
		return nil
	case !isObject && target.kind != listValue && (update.kind == objectValue || update.kind == listValue):
		o.im.faults.add(update.at, "%s selects %s at %s, and is updated by %s: target the map that has it", what, target.kind, path.Pointer(), update.kind)
		return nil
	case target.kind == listValue && update.kind != listValue:
		update = &node{kind: listValue, at: update.at, items: []*node{update}}
	}
	return root.changed(path, func(n *node) *node { return withUpdate(n, update) })
}

// selectValues selects the values of an action's JSONPath (RFC 9535), each once, in document order.
func (o *overlay) selectValues(root, action *node, name, at string) (paths []spec.NormalizedPath, what string, ok bool) {
	query, is := action.get(name).scalarText()
	if !is {
		o.im.faults.add(action.at, "%s has no %s, a JSONPath such as $.paths['/pets'].get", at, name)
		return nil, "", false
	}
	what = "the " + name + " " + fault.Show(query)
	parsed, err := jsonpath.Parse(query)
	if err != nil {
		o.im.faults.add(action.get(name).at, "%s: %s is not a JSONPath of RFC 9535: %s", at, what, fault.Clip(strings.TrimPrefix(err.Error(), "jsonpath: ")))
		return nil, what, false
	}
	if o.document == nil {
		o.document = root.plain()
	}
	selected := parsed.SelectLocated(o.document).Deduplicate()
	selected.Sort()
	return slices.Collect(selected.Paths()), what, true
}

// plain returns a node's value without positions.
func (n *node) plain() any {
	switch n.kind {
	case booleanValue:
		return n.text == "true"
	case numberValue:
		return json.Number(n.text)
	case textValue:
		return n.text
	case listValue:
		return lists.Map(n.items, (*node).plain)
	case objectValue:
		fields := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			fields[f.name] = f.value.plain()
		}
		return fields
	}
	return nil
}

// weight counts the values of a node up to a limit.
func weight(n *node, most int) int {
	count := 1
	for _, f := range n.fields {
		if count >= most {
			return count
		}
		count += weight(f.value, most-count)
	}
	for _, item := range n.items {
		if count >= most {
			return count
		}
		count += weight(item, most-count)
	}
	return count
}

// inside returns the value at an existing place of the node.
func (n *node) inside(path spec.NormalizedPath) *node {
	for _, one := range path {
		switch one := one.(type) {
		case spec.Name:
			n = n.get(string(one))
		case spec.Index:
			n = n.items[one]
		}
	}
	return n
}

// changed returns the node with one place changed. It copies the nodes on the way, because aliases share values. A
// nil value is removed.
func (n *node) changed(path spec.NormalizedPath, change func(*node) *node) *node {
	if len(path) == 0 {
		return change(n)
	}
	next := *n
	switch one := path[0].(type) {
	case spec.Name:
		next.fields = slices.Clone(n.fields)
		at := slices.IndexFunc(next.fields, func(f field) bool { return f.name == string(one) })
		if next.fields[at].value = n.fields[at].value.changed(path[1:], change); next.fields[at].value == nil {
			next.fields = slices.Delete(next.fields, at, at+1)
		}
	case spec.Index:
		next.items = slices.Clone(n.items)
		if next.items[one] = n.items[one].changed(path[1:], change); next.items[one] == nil {
			next.items = slices.Delete(next.items, int(one), int(one)+1)
		}
	}
	return &next
}

// withUpdate returns a value with an update: maps are merged, lists joined, and other values replaced.
func withUpdate(current, update *node) *node {
	switch {
	case current.kind == listValue && update.kind == listValue:
		next := *current
		next.items = slices.Concat(current.items, update.items)
		return &next
	case current.kind != objectValue || update.kind != objectValue:
		return update
	}
	next := *current
	next.fields = slices.Clone(current.fields)
	for _, f := range update.fields {
		if own := next.field(f.name); own != nil {
			own.value = withUpdate(own.value, f.value)
			continue
		}
		next.fields = append(next.fields, f)
	}
	return &next
}
