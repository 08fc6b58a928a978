//go:build !linux

package rig

import "syscall"

// dieWithParent cannot be had here: what ends the bench by force leaves its children.
func dieWithParent() *syscall.SysProcAttr { return nil }
