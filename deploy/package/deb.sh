#!/bin/sh
# Makes the Debian package of a version, in dist/, and needs nothing but Go:
#   sh deploy/package/deb.sh 1.2.3 amd64    # or arm64
# earshot_1.2.3_amd64.deb has the program without the servers of dev, the unit, a user, and keys
# that are made up when it is first installed.
set -eu

VERSION=${1:?name the version, as in 1.2.3}
VERSION=${VERSION#v}
ARCH=${2:-amd64}
cd "$(dirname "$0")/../.."
DIST=dist/deb_$ARCH
about=earshot/repositories/version
mkdir -p "$DIST"
if [ -z "${EARSHOT_PROGRAM:-}" ]; then
  CGO_ENABLED=0 GOOS=linux GOARCH="$ARCH" go build -trimpath -tags nodev -pgo=auto \
    -ldflags "-s -w -X $about.linkedVersion=$VERSION -X $about.linkedCommit=$(git rev-parse HEAD) -X $about.linkedDate=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" \
    -o "$DIST/earshot" ./cmd/earshot
else # it is built already
  cp "$EARSHOT_PROGRAM" "$DIST/earshot"
fi
export VERSION ARCH DIST
# Pinned; 2.48 needs a module that the Go proxy does not give out.
${NFPM:-go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4} package --config deploy/package/nfpm.yaml --packager deb --target "dist/earshot_${VERSION}_$ARCH.deb"
