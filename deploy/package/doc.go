// Package deploypackage holds what Earshot is shipped in (an image, Compose, a Helm chart, a
// systemd unit and a Debian package) and the tests that take them apart and start what is inside.
package deploypackage
