// Package lists has what package slices lacks.
package lists

// Map returns what of makes of each item.
func Map[T, R any](items []T, of func(T) R) []R {
	made := make([]R, len(items))
	for i, item := range items {
		made[i] = of(item)
	}
	return made
}
