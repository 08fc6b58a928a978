package repositories

// Bodies reads request bodies that are no definitions, in the way of the definitions:
// every fault at once with its place, unknown fields with the nearest known name,
// numbers with the digits that were sent. It is safe for concurrent use.
type Bodies struct{ definitions *definitions }

// NewBodies compiles a JSON Schema (draft 2020-12) that has one $defs entry for each
// kind of body. A format "earshot-NAME" in it calls the function of that name, whose
// error becomes the detail of a fault. It panics where the schema does not compile:
// a schema is part of the program.
func NewBodies(schema []byte, formats map[string]func(string) error) *Bodies {
	return &Bodies{compile(schema, formats)}
}

// Decode reads a body that is to be of the named kind into target, by its JSON tags.
// All that is wrong with the body is returned at once, as Faults.
func (b *Bodies) Decode(name string, body []byte, target any) error {
	d, err := decodeBy(b.definitions, name, body)
	if err != nil {
		return err
	}
	d.into(target)
	return d.err()
}
