package repositories

import "encoding/json"

// maxPage is the maximum size of a page in bytes of JSON, and of a batch read from Redis.
const maxPage = 1 << 20

// pageFrame is room for what stands around the items: field names, a cursor.
const pageFrame = 2 << 10

// Room is what is left on a page of a list. The zero value is an empty page.
type Room struct {
	used int
	any  bool
}

// Takes reports whether an item fits, and reserves its bytes. The first item always fits.
func (r *Room) Takes(item any) bool {
	var size counter
	encoder := json.NewEncoder(&size)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(item) != nil {
		return true // the caller that writes it reports the error
	}
	if r.any && r.used+int(size) > maxPage-pageFrame {
		return false
	}
	r.used, r.any = r.used+int(size), true
	return true
}

type counter int

func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

// Fitting returns how many items of these sizes make up a page, at least one.
func Fitting(sizes []int64) int {
	total := int64(0)
	for i, size := range sizes {
		if total += size; total > maxPage && i > 0 {
			return i
		}
	}
	return len(sizes)
}
