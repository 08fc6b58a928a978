package repositories

import "encoding/json"

// maxPage is how long a page of a list is, in bytes of JSON (section 3 of the
// contract). What its items are made of is read in parts of about that size as well.
const maxPage = 1 << 20

// pageFrame is room for what stands around the items: field names, a cursor.
const pageFrame = 2 << 10

// Room is what is left of a page.
type Room struct {
	used int
	any  bool
}

// Takes reports whether an item fits, and takes its room. The first one always does: an
// item that is longer than a page is a page of its own.
func (r *Room) Takes(item any) bool {
	var size counter
	encoder := json.NewEncoder(&size)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(item) != nil {
		return true // whoever writes it says why it cannot be written
	}
	if r.any && r.used+int(size) > maxPage-pageFrame {
		return false
	}
	r.used, r.any = r.used+int(size), true
	return true
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

// Fitting returns how many of the items with these sizes are read together: those that
// make up a page, and at least one.
func Fitting(sizes []int64) int {
	total := int64(0)
	for i, size := range sizes {
		if total += size; total > maxPage && i > 0 {
			return i
		}
	}
	return len(sizes)
}
