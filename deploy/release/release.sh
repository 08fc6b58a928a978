#!/bin/sh
# Makes what a version of Earshot is published as, in dist/: archives for five platforms, a list of
# the modules in them (CycloneDX), checksums, and where it all comes from (SLSA).
#
#   sh deploy/release/release.sh v1.2.3               # without a version: the tag of the commit, or a name after its time
#   sh deploy/release/release.sh -c SHA256SUMS v1.2.3 # and compares it with the checksums of a published release
#
#   -p PLATFORMS  instead of all, separated by spaces: "linux/arm64 windows/amd64"
#   -t TAGS       build tags; nodev leaves out the servers of earshot dev
#   -w FILE       another file that is published, such as a package: it gets a checksum; may be repeated
#   -k KEY        an OpenSSH key that signs the checksums and the provenance
#   -b URI        the builder, and -s URL the repository, for the provenance
#
# The programs are built for what cmd/earshot/default.pgo says of a replica under load (go help build, -pgo), which takes
# 14 % off its CPU. The profile is kept, so that the bytes are the same each time. To make it anew:
#   EARSHOT_PROFILE=$PWD/cmd/earshot/default.pgo go test ./cmd/earshot -run TestProfileForTheCompiler
#
# The same commit gives the same bytes on any machine with GNU tar and the Go that go.mod names.
set -eu

PLATFORMS="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64"
TAGS='' COMPARE='' WITH='' KEY='' BUILDER=urn:earshot:builder:unnamed SOURCE=''
while getopts p:t:c:w:k:b:s: option; do
  case $option in
  p) PLATFORMS=$OPTARG ;; t) TAGS=$OPTARG ;; c) COMPARE=$(realpath "$OPTARG") ;; w) WITH="$WITH $(realpath "$OPTARG")" ;;
  k) KEY=$(realpath "$OPTARG") ;; b) BUILDER=$OPTARG ;; s) SOURCE=$OPTARG ;;
  *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
fail() { echo "release: $*" >&2; exit 1; }

cd "$(git rev-parse --show-toplevel)"
COMMIT=$(git rev-parse HEAD) SECONDS_OF_COMMIT=$(git log -1 --format=%ct)
DATE=$(date -u -d "@$SECONDS_OF_COMMIT" +%Y-%m-%dT%H:%M:%SZ)
CHANGED=$(git status --porcelain)

# The version: what was asked for, the tag of the commit, or a name after the commit's time.
ASKED=${1:-$([ -n "$CHANGED" ] || git tag --points-at HEAD --sort=version:refname | grep -E '^v[0-9]' | tail -1)}
if [ -z "$ASKED" ]; then
  VERSION=0.0.0-$(date -u -d "@$SECONDS_OF_COMMIT" +%Y%m%d%H%M%S)-$(echo "$COMMIT" | cut -c1-12)${CHANGED:++dirty}
else
  echo "$ASKED" | grep -qE '^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$' || fail "$ASKED is not the version of a release; give one as v1.2.3 or v1.2.3-rc.1"
  [ -z "$CHANGED" ] || fail "files were changed since commit $COMMIT, so this is not $ASKED; commit or stash them, or give no version"
  TAGGED=$(git rev-parse --verify --quiet "$ASKED^{commit}" || echo "$COMMIT")
  [ "$TAGGED" = "$COMMIT" ] || fail "the tag $ASKED is commit $TAGGED, and $COMMIT is checked out; check out the tag, or choose another version"
  VERSION=${ASKED#v}
fi
[ -z "$KEY" ] || [ -z "$CHANGED" ] || fail "-k: files were changed since the commit, so that nobody could build this again"

# One build is like another: the environment decides nothing.
export CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOWORK=off GOFIPS140=off LC_ALL=C TZ=UTC
export GOTOOLCHAIN="go$(sed -n 's/^go //p' go.mod)" GOFLAGS="-mod=readonly -trimpath -buildvcs=false -tags=$TAGS"
ABOUT=earshot/repositories/version
WORK=$(mktemp -d) DIST=dist
trap 'rm -rf "$WORK"' EXIT
rm -rf "$DIST/release" && mkdir -p "$DIST/release"
for platform in $PLATFORMS; do
  echo "release: $VERSION $platform"
  export GOOS="${platform%/*}" GOARCH="${platform#*/}"
  name=earshot_${VERSION}_${GOOS}_$GOARCH
  program=earshot$(go env GOEXE)
  mkdir -p "$WORK/$name"
  go build -pgo=auto -ldflags "-s -w -buildid= -X $ABOUT.linkedVersion=$VERSION -X $ABOUT.linkedCommit=$COMMIT -X $ABOUT.linkedDate=$DATE" -o "$WORK/$name/$program" ./cmd/earshot
  # The documents, and what they link to.
  git ls-files LICENSE NOTICE '*.md' deploy/docs deploy/monitoring deploy/examples deploy/clients deploy/conversations deploy/package \
    repositories/tracing/tracing.go trigger/ledger/commit.go | tar -cf - -T - | tar -xf - -C "$WORK/$name"
  find "$WORK/$name" -type f -exec chmod 644 {} + && chmod 755 "$WORK/$name/$program"
  find "$WORK/$name" -exec touch -d "@$SECONDS_OF_COMMIT" {} +
  if [ "$GOOS" = windows ]; then
    (cd "$WORK" && find "$name" -type f | sort | zip -q -X -@ "$OLDPWD/$DIST/release/$name.zip")
  else
    tar -C "$WORK" --sort=name --format=ustar --owner=root:0 --group=root:0 --mtime="@$SECONDS_OF_COMMIT" -cf - "$name" | gzip -9 -n > "$DIST/release/$name.tar.gz"
  fi
  ${CYCLONEDX:-env -u GOOS -u GOARCH -u GOFLAGS go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0} \
    app -json -licenses -assert-licenses -std -short-purls -noserial -notimestamp -output-version 1.6 -main cmd/earshot -output "$WORK/$name.cdx.json" 2>"$WORK/cdx.log" || fail "cyclonedx-gomod: $(cat "$WORK/cdx.log")"
done
unset GOOS GOARCH

# One list of all that is in any of the programs.
jq -s --arg version "$VERSION" --arg date "$DATE" --arg commit "$COMMIT" '.[0] * {
  metadata: {timestamp: $date, component: {version: $version, properties: [{name: "earshot:commit", value: $commit}]}},
  components: (map(.components[]) | unique_by(."bom-ref")), dependencies: (map(.dependencies[]) | unique_by(.ref))
}' "$WORK"/*.cdx.json > "$DIST/release/earshot_$VERSION.cdx.json"
for file in $WITH; do cp "$file" "$DIST/release/"; done
(cd "$DIST/release" && sha256sum -- * > "$WORK/SHA256SUMS")

# Where it comes from: in-toto's statement with the predicate of SLSA v1. It names its builder, so it has no checksum among the others.
jq -Rn --arg version "$VERSION" --arg commit "$COMMIT" --arg builder "$BUILDER" --arg source "$SOURCE" --arg changed "$CHANGED" --arg go "$GOTOOLCHAIN" \
  --arg platforms "$PLATFORMS" --arg tags "$TAGS" --slurpfile modules "$DIST/release/earshot_$VERSION.cdx.json" '{
  _type: "https://in-toto.io/Statement/v1", predicateType: "https://slsa.dev/provenance/v1",
  subject: [inputs | capture("(?<sha256>[0-9a-f]{64})  (?<name>.*)") | {name, digest: {sha256}}],
  predicate: {
    buildDefinition: {
      buildType: "urn:earshot:deploy/release:2", externalParameters: {version: $version, platforms: ($platforms | split(" ")), tags: $tags},
      resolvedDependencies: ([{name: "earshot"}
        + (if $changed != "" then {uri: "urn:earshot:modified:\($commit)"} else {digest: {gitCommit: $commit}}
          + (if $source != "" then {uri: "git+\($source)@\($commit)"} else {} end) end)]
        + ($modules[0].components | map({uri: .purl} + (if .hashes then {digest: {sha256: .hashes[0].content}} else {} end)))),
    },
    runDetails: {builder: {id: $builder, version: {go: $go}}},
  },
}' < "$WORK/SHA256SUMS" > "$DIST/release/earshot_$VERSION.provenance.json"
mv "$WORK/SHA256SUMS" "$DIST/release/SHA256SUMS"
cat "$DIST/release/SHA256SUMS"
if [ -n "$KEY" ]; then
  for file in SHA256SUMS "earshot_$VERSION.provenance.json"; do
    ssh-keygen -Y sign -q -n earshot-release -f "$KEY" "$DIST/release/$file"
  done
fi
if [ -n "$COMPARE" ]; then
  grep -vE '^[0-9a-f]+  earshot_.*(_(linux|darwin)_.*\.tar\.gz|_windows_.*\.zip|\.cdx\.json)$' "$COMPARE" | sed 's/^[^ ]*  /release: not compared, since other commands make it: /' || true
  (cd "$DIST/release" && grep -E 'earshot_.*(\.tar\.gz|\.zip|\.cdx\.json)$' "$COMPARE" | sha256sum -c --quiet) || fail "not as in $COMPARE"
  echo "release: all as in $COMPARE"
fi
