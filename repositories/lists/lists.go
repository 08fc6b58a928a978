// Package lists has what package slices lacks.
package lists

import "slices"

// Map returns what of makes of each item.
func Map[T, R any](items []T, of func(T) R) []R {
	made := make([]R, len(items))
	for i, item := range items {
		made[i] = of(item)
	}
	return made
}

// Of returns the items that have a type.
func Of[T any](items []any) (found []T) {
	for _, item := range items {
		if one, ok := item.(T); ok {
			found = append(found, one)
		}
	}
	return found
}

// First returns the first item that fits, and whether there is one.
func First[T any](items []T, fits func(T) bool) (first T, ok bool) {
	i := slices.IndexFunc(items, fits)
	if i < 0 {
		return first, false
	}
	return items[i], true
}
